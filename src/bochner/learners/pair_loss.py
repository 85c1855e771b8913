"""The alignment loss of a finished kernel on rows that it was not learned from.

    k(x, x') = phi(x).phi(x') / B in [-1, 1],   B = sup k(x, x)
    L^ = (1 - mean over i != j of lambda_ij k(x_i, x_j)) / 2

One pass: sum over pairs of lambda k is sum_m of the scores of s = Phi'R (see `label_kernel`) less
the pairs i = j. Each row with a positive weight counts once.
"""

from __future__ import annotations

import math

import numpy as np

from ..feature_map import FeatureMap
from ..ops import FloatArray, Projection
from ..rows import Block, RowSource, RowSum
from ..rows.block import Array
from .label_kernel import Target

_STRIP = 4096
State = tuple["FloatArray | None", Array]


class PairLoss(RowSum[State, tuple[float, int]]):
    """(L^, n); n < 2 makes no pair, and its loss is 1/2."""

    def __init__(self, fm: FeatureMap, target: Target) -> None:
        self.fm, self.target = fm, target

    def start(self) -> State:
        return None, np.zeros(2)

    def update(self, state: State, block: Block) -> State:
        block = unweighted(block)
        s = self.fm.project(block.X, self.target(block))
        own = float(squared_norms(self.fm, block.X) @ self.target.own(block))
        return self.merge(state, (s, np.array([block.n_rows, own])))

    def merge(self, a: State, b: State) -> State:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return a[0] + b[0], a[1] + b[1]

    def finalise(self, state: State) -> tuple[float, int]:
        s, (n, own) = state
        if s is None or n < 2:
            return 0.5, int(n)
        total = float(self.target.scores(s).sum()) - own
        bound = kernel_bound(self.fm)
        return 0.5 - 0.5 * total / (bound * n * (n - 1.0)), int(n)


def pair_loss(source: RowSource, fm: FeatureMap, target: Target) -> tuple[float, int]:
    """The loss of k on these rows, and how many they are."""
    loss, n = source.reduce(PairLoss(fm, target))
    return min(max(loss, 0.0), 1.0), n  # what rounding adds


def unweighted(block: Block) -> Block:
    """The rows with a positive weight, each once."""
    if block.weight is None:
        return block
    rows = np.flatnonzero(block.weight > 0)
    y = None if block.y is None else block.y[rows]
    return block.replace(X=block.X[rows], y=y, weight=None)


def kernel_bound(fm: FeatureMap) -> float:
    """B = sup k(x, x); infinite for features without a bound."""
    s2 = np.square(np.asarray(fm.weights, dtype=np.float64))
    p = fm.projection
    pairs = isinstance(p, Projection) and p.activation == "pair"
    if pairs and np.allclose(s2[0::2], s2[1::2], rtol=1e-12):  # cos^2 + sin^2 = 1
        return float(s2[0::2].sum() * p.scale**2)  # type: ignore[union-attr]
    b = fm.family.bound
    return float(s2.sum() * b * b) if math.isfinite(b) else math.inf


def squared_norms(fm: FeatureMap, X: FloatArray) -> FloatArray:
    """k(x, x) of each row, without the features of all rows in memory."""
    out = np.empty(X.shape[0])
    for start in range(0, len(out), _STRIP):
        phi = fm(X[start : start + _STRIP])
        if hasattr(phi, "toarray"):
            phi = phi.toarray()
        out[start : start + _STRIP] = np.einsum("im,im->i", phi, phi, dtype=np.float64)
    return out
