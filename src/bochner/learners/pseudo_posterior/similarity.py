"""How alike two amounts are, in [-1, 1]: what a label is to classes, for regression.

    u = (y - mean) / sd,   theta = arctan u,   lambda_ij = cos(theta_i - theta_j) = a_i.a_j,
    a = (1, u) / sqrt(1 + u^2)

1 for equal targets, 0 for one sd below and one above the mean, -1 for far below and far above. It
is a product of unit vectors, so all that holds for two classes holds here; several targets are
averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ops import FloatArray
from ...rows import Block, Hook, RowSource, RowSum
from ...rows.block import Array
from ..base import Task
from ..label_kernel import FactorFigures, LabelKernel, Target, as_target


@dataclass(frozen=True, eq=False)
class Similarity:
    """The rows of A for targets n or n x k, given their means and deviations."""

    mean: FloatArray
    deviation: FloatArray

    def __call__(self, y: FloatArray) -> FloatArray:
        u = (y.reshape(len(y), -1) - self.mean) / self.deviation
        length = np.sqrt((1.0 + u * u) * u.shape[1])
        return np.concatenate([1.0 / length, u / length], axis=1)


class TargetMoments(RowSum["Array | None", Similarity]):
    """Weighted mean and deviation of each target: rows (w, mean, w deviation^2), merged exactly."""

    def start(self) -> Array | None:
        return None

    def update(self, state: Array | None, block: Block) -> Array | None:
        assert block.y is not None
        y, w = np.asarray(block.y, dtype=np.float64).reshape(block.n_rows, -1), block.weights()
        if not np.any(w > 0):
            return state
        mean = (w @ y) / w.sum()
        part = np.array([np.full(y.shape[1], w.sum()), mean, w @ np.square(y - mean)])
        return self.merge(state, part)

    def merge(self, a: Array | None, b: Array | None) -> Array | None:
        if a is None or b is None:
            return b if a is None else a
        total, shift = a[0] + b[0], b[1] - a[1]
        spread = a[2] + b[2] + shift**2 * (a[0] * b[0] / total)
        return np.array([total, a[1] + shift * (b[0] / total), spread])

    def finalise(self, state: Array | None) -> Similarity:
        if state is None:
            raise ValueError("no rows with a positive weight to learn from; check sample_weight.")
        deviation = np.sqrt(state[2] / state[0])
        return Similarity(state[1], np.where(deviation > 0, deviation, 1.0))


def similarity_target(given: Any, source: RowSource, task: Task, hook: Hook) -> Target:
    """The similarity of targets from a setting; what it needs to know of them takes a pass."""
    if task.kind == "regression" and not isinstance(given, LabelKernel):
        hook.at("targets")
        given = LabelKernel(source.reduce(TargetMoments(), hook=hook), given == "centered")
    target = as_target(given, task)
    if not target.needs_figures:
        return target
    hook.at("targets")
    return target.fitted(source.reduce(FactorFigures(target), hook=hook))
