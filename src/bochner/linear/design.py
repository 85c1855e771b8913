"""How a head sees the rows: as features phi (n x M) of a map, or as they are.

A map's column weights s never touch the features. They move to the column side, where they are
M numbers instead of n M:  (phi s) T = phi (s T)  and  (phi s)' R = s (phi' R).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .. import ops
from ..feature_map import FeatureMap
from ..ops import AnyColumns, Columns, FloatArray, Projection
from ..rows import Block, MemorySource, RowSource

Partial = TypeVar("Partial")

#: Features that take less than this are computed once and kept, where the rows are in memory.
FEATURE_BYTES = 2**30
#: Features shown to a visitor at once: still in the last-level cache when they are read again, and
#: enough that the interpreter's part of a visit does not count.
CHUNK_BYTES = 2**21
#: Numbers in a block of features up to which it is one NumPy product instead of work for a pool.
TINY = 2**16
#: A block of rows that need no conversion is a view, so that it may be large.
VIEW_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class Design:
    """Sums over the features of some rows; ``scale`` is s (M,), None for all ones."""

    projection: AnyColumns
    scale: FloatArray | None = None

    @classmethod
    def of(cls, source: RowSource, fm: FeatureMap | None) -> Design:
        """The features of a map, or the columns of the rows themselves."""
        if fm is None:
            d = source.n_features
            return cls(Projection(Columns(d, np.arange(d)), "identity"))
        return cls(fm.projection, np.asarray(fm.weights, dtype=np.float64))

    @property
    def plain(self) -> bool:
        """Are the features the rows themselves?"""
        return self.scale is None

    @property
    def n_features(self) -> int:
        return self.projection.n_columns

    def scaled(self, T: FloatArray) -> FloatArray:
        """s T for column coefficients T, M x C."""
        return T if self.scale is None else self.scale[:, None] * T

    def features(self, X: Any) -> Any:
        """phi of some rows, n x M; sparse rows that are their own features stay sparse."""
        if self.plain:
            return X
        return ops.features(X, self.projection, column_scale=self.scale)

    def fold(
        self,
        X: Any,
        visit: Callable[[Any, slice], Partial],
        merge: Callable[[Partial, Partial], Partial],
    ) -> Partial:
        """visit(phi without s of some rows, which rows), merged in the order of the rows."""
        if self._is_tiny(X) or (self.plain and sparse.issparse(X)):
            return visit(X, slice(0, X.shape[0]))
        return ops.fold(X, self.projection, visit, merge, chunk_bytes=CHUNK_BYTES)

    def map_rows(self, X: Any, T: FloatArray) -> FloatArray:
        """phi T, n x C in float64."""
        if self._is_tiny(X):
            return np.asarray(X @ T.astype(X.dtype), dtype=np.float64)
        return ops.map_rows(X, self.projection, self.scaled(T)).astype(np.float64, copy=False)

    def gram(self, X: Any, w: FloatArray | None) -> FloatArray:
        """sum_i w_i phi_i phi_i', M x M."""
        if self._is_tiny(X):
            phi = X.astype(np.float64)
            return np.asarray(phi.T @ (phi if w is None else w[:, None] * phi))
        return self._scaled_gram(ops.gram(X, self.projection, w))

    def gram_and_project(
        self, X: Any, R: FloatArray, w: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """`gram` and `project` from one visit of the features."""
        if self._is_tiny(X):
            return self.gram(X, w), self.project(X, R)
        inner, thin = ops.gram_and_project(X, self.projection, R, w)
        return self._scaled_gram(inner), self.scaled(thin)

    def _scaled_gram(self, inner: FloatArray) -> FloatArray:
        return inner if self.scale is None else self.scale[:, None] * inner * self.scale

    def project(self, X: Any, R: FloatArray) -> FloatArray:
        """sum_i phi_i R_i', M x C."""
        if self._is_tiny(X):
            return np.asarray(X.T.astype(np.float64) @ R)
        return self.scaled(ops.project(X, self.projection, R))

    def _is_tiny(self, X: Any) -> bool:
        """Are these dense rows, their own features, so few that a pool costs more than it gains?"""
        return self.plain and isinstance(X, np.ndarray) and X.size <= TINY


def materialised(source: RowSource, fm: FeatureMap | None) -> tuple[RowSource, FeatureMap | None]:
    """The rows as features kept in memory, if they are in memory and fit; else what was given.

    Only a source that answers `map` with an array is in memory: others stream, and a stream that
    would be cached would no longer have flat memory.
    """
    if fm is None and in_views(source) is not source:
        return in_views(source), None
    width = source.n_features if fm is None else fm.n_features
    n, dtype = source.n_rows, source.schema.dtype
    sparse_rows = fm is None and source.schema.sparse
    if n is None or n * width * dtype.itemsize > FEATURE_BYTES or sparse_rows:
        return source, fm
    features = source.map(_Features(fm), dtype=dtype, width=width)
    if not isinstance(features, np.ndarray):
        return source, fm
    y = source.map(_targets, dtype=np.float64, width=None)
    weight = source.map(_weights, dtype=np.float64, width=None)
    kept = weight if source.schema.weighted else None
    return MemorySource(features, y, kept, block_bytes=VIEW_BYTES), None


def in_views(source: RowSource) -> RowSource:
    """The same rows in larger blocks, where a block is a view: less to wait for between blocks."""
    if not isinstance(source, MemorySource) or not _is_ready(source):
        return source
    return MemorySource(source.X, source.y, source.weight, block_bytes=VIEW_BYTES)


def _is_ready(source: MemorySource) -> bool:
    """Are the blocks of a source views of its rows? (The memory of a map would not stay flat.)"""
    X = source.X
    dense = isinstance(X, np.ndarray) and X.flags.c_contiguous and not source.reads_ahead
    return dense and X.dtype == source.schema.dtype and not source.check_finite


class _Features:
    def __init__(self, fm: FeatureMap | None) -> None:
        self.fm = fm

    def __call__(self, block: Block) -> FloatArray:
        return np.asarray(block.X if self.fm is None else self.fm(block.X))


def _targets(block: Block) -> FloatArray:
    return targets_of(block)


def _weights(block: Block) -> FloatArray:
    return block.weights()


def targets_of(block: Block) -> FloatArray:
    """The targets of a block, which must be there."""
    if block.y is None:
        raise ValueError("these rows have no targets; give y, or a source with target=...")
    return block.y
