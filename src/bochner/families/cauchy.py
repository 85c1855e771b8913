"""The Cauchy family."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..ops.projection import FloatArray
from .fourier import NormedFamily


class Cauchy(NormedFamily):
    """The Cauchy (rational quadratic) kernel 1 / (1 + |x - x'|^2 / bandwidth^2).

    Its frequencies are normal with an exponentially distributed variance; column by column for
    the product form, where each coordinate has the Laplace distribution.

    Parameters
    ----------
    bandwidth : float, array of d floats, "median", "neighbours" or "scale"
        The length scale, see `bochner.families.bandwidth`.
    norm : "l2" or "l1"
        The kernel above; or the product over columns of
        1 / (1 + (x_j - x'_j)^2 / bandwidth^2).
    form : "phase" or "pair"
        As in `Gaussian`.
    sampling : "iid", "orthogonal", "structured" or "sobol"
        As in `Gaussian`; with ``norm="l1"`` only "iid" and "sobol".

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Cauchy
    >>> Cauchy(bandwidth=1.0).exact_kernel(np.array([[0.0], [1.0]])).round(3)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def _mixing(self, u: FloatArray) -> FloatArray:
        return np.asarray(-2.0 * np.log1p(-u))  # u < 1 always, but it may be zero

    def _profile(self, distance: FloatArray) -> FloatArray:
        return 1.0 / (1.0 + distance**2)

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        if not self._product:
            return super().exact_kernel(X, Y)
        A = self._in_bandwidths(X)
        B = A if Y is None else self._in_bandwidths(Y)
        A, B = (Z.tocsc() if sparse.issparse(Z) else Z for Z in (A, B))
        kernel = np.ones((A.shape[0], B.shape[0]))
        for j in range(A.shape[1]):  # a column at a time: n x m memory, not n x m x d
            kernel *= self._profile(_column(A, j)[:, None] - _column(B, j))
        return kernel


def _column(X: Any, j: int) -> FloatArray:
    return X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]
