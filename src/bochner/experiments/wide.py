"""Ridge paths where there are more columns than rows: n x n systems.

With Z centred, theta = Z'(Z Z' + alpha)^-1 (y - mean): the same minimiser as of the M x M system.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..linear import LinearModel
from ..ops import FloatArray


def ridge_path(Z: Any, targets: FloatArray, alphas: Sequence[float]) -> list[LinearModel]:
    """The minimiser of sum_i |y_i - f(x_i)|^2 + alpha |theta|^2 for each alpha > 0."""
    Y = targets.reshape(len(targets), -1)
    mean_y, mean = Y.mean(axis=0), np.asarray(Z.mean(axis=0), dtype=np.float64).ravel()
    K = centred_products(Z, mean)
    models = []
    for alpha in alphas:
        A = K + alpha * np.eye(len(K))
        dual = linalg.solve(A, Y - mean_y, assume_a="pos", overwrite_a=True, check_finite=False)
        coef = np.asarray(Z.T @ dual).T - np.outer(dual.sum(axis=0), mean)
        models.append(LinearModel(coef, mean_y - coef @ mean))
    return models


def centred_products(Z: Any, mean: FloatArray) -> FloatArray:
    """(Z - mean)(Z - mean)', n x n in float64, without a centred copy of Z."""
    inner = Z @ Z.T
    K = np.asarray(inner.toarray() if sparse.issparse(inner) else inner, dtype=np.float64)
    shift = np.asarray(Z @ mean, dtype=np.float64).ravel()
    return K - shift[:, None] - shift[None, :] + mean @ mean
