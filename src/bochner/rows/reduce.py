"""How a sum runs over the rows of a source that is visited from this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from .block import Block
from .source import RowSource, RowSum

if TYPE_CHECKING:
    from .progress import Hook
    from .state import RowState

S = TypeVar("S")
V = TypeVar("V")


def reduce(
    source: RowSource,
    row_sum: RowSum[S, V],
    *,
    hook: Hook | None = None,
    row_state: RowState | None = None,
) -> V:
    """Sum over all rows of a source, on whatever engine the source lives."""
    return source.reduce(row_sum, hook=hook, row_state=row_state)


def fold_locally(
    source: RowSource,
    row_sum: RowSum[S, V],
    *,
    hook: Hook | None = None,
    row_state: RowState | None = None,
) -> V:
    """One running state, block after block: the cheapest tree, and flat in memory."""
    state = row_sum.start()
    seen = 0
    for block in all_blocks(source):
        if row_state is not None:
            block = row_state.attach(block)
        state = row_sum.update(state, block)
        seen += block.n_rows
        if hook is not None:
            hook.rows(seen, source.n_rows)
    return row_sum.finalise(state)


def fold_partition(row_sum: RowSum[S, V], blocks: Iterator[Block]) -> S:
    """The partial state of one partition: what a cluster computes before the tree of merges."""
    state = row_sum.start()
    for block in blocks:
        state = row_sum.update(state, block)
    return state


def all_blocks(source: RowSource) -> Iterator[Block]:
    """Every block of every partition, the next one being read while this one is used."""
    blocks = (b for p in range(source.n_partitions) for b in source.blocks(p))
    return _read_ahead(blocks) if source.reads_ahead else blocks


def _read_ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """One block ahead, on one thread; an error or an early stop leaves no thread behind."""
    with ThreadPoolExecutor(1, thread_name_prefix="bochner-read") as reader:
        pending = reader.submit(next, blocks, None)
        while True:
            block = pending.result()
            if block is None:
                return
            pending = reader.submit(next, blocks, None)
            yield block
