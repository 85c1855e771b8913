"""Weights proportional to each kernel's alignment with the labels: ABMKSVM(ratio).

    A(K, y y') = y'K y / (n |K|_F),    eta_m = A(K_m, y y') / sum_h A(K_h, y y')

(Goenen & Alpaydin 2011, section 3.2, after Qiu & Lane 2009). No Gram matrix is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops import FloatArray
from .kernels import BLOCK, BaseKernel


def alignment(kernel: BaseKernel, X: Any, y: FloatArray) -> float:
    """A(K, y y') for y in {-1, 1}, from blocks of rows."""
    inner, norm, n = 0.0, 0.0, X.shape[0]
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        K = kernel(X[rows], X)
        inner += float(y[rows] @ (K @ y))
        norm += float(np.vdot(K, K))
    return inner / (n * np.sqrt(norm))


def alignment_weights(kernels: Sequence[BaseKernel], X: Any, y: FloatArray) -> FloatArray:
    """eta, on the simplex: alignments of positive semi-definite kernels are not negative."""
    found = np.maximum([alignment(kernel, X, y) for kernel in kernels], 0.0)
    total = found.sum()
    return np.asarray(found / total if total > 0 else np.full(len(found), 1.0 / len(found)))
