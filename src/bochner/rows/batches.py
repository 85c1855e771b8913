"""Shuffled minibatches, for learners that move atoms by stochastic gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .block import Block
from .memory import MemorySource
from .sample import SAMPLE_BYTES, draw_sample
from .source import RowSource


def batches(
    source: RowSource,
    size: int,
    rng: np.random.Generator,
    *,
    epochs: int = 1,
    max_bytes: int = SAMPLE_BYTES,
) -> Iterator[Block]:
    """Blocks of ``size`` rows in random order, ``epochs`` times over all rows.

    Rows in memory are shuffled as they are. Other sources are first sampled down to ``max_bytes``
    by the hash of their content, never taken in the order of partitions, which may be sorted by
    label; equal rows of such a sample come as one row with their joint weight.
    """
    if size < 1:
        raise ValueError(f"a minibatch has at least one row, got size={size}.")
    return _batches(source, size, rng, epochs, max_bytes)


def _batches(
    source: RowSource, size: int, rng: np.random.Generator, epochs: int, max_bytes: int
) -> Iterator[Block]:
    pool = source if isinstance(source, MemorySource) else _sampled(source, rng, max_bytes)
    everything = pool.X, pool.y, pool.weight
    for _ in range(epochs):
        order = rng.permutation(pool.n_rows)
        for start in range(0, pool.n_rows, size):
            rows = np.sort(order[start : start + size])
            X, y, weight = (None if part is None else part[rows] for part in everything)
            dtype = pool.schema.dtype
            yield from MemorySource(X, y, weight, dtype=dtype, block_bytes=2**62).blocks()


def _sampled(source: RowSource, rng: np.random.Generator, max_bytes: int) -> MemorySource:
    targets = source.schema.n_targets is not None
    seed = int(rng.integers(2**62))
    sample = draw_sample(source, 2**62, seed, targets=targets, max_bytes=max_bytes)
    return MemorySource(sample.X, sample.y, sample.weight, dtype=source.schema.dtype)
