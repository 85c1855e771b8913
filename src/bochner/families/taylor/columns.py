"""Taylor terms as columns: a Gaussian of the row's length times a monomial of its entries.

    phi_m(x) = scale c_m exp(-|z|^2 / 2) prod_k z_j(m,k),      z = (x / s, 1)

Up to degree 2, with g_i = exp(-|z_i|^2 / 2) and one matrix product for each column of R,

    sum_i r_i phi_m(x_i) = scale c_m [Z' diag(r g) Z]_(j(m,1), j(m,2))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...ops import Explicit, FloatArray, pool
from ...ops.tiles import TASKS, TILE_ROWS, Rows, cut, row_chunks
from . import monomials
from .monomials import Powers

#: The matrix product does d^2 multiplications where the sum over columns does so many for each.
GATHER = 8.0
PARTIAL_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class TaylorColumns(Explicit):
    """Monomials as of `monomials.unranked`, their constants c_m, and the lengths s."""

    d: int
    powers: Powers
    constants: FloatArray
    lengths: FloatArray
    factor: float = 1.0

    @property
    def n_inputs(self) -> int:
        return self.d

    @property
    def n_columns(self) -> int:
        return len(self.powers)

    @property
    def scale(self) -> float:
        return self.factor

    @property
    def atoms(self) -> Mapping[str, FloatArray]:
        return {"powers": self.powers}

    def names(self) -> tuple[str, ...]:
        return tuple(monomials.name(columns, self.d) for columns in self.powers)

    def take(self, columns: NDArray[np.intp]) -> TaylorColumns:
        return replace(self, powers=self.powers[columns], constants=self.constants[columns])

    def scaled(self, factor: float) -> TaylorColumns:
        return replace(self, factor=self.factor * factor)

    def fill(self, X: Any, columns: slice, out: FloatArray) -> None:
        powers = self.powers[columns]
        used = np.unique(powers)
        used = used[used < self.d]
        Z, g = self._inside(X, used)
        np.multiply(g[:, None], self.constants[columns].astype(out.dtype), out=out)
        if len(used) == 0:
            return
        for place in np.searchsorted(used, powers).T:  # what is not used is the column of ones
            out *= Z[:, place]

    def _inside(self, X: Any, used: NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
        """Z with some of its columns (and that of ones), and g."""
        lengths = np.broadcast_to(self.lengths, (self.d,)).astype(X.dtype)
        if sparse.issparse(X):
            inside = (X @ sparse.diags_array(1.0 / lengths)).tocsr()
            squares = np.asarray(inside.multiply(inside).sum(axis=1)).ravel()
            some = inside[:, used].toarray()
        else:
            inside = X / lengths
            squares = np.einsum("ij,ij->i", inside, inside)
            some = inside if len(used) == self.d else inside[:, used]
        Z = np.concatenate([some, np.ones((X.shape[0], 1))], axis=1, dtype=X.dtype)
        return Z, np.exp(-0.5 * squares).astype(X.dtype)

    def project(self, rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
        products = (self.d + 1.0) ** 2 * R.shape[1]
        fits = 8 * products <= PARTIAL_BYTES
        cheap = products <= self.n_columns * (GATHER + R.shape[1])
        if rows.sparse or self.powers.shape[1] > 2 or not (fits and cheap):
            return super().project(rows, R, threads)
        return self._by_products(rows, R, threads)

    def _by_products(self, rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
        size, every = self.d + 1, np.arange(self.d, dtype=np.int32)

        def task(chunk: slice) -> FloatArray:
            total = np.zeros((R.shape[1], size, size))
            for at in cut(chunk.start, chunk.stop, TILE_ROWS):
                Z, g = self._inside(np.ascontiguousarray(rows.dense(at)), every)
                for c, A in enumerate(total):
                    A += Z.T @ (Z * (g * R[at, c])[:, None].astype(rows.dtype))
            return total

        most = min(TASKS, PARTIAL_BYTES // (8 * R.shape[1] * size**2))
        parts = pool.run(task, row_chunks(rows.n, max(1, most), TILE_ROWS), threads)
        A = sum(parts, np.zeros((R.shape[1], size, size)))
        first, last = self.powers[:, 0], self.powers[:, -1]
        if self.powers.shape[1] == 1:
            last = np.full_like(first, self.d)
        return np.asarray(self.scale * (A[:, first, last] * self.constants).T)
