"""Some of the rows of a source: those that a rule picks, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .block import Array, Block
from .memory import MemorySource
from .progress import Hook
from .source import MappedSource, RowSource, RowSum
from .state import RowState

S = TypeVar("S")
V = TypeVar("V")


class Rule(Protocol):
    """Picks rows by what they hold or where they stand; picklable, the same on every pass."""

    def mask(self, block: Block) -> NDArray[np.bool_]: ...


def part(source: RowSource, rule: Rule, *, picked: bool = True) -> RowSource:
    """The rows that the rule picks, or the others; copied once where they are in memory.

    What a source is seen through (a `MappedSource`) is put over the part: the rule sees the rows
    as they are.
    """
    if isinstance(source, MappedSource):
        return part(source.parent, rule, picked=picked).mapped(source.function, source.schema)
    if isinstance(source, MemorySource) and source.mapped_file is None:
        return _copied(source, rule, picked)
    return PartSource(source, rule, picked)


def in_memory(source: RowSource) -> MemorySource | None:
    """The rows behind a source, where they are all in memory; None where they are not."""
    while isinstance(source, MappedSource):
        source = source.parent
    there = isinstance(source, MemorySource) and source.mapped_file is None
    return source if there else None  # type: ignore[return-value]


def picked_rows(source: MemorySource, rule: Rule, picked: bool) -> NDArray[np.intp]:
    """The places of the rows that a part of this source has."""
    masks = [rule.mask(block) == picked for block in source.blocks()]
    return np.flatnonzero(np.concatenate(masks)) if masks else np.empty(0, np.intp)


def _copied(source: MemorySource, rule: Rule, picked: bool) -> MemorySource:
    rows = picked_rows(source, rule, picked)
    return MemorySource(
        source.X[rows],
        None if source.y is None else source.y[rows],
        None if source.weight is None else source.weight[rows],
        names=source.schema.names,
        kinds=source.schema.kinds,
        dtype=source.schema.dtype,
        block_bytes=source.block_bytes,
        check_finite=source.check_finite,
    )


class PartSource(RowSource):
    """The picked rows of any source, filtered as they pass."""

    def __init__(self, parent: RowSource, rule: Rule, picked: bool = True) -> None:
        self.parent, self.rule, self.picked = parent, rule, picked
        self.schema = parent.schema
        self.stable_order = parent.stable_order
        self.reads_ahead = parent.reads_ahead

    @property
    def n_rows(self) -> int | None:
        return None

    @property
    def n_partitions(self) -> int:
        return self.parent.n_partitions

    def blocks(self, partition: int) -> Iterator[Block]:
        for block in self.parent.blocks(partition):
            kept = keep(block, self.rule, self.picked)
            if kept.n_rows:
                yield kept

    def reduce(
        self,
        row_sum: RowSum[S, V],
        *,
        hook: Hook | None = None,
        row_state: RowState | None = None,
    ) -> V:
        if row_state is not None:  # numbers of these rows, not of the rows they were picked from
            return super().reduce(row_sum, hook=hook, row_state=row_state)
        return self.parent.reduce(PartSum(row_sum, self.rule, self.picked), hook=hook)

    def map(self, function: Callable[[Block], Array], *, dtype: Any, width: int | None) -> Any:
        raise ValueError(
            "a part of the rows has no outputs of its own: map the whole source, or run a sum "
            "over the part."
        )


class PartSum(RowSum[S, V]):
    """A sum over the picked rows."""

    def __init__(self, inner: RowSum[S, V], rule: Rule, picked: bool = True) -> None:
        self.inner, self.rule, self.picked = inner, rule, picked

    def start(self) -> S:
        return self.inner.start()

    def update(self, state: S, block: Block) -> S:
        kept = keep(block, self.rule, self.picked)
        return self.inner.update(state, kept) if kept.n_rows else state

    def merge(self, a: S, b: S) -> S:
        return self.inner.merge(a, b)

    def finalise(self, state: S) -> V:
        return self.inner.finalise(state)


def keep(block: Block, rule: Rule, picked: bool) -> Block:
    """The picked rows of a block, under the place of the block."""
    mask = rule.mask(block) == picked
    if mask.all():
        return block
    rows = np.flatnonzero(mask)
    y, weight, state = (
        None if one is None else one[rows] for one in (block.y, block.weight, block.state)
    )
    return block.replace(X=block.X[rows], y=y, weight=weight, state=state)
