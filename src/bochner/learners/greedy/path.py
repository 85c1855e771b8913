"""What a greedy fit leaves behind: the model of every size, and how well each does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...feature_map import FeatureMap
from ...linear.losses import Loss
from ...ops import FloatArray
from ...rows import Block, Hook, RowSource, RowSum
from ..held_out import NONE_HELD
from .losses import row_losses


@dataclass(frozen=True, eq=False)
class Model:
    """A model on the first columns: C x k, C, and its mean training loss."""

    coef: FloatArray
    intercept: FloatArray
    risk: float


@dataclass(frozen=True, eq=False)
class GreedyPath:
    """Models on the first ``sizes[i]`` columns of the feature map.

    Every size from 1 with one feature a step, and with the squared loss; else one a step.
    ``coefs[i]`` is C x sizes[i] over the columns of ``feature_map_`` (so of its ``truncate`` too),
    ``intercepts[i]`` C; ``risks`` the mean training loss, without the penalty; ``held_out`` the
    mean loss of held-out rows and ``errors`` its standard error, where rows were held out (with
    ``scoring=`` minus the score, and the error of the best one alone).
    """

    sizes: NDArray[np.intp]
    coefs: tuple[FloatArray, ...]
    intercepts: tuple[FloatArray, ...]
    risks: FloatArray
    held_out: FloatArray | None = None
    errors: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def of(cls, models: Sequence[Model]) -> GreedyPath:
        sizes = np.array([model.coef.shape[1] for model in models], dtype=np.intp)
        coefs, intercepts = (m.coef for m in models), (m.intercept for m in models)
        risks = np.array([model.risk for model in models], dtype=np.float64)
        return cls(sizes, tuple(coefs), tuple(intercepts), risks)

    def head(self, count: int) -> GreedyPath:
        """The first ``count`` models."""
        held_out = None if self.held_out is None else self.held_out[:count]
        errors = None if self.errors is None else self.errors[:count]
        models = self.sizes[:count], self.coefs[:count], self.intercepts[:count]
        return GreedyPath(*models, self.risks[:count], held_out, errors)

    def scaled(self, factor: float) -> GreedyPath:
        """The same models over columns that are ``1 / factor`` times those before."""
        return replace(self, coefs=tuple(coef * factor for coef in self.coefs))

    def chosen(self) -> int:
        """How many models the one-standard-error rule keeps.

        The smallest model whose held-out risk is within a standard error of the least.
        """
        assert self.held_out is not None
        assert self.errors is not None
        best = int(np.argmin(self.held_out))
        enough = self.held_out <= self.held_out[best] + self.errors[best]
        return int(np.argmax(enough)) + 1


class HeldOutSum(RowSum["FloatArray | None", "tuple[FloatArray, FloatArray]"]):
    """Mean loss of each model and its standard error: sums of w, w l, w l^2, and rows.

    With l the loss of a row and r its mean, the error is sqrt(mean (l - r)^2 / n), where a row of
    weight 2 counts twice in n, and weights below one on average count as one each.
    """

    def __init__(self, fm: FeatureMap, path: GreedyPath, loss: Loss) -> None:
        self.fm, self.path, self.loss = fm, path, loss
        self.columns = as_columns(path, fm.n_features)

    def start(self) -> FloatArray | None:
        return None

    def update(self, state: FloatArray | None, block: Block) -> FloatArray | None:
        w = block.weights()
        rows = np.flatnonzero(w > 0)
        if len(rows) == 0:
            return state
        assert block.y is not None
        y, w = block.y[rows], w[rows]
        Z = np.asarray(self.fm.map_rows(block.X[rows], self.columns), dtype=np.float64)
        Z = Z.reshape(len(rows), len(self.path), -1)
        sums = np.empty((len(self.path), 4))
        for i, b in enumerate(self.path.intercepts):
            loss = row_losses(self.loss, Z[:, i] + b, y)
            sums[i] = w.sum(), w @ loss, w @ loss**2, len(rows)
        return sums if state is None else state + sums

    def merge(self, a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
        return (b if a is None else a) if a is None or b is None else a + b

    def finalise(self, state: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        if state is None:
            raise ValueError(NONE_HELD)
        total, once, squares, count = state.T
        r = once / total
        spread = np.maximum(squares / total - r**2, 0.0)
        return r, np.sqrt(spread / np.maximum(total, count))


def as_columns(path: GreedyPath, M: int) -> FloatArray:
    """All models side by side, M x (models C)."""
    C = len(path.intercepts[0])
    columns = np.zeros((M, len(path), C))
    for i, coef in enumerate(path.coefs):
        columns[: coef.shape[1], i] = coef.T
    return columns.reshape(M, -1)


def judged(
    path: GreedyPath, source: RowSource, fm: FeatureMap, loss: Loss, hook: Hook
) -> GreedyPath:
    """The path with held-out risks; one pass over the held-out rows."""
    risks, errors = source.reduce(HeldOutSum(fm, path, loss), hook=hook)
    return replace(path, held_out=risks, errors=errors)
