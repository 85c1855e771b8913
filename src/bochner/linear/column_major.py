"""Rows in memory whose columns lie one after another: a column is added without moving the others.

A block of rows is then a view with long strides along the columns, which BLAS takes as it is; what
is read of a chunk of rows stays in cache from its first product to its last.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..ops import Columns, FloatArray, Projection, pool
from ..rows import MemorySource
from .design import Design, Partial

#: Bytes of the columns that a visit sees at once.
CHUNK_BYTES = 2**20
LEAST_ROWS = 512


class ColumnMajorRows(MemorySource):
    """Rows of an n x M array with contiguous columns; a block is a view."""

    def _convert(self, X: Any, start: int) -> Any:
        return X


class ColumnMajor(Design):
    """Sums over the columns of such rows."""

    @classmethod
    def over(cls, M: int) -> ColumnMajor:
        return cls(Projection(Columns(M, np.arange(M)), "identity"))

    def fold(
        self,
        X: Any,
        visit: Callable[[Any, slice], Partial],
        merge: Callable[[Partial, Partial], Partial],
    ) -> Partial:
        return reduce(merge, pool.run(lambda at: visit(X[at], at), _chunks(X)))

    def map_rows(self, X: Any, T: FloatArray) -> FloatArray:
        out, T = np.empty((len(X), T.shape[1])), T.astype(X.dtype)

        def task(at: slice) -> None:
            out[at] = X[at] @ T

        pool.run(task, _chunks(X))
        return out

    def gram(self, X: Any, w: FloatArray | None) -> FloatArray:
        signed = w is not None and bool(np.any(w < 0))  # else both factors are the same array

        def visit(phi: Any, at: slice) -> FloatArray:
            if w is None:
                return np.asarray(phi.T @ phi, dtype=np.float64)
            if signed:
                return np.asarray(phi.T @ (phi * w[at, None].astype(phi.dtype)), dtype=np.float64)
            root = phi * np.sqrt(w[at, None]).astype(phi.dtype)
            return np.asarray(root.T @ root, dtype=np.float64)

        return self.fold(X, visit, np.add)

    def project(self, X: Any, R: FloatArray) -> FloatArray:
        def visit(phi: Any, at: slice) -> FloatArray:
            return np.asarray(phi.T @ R[at].astype(phi.dtype), dtype=np.float64)

        return self.fold(X, visit, np.add)


def _chunks(X: Any) -> list[slice]:
    """Slices of rows, a cache full each; the cut depends on shapes alone."""
    n, M = X.shape
    step = max(LEAST_ROWS, CHUNK_BYTES // max(1, M * X.itemsize))
    return [slice(start, min(start + step, n)) for start in range(0, max(n, 1), step)]
