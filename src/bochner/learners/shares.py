"""The passes over rows: sums for the scores, on a share of the rows, apart for held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .. import statistics
from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import Block, Hook, RowSource, RowSum
from .held_out import HeldOut, MarkHeld, unmarked
from .label_kernel import Target

S = TypeVar("S")
V = TypeVar("V")


class OnShare(RowSum[S, V]):
    """A sum over a share of the rows."""

    def __init__(self, inner: RowSum[S, V], share: HeldOut) -> None:
        self.inner, self.share = inner, share

    def start(self) -> S:
        return self.inner.start()

    def update(self, state: S, block: Block) -> S:
        rows = np.flatnonzero(self.share.mask(block))
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
    """Row coefficients twice as wide: first those of rows to learn from, then of held-out rows.

    The targets carry marks (`MarkHeld`): where a row stood is lost once a share has been taken.
    """

    target: Target
    n_targets: int | None

    def __call__(self, block: Block) -> FloatArray:
        y, held = unmarked(block.y, self.n_targets)
        R, held = self.target(block.replace(y=y)), held[:, None]
        return np.concatenate([np.where(held, 0.0, R), np.where(held, R, 0.0)], axis=1)


def reduced(source: RowSource, row_sum: RowSum[S, V], share: HeldOut | None, hook: Hook) -> V:
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
    share: HeldOut | None,
    held_out: HeldOut | None,
    hook: Hook,
) -> tuple[FloatArray, FloatArray, int]:
    """Phi' R over the rows to learn from, and over all of them, each N x r; and how many rows."""
    coefficients: statistics.Coefficients = target
    if held_out is not None:
        coefficients = HeldApart(target, source.schema.n_targets)
        source = source.mapped(MarkHeld(held_out), source.schema)
    row_sum = Counted(statistics.ProjectSum(candidates, coefficients))
    s, n = reduced(source, row_sum, share, hook)
    if held_out is None:
        return s, s, n
    width = s.shape[1] // 2
    return s[:, :width], s[:, :width] + s[:, width:], n
