"""A sample of the rows that is a sum: the k distinct rows with the smallest hashes.

It does not depend on order, blocks or engine; equal rows count as one row with their joint
weight; and two samples merge into the sample of the union. It replaces a reservoir.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .block import Array, Block
from .hashing import canonical, hash_rows
from .moments import Moments
from .progress import Hook
from .source import RowSource, RowSum

#: Bytes that a sample may hold by default.
SAMPLE_BYTES = 64 * 2**20
#: What a sample without rows says.
EMPTY = (
    "no rows with a positive weight: a sample (for the bandwidth, or for minibatches) needs at "
    "least one. Check the source and sample_weight."
)
_NO_LIMIT = 2**64 - 1


@dataclass(frozen=True, eq=False)
class RowSample:
    """Distinct rows X (m x d) with joint weights (m,), and three figures of the whole.

    ``variance`` is that of all entries of X, weighted by row: scikit-learn's ``X.var()``;
    ``n_rows`` counts the rows of positive weight. Rows stand in the order of their hashes, so a
    prefix is a smaller sample.
    """

    X: Any
    y: Array | None
    weight: Array
    total_weight: float
    n_rows: int
    variance: float

    def __len__(self) -> int:
        return len(self.weight)

    def head(self, size: int) -> RowSample:
        """The sample of the first ``size`` rows by hash."""
        y = None if self.y is None else self.y[:size]
        return replace(self, X=self.X[:size], y=y, weight=self.weight[:size])


@dataclass(eq=False)
class _Kept:
    keys: NDArray[np.uint64]  # ascending, without repetition
    X: Any
    y: Array | None
    weight: Array
    moments: Moments
    n_rows: int = 0
    limit: int = _NO_LIMIT  # rows with this key or a larger one are not in the sample

    def take(self, rows: Any) -> _Kept:
        y = None if self.y is None else self.y[rows]
        return replace(self, keys=self.keys[rows], X=self.X[rows], y=y, weight=self.weight[rows])


class SampleRows(RowSum["_Kept | None", RowSample]):
    """At most ``size`` distinct rows in at most ``max_bytes`` (but one at least).

    With ``targets`` rows differ when their targets do.
    """

    def __init__(
        self,
        size: int,
        seed: int,
        *,
        targets: bool = False,
        max_bytes: int = SAMPLE_BYTES,
        empty: str = EMPTY,
    ) -> None:
        if size < 1:
            raise ValueError(f"a sample has at least one row, got size={size}.")
        self.size, self.seed, self.targets, self.max_bytes = size, seed, targets, max_bytes
        self.empty = empty

    def start(self) -> _Kept | None:
        return None

    def update(self, state: _Kept | None, block: Block) -> _Kept | None:
        fresh = self._of_block(block, _NO_LIMIT if state is None else state.limit)
        return self.merge(state, fresh)

    def merge(self, a: _Kept | None, b: _Kept | None) -> _Kept | None:
        if a is None or b is None:
            return b if a is None else a
        both = _Kept(
            np.concatenate([a.keys, b.keys]),
            stacked([a.X, b.X]),
            None if a.y is None or b.y is None else np.concatenate([a.y, b.y]),
            np.concatenate([a.weight, b.weight]),
            a.moments.join(b.moments),
            a.n_rows + b.n_rows,
            min(a.limit, b.limit),
        )
        return self._smallest(both)

    def finalise(self, state: _Kept | None) -> RowSample:
        if state is None or len(state.keys) == 0:
            raise ValueError(self.empty)
        moments = state.moments
        return RowSample(
            state.X, state.y, state.weight, moments.total, state.n_rows, moments.variance
        )

    def _of_block(self, block: Block, limit: int) -> _Kept:
        X, weight = canonical(block.X), block.weights()
        y = block.y if self.targets else None
        keys = hash_rows(X, self.seed, y)
        rows = np.nonzero((weight > 0) & (keys < np.uint64(limit)))[0]
        kept = _Kept(
            keys[rows],
            X[rows],
            None if y is None else y[rows],
            weight[rows].astype(np.float64),
            Moments.of(X, weight),
            int(np.count_nonzero(weight > 0)),
            limit,
        )
        return self._smallest(kept)

    def _smallest(self, kept: _Kept) -> _Kept:
        """Equal rows joined, then the longest prefix by key that is within size and bytes."""
        keys, first, group = np.unique(kept.keys, return_index=True, return_inverse=True)
        weight = np.bincount(group, weights=kept.weight, minlength=len(keys))
        joined = replace(kept.take(first), weight=weight)
        ends = np.cumsum(_row_bytes(joined.X))
        fits = int(np.searchsorted(ends, self.max_bytes, side="right"))
        fits = min(max(1, fits), self.size)
        fits = min(fits, int(np.searchsorted(keys, np.uint64(kept.limit))))
        if fits == len(keys):
            return joined
        # the first key left out bounds the sample for good: more rows can only lower it
        return replace(joined.take(slice(0, fits)), limit=min(kept.limit, int(keys[fits])))


def stacked(parts: Sequence[Any]) -> Any:
    """Blocks of rows under one another, CSR or dense."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _row_bytes(X: Any) -> Array:
    if sparse.issparse(X):
        return np.diff(X.indptr) * (X.data.itemsize + X.indices.itemsize) + X.indptr.itemsize
    return np.full(X.shape[0], X.dtype.itemsize * X.shape[1])


def draw_sample(
    source: RowSource,
    size: int,
    seed: int,
    *,
    targets: bool = False,
    max_bytes: int = SAMPLE_BYTES,
    hook: Hook | None = None,
    empty: str = EMPTY,
) -> RowSample:
    """A sample of at most ``size`` distinct rows and ``max_bytes`` bytes."""
    row_sum = SampleRows(size, seed, targets=targets, max_bytes=max_bytes, empty=empty)
    return source.reduce(row_sum, hook=hook)
