"""The passes over rows: sums for the scores, on a share of the rows, apart for held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .. import statistics
from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import Block, Hook, RowSource, RowSum
from ..rows.block import Array
from ..rows.hashing import hash_rows
from .label_kernel import Target

S = TypeVar("S")
V = TypeVar("V")


@dataclass(frozen=True)
class Share:
    """A share of the rows chosen by what is in them: equal rows stay together."""

    seed: int
    share: float

    def mask(self, X: Array) -> Array:
        """Which rows are in it."""
        return hash_rows(X, self.seed) < np.uint64(min(self.share * 2.0**64, 2.0**64 - 2048.0))


class OnShare(RowSum[S, V]):
    """A sum over a share of the rows."""

    def __init__(self, inner: RowSum[S, V], share: Share) -> None:
        self.inner, self.share = inner, share

    def start(self) -> S:
        return self.inner.start()

    def update(self, state: S, block: Block) -> S:
        rows = np.flatnonzero(self.share.mask(block.X))
        if len(rows) == 0:
            return state
        y = None if block.y is None else block.y[rows]
        weight = None if block.weight is None else block.weight[rows]
        return self.inner.update(state, Block(block.X[rows], y, weight))

    def merge(self, a: S, b: S) -> S:
        return self.inner.merge(a, b)

    def finalise(self, state: S) -> V:
        return self.inner.finalise(state)


@dataclass(frozen=True)
class HeldApart:
    """Row coefficients twice as wide: first those of rows to learn from, then of held-out rows."""

    target: Target
    held_out: Share

    def __call__(self, block: Block) -> FloatArray:
        R, held = self.target(block), self.held_out.mask(block.X)[:, None]
        return np.concatenate([np.where(held, 0.0, R), np.where(held, R, 0.0)], axis=1)


def reduced(source: RowSource, row_sum: RowSum[S, V], share: Share | None, hook: Hook) -> V:
    """The sum over the share, or over all rows."""
    return source.reduce(row_sum if share is None else OnShare(row_sum, share), hook=hook)


class Counted(RowSum[tuple[S, int], tuple[V, int]]):
    """A sum, and how many rows with a positive weight it is over."""

    def __init__(self, inner: RowSum[S, V]) -> None:
        self.inner = inner

    def start(self) -> tuple[S, int]:
        return self.inner.start(), 0

    def update(self, state: tuple[S, int], block: Block) -> tuple[S, int]:
        w = block.weight
        n = block.n_rows if w is None else int(np.count_nonzero(w))
        return self.inner.update(state[0], block), state[1] + n

    def merge(self, a: tuple[S, int], b: tuple[S, int]) -> tuple[S, int]:
        return self.inner.merge(a[0], b[0]), a[1] + b[1]

    def finalise(self, state: tuple[S, int]) -> tuple[V, int]:
        return self.inner.finalise(state[0]), state[1]


def sums(
    source: RowSource,
    candidates: FeatureMap,
    target: Target,
    share: Share | None,
    held_out: Share | None,
    hook: Hook,
) -> tuple[FloatArray, FloatArray, int]:
    """Phi' R over the rows to learn from, and over all of them, each N x r; and how many rows."""
    coefficients = target if held_out is None else HeldApart(target, held_out)
    row_sum = Counted(statistics.ProjectSum(candidates, coefficients))
    s, n = reduced(source, row_sum, share, hook)
    if held_out is None:
        return s, s, n
    width = s.shape[1] // 2
    return s[:, :width], s[:, :width] + s[:, width:], n
