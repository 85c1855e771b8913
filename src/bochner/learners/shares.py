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


def sums(
    source: RowSource,
    candidates: FeatureMap,
    target: Target,
    share: Share | None,
    held_out: Share | None,
    hook: Hook,
) -> tuple[FloatArray, FloatArray]:
    """Phi' R over the rows to learn from, and over all of them, each N x r."""
    coefficients = target if held_out is None else HeldApart(target, held_out)
    s = reduced(source, statistics.ProjectSum(candidates, coefficients), share, hook)
    if held_out is None:
        return s, s
    width = s.shape[1] // 2
    return s[:, :width], s[:, :width] + s[:, width:]
