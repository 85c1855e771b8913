"""Rows in a Dask collection: a fold per partition, a tree of merges, nothing gathered.

**The guarantee.** A partition of the collection is read and folded where the cluster puts it; only
partial sums travel, merged `FAN_IN` at a time in a tree, and the client receives one of them. No
task, no worker and not the client ever holds X. When a worker dies, the scheduler computes again
what it held, so the sum completes and equals the sum in memory to rounding, as long as the
collection can be computed again: read from files, built from arrays inside the graph, or persisted
from such. Data put on the workers by ``client.scatter`` dies with its worker, so nothing here
scatters: the row sum goes into the graph, once. Partitions must be deterministic: one computed a
second time must give the same rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .array_source import array_column, kept_columns
from .block import Array, Block
from .cluster_parts import Parts, Reader, parts_of
from .optional import is_dask_array, need
from .reduce import fold_partition
from .source import BLOCK_BYTES, RowSource, RowSum
from .threads import limited

if TYPE_CHECKING:
    from .progress import Hook
    from .state import RowState

S = TypeVar("S")
V = TypeVar("V")

#: How many partial states one merge takes.
FAN_IN = 8


def scan_dask(
    X: Any,
    target: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    weight: Any = None,
    dtype: Any = None,
    block_bytes: int = BLOCK_BYTES,
) -> DaskSource:
    """The source of a collection; target and weight by name, by index, or as collections."""
    y = None
    if is_dask_array(X) and X.ndim == 2:
        width = int(X.shape[1])
        y, taken = array_column(X, target, width, "target")
        weight, also = array_column(X, weight, width, "weight")
        keep = kept_columns(width, columns, taken + also)
        X, target, columns = X if len(keep) == width else X[:, list(keep)], None, None
    elif target is not None and not _names(target):
        y, target = target, None
    return DaskSource(
        X, y, weight, target=target, columns=columns, dtype=dtype, block_bytes=block_bytes
    )


def _names(target: Any) -> bool:
    """Tell a column name, or a list of such, from values."""
    return isinstance(target, str) or (
        isinstance(target, list | tuple) and all(isinstance(t, str) for t in target)
    )


class DaskSource(RowSource):
    """Rows of a Dask array or dataframe; y and weights may be Dask collections or vectors."""

    def __init__(
        self,
        X: Any,
        y: Any = None,
        weight: Any = None,
        *,
        target: Any = None,
        columns: Sequence[Any] | None = None,
        dtype: Any = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        parts = parts_of(X, y, weight, target, columns, dtype, block_bytes)
        self.parts: Parts = parts
        self.schema = parts.reader.schema

    @property
    def n_rows(self) -> int | None:
        """Known where Dask knows the sizes of the chunks."""
        sizes = self.parts.sizes
        return None if sizes is None else sum(sizes)

    @property
    def n_partitions(self) -> int:
        return len(self.parts.X)

    def blocks(self, partition: int) -> Iterator[Block]:
        """One partition, computed and brought here: for looking at rows, not for passes."""
        dask = need("dask", "dask", "Computing a Dask collection")
        X, y, weight = dask.compute(*self.parts.at(partition))
        return self.parts.reader.blocks(partition, X, y, weight)

    def reduce(
        self,
        row_sum: RowSum[S, V],
        *,
        hook: Hook | None = None,
        row_state: RowState | None = None,
    ) -> V:
        from .cluster_run import run

        root = self.tree(row_sum, row_state)
        # What comes off the wire may be read-only; finalise owns its argument.
        return row_sum.finalise(copy.deepcopy(run(root, self, hook)))

    def tree(self, row_sum: RowSum[S, V], row_state: RowState | None = None) -> Any:
        """The delayed total: folds, then rounds of merges."""
        dask = need("dask", "dask", "Computing on a Dask collection")
        token = dask.base.tokenize(object())
        literal = dask.delayed(Held(row_sum), name=f"bochner-sum-{token}", traverse=False)
        reader = dask.delayed(self.parts.reader, name=f"bochner-reader-{token}", traverse=False)
        fold, merge = dask.delayed(_fold, pure=False), dask.delayed(_merge, pure=False)
        states = _state_slices(row_state)
        nodes = [
            fold(literal, reader, p, *self.parts.at(p), states(p),
                 dask_key_name=(f"bochner-fold-{token}", p))
            for p in range(self.n_partitions)
        ]  # fmt: skip
        level = 0
        while len(nodes) > 1:
            level += 1
            nodes = [
                merge(literal, nodes[i : i + FAN_IN],
                      dask_key_name=(f"bochner-merge-{token}", level, i // FAN_IN))
                for i in range(0, len(nodes), FAN_IN)
            ]  # fmt: skip
        return nodes[0]

    def map(self, function: Callable[[Block], Array], *, dtype: Any, width: int | None) -> Any:
        """A Dask array of one output row per row, in the chunks of X."""
        array = need("dask.array", "dask", "Computing on a Dask collection")
        dask = need("dask", "dask", "Computing on a Dask collection")
        token = dask.base.tokenize(object())
        literal = dask.delayed(Held(function), name=f"bochner-map-{token}", traverse=False)
        reader = dask.delayed(self.parts.reader, name=f"bochner-reader-{token}", traverse=False)
        apply = dask.delayed(_apply, pure=False)
        known = self.parts.sizes
        sizes: list[Any] = [np.nan] * self.n_partitions if known is None else list(known)
        tail = () if width is None else (width,)
        pieces = [
            array.from_delayed(
                apply(literal, reader, p, self.parts.X[p], tail, dtype),
                shape=(sizes[p], *tail),
                dtype=np.dtype(dtype),
            )
            for p in range(self.n_partitions)
        ]
        return array.concatenate(pieces, allow_unknown_chunksizes=True)


@dataclass(frozen=True)
class Held:
    """A literal in the graph that Dask neither calls nor looks into."""

    value: Any


def _fold(
    held: Held, reader: Reader, partition: int, X: Any, y: Any, weight: Any, state: Any
) -> Any:
    """The partial state of one partition, on one thread: the cluster keeps the cores busy."""
    with limited(1):
        blocks = reader.blocks(partition, X, y, weight)
        if state is not None:
            blocks = state.attached(blocks)
        return fold_partition(held.value, blocks)


def _merge(held: Held, states: list[Any]) -> Any:
    """One state of a few. A merge may change its first argument, which a retry needs whole."""
    with limited(1):
        total = copy.deepcopy(states[0])
        for state in states[1:]:
            total = held.value.merge(total, state)
        return total


def _apply(
    held: Held, reader: Reader, partition: int, X: Any, tail: tuple[int, ...], dtype: Any
) -> Array:
    with limited(1):
        parts = [held.value(block) for block in reader.blocks(partition, X, None, None)]
    return np.concatenate(parts) if parts else np.empty((0, *tail), dtype=dtype)


@dataclass(frozen=True)
class StateSlice:
    """The numbers of one partition's rows; rows not seen before have the fill."""

    values: Array
    fill: float

    def attached(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            state = np.full((block.n_rows, *self.values.shape[1:]), self.fill)
            known = self.values[block.offset : block.offset + block.n_rows]
            state[: len(known)] = known
            yield block.replace(state=state)


def _state_slices(row_state: RowState | None) -> Callable[[int], StateSlice | None]:
    """What travels with each partition."""
    if row_state is None:
        return lambda partition: None
    kept, fill = row_state.to_arrays(), row_state.fill
    return lambda p: StateSlice(kept.get(f"partition_{p}", np.empty(0)), fill)
