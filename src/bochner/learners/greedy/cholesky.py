"""A Cholesky factor that grows by a column, and refuses one that adds nothing.

    G + shift I = L L',  the new row of L is [w', d],  L w = G[S, j],  d^2 = G_jj + shift - w'w

d^2 is what is left of column j (times its squared length) after regression on the columns S: where
it is rounding, the column is a combination of those already there.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ...ops import FloatArray


class Cholesky:
    """L of the columns taken so far, and z = L^-1 c for right-hand sides c (k x C)."""

    def __init__(self, n_outputs: int, shift: float = 0.0) -> None:
        self.shift, self.size = shift, 0
        self._L = np.zeros((16, 16))
        self._z = np.zeros((16, n_outputs))

    def left(self, column: FloatArray, own: float) -> tuple[float, FloatArray]:
        """d^2 for a column with products ``column`` with those taken and ``own`` with itself."""
        w = np.zeros(0)
        if self.size:
            k = self.size
            w = solve_triangular(self._L[:k, :k], column, lower=True, check_finite=False)
        return own + self.shift - float(w @ w), w

    def add(self, column: FloatArray, own: float, right: FloatArray, least: float) -> bool:
        """Take a column, unless d^2 is no more than ``least``."""
        rest, w = self.left(column, own)
        if not rest > least:
            return False
        k = self.size
        if k == len(self._L):
            self._grow()
        d = float(np.sqrt(rest))
        self._L[k, :k], self._L[k, k] = w, d
        self._z[k] = (right - w @ self._z[:k]) / d
        self.size += 1
        return True

    def solve(self, size: int | None = None) -> FloatArray:
        """(G + shift)^-1 c of the first columns, size x C: a prefix of the factor is enough."""
        k = self.size if size is None else size
        L = self._L[:k, :k]
        return np.asarray(solve_triangular(L, self._z[:k], lower=True, trans=1, check_finite=False))

    def _grow(self) -> None:
        k = len(self._L)
        L, z = np.zeros((2 * k, 2 * k)), np.zeros((2 * k, self._z.shape[1]))
        L[:k, :k], z[:k] = self._L, self._z
        self._L, self._z = L, z
