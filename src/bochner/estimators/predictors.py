"""From a block of rows to predictions: functions that any engine can run, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..feature_map import FeatureMap
from ..linear import LinearModel
from ..linear.model import best_class
from ..rows import Block, RowSource, RowSum
from ..rows.block import Array
from ..search.columns import ColumnTreatment
from .targets import as_labels


@dataclass(frozen=True, eq=False)
class Decision:
    """Raw scores of a block, n x C: column treatment, features, linear head."""

    treatment: ColumnTreatment | None
    feature_map: FeatureMap
    model: LinearModel

    def __call__(self, block: Block) -> Array:
        if self.treatment is not None:
            block = self.treatment(block)
        return self.model.decision(self.feature_map, block.X)


@dataclass(frozen=True, eq=False)
class Then:
    """second(first(block)): what is done to raw scores, without a closure."""

    first: Decision
    second: Any

    def __call__(self, block: Block) -> Array:
        return np.asarray(self.second(self.first(block)))


@dataclass(frozen=True, eq=False)
class PickClass:
    """The class with the highest score; one column means the sign decides between two."""

    classes: Array

    def __call__(self, scores: Array) -> Array:
        return np.asarray(self.classes[best_class(scores)])


def unchanged(scores: Array) -> Array:
    return scores


class AccuracySum(RowSum["Array", float]):
    """The weighted share of rows whose prediction is their target."""

    def __init__(self, predict: Any) -> None:
        self.predict = predict

    def start(self) -> Array:
        return np.zeros(2)

    def update(self, state: Array, block: Block) -> Array:
        assert block.y is not None
        predicted, y = self.predict(block), as_labels(block.y.reshape(-1))
        if len(y) and (predicted.dtype.kind in "US") != (y.dtype.kind in "US"):
            raise ValueError(
                f"the model predicts labels such as {predicted[0]!r}, but the target holds "
                f"{y[0]!r}; give targets of the kind it was fitted on."
            )
        right = np.asarray(predicted == y)
        weight = block.weights()
        return state + np.array([float(weight @ right), float(weight.sum())])

    def merge(self, a: Array, b: Array) -> Array:
        return a + b

    def finalise(self, state: Array) -> float:
        _refuse_nothing(float(state[1]))
        return float(state[0] / state[1])


class R2Sum(RowSum["Array | None", float]):
    """R^2 averaged over targets; rows are k = (w, w y, w y^2, w (y - f)^2) per target."""

    def __init__(self, predict: Any) -> None:
        self.predict = predict

    def start(self) -> Array | None:
        return None

    def update(self, state: Array | None, block: Block) -> Array | None:
        assert block.y is not None
        y = block.y.reshape(block.n_rows, -1).astype(np.float64)
        f = np.asarray(self.predict(block), dtype=np.float64).reshape(len(y), -1)
        w = block.weights()
        if f.shape != y.shape:
            raise ValueError(
                f"the target has {y.shape[1]} columns, but the model predicts {f.shape[1]}."
            )
        if not np.any(w > 0):
            return state
        mean = (w @ y) / w.sum()
        part = np.array([np.full(y.shape[1], w.sum()), mean, w @ (y - mean) ** 2, w @ (y - f) ** 2])
        return self.merge(state, part)

    def merge(self, a: Array | None, b: Array | None) -> Array | None:
        if a is None or b is None:
            return b if a is None else a
        total = a[0] + b[0]
        shift = b[1] - a[1]
        mean = a[1] + shift * b[0] / total
        return np.array([total, mean, a[2] + b[2] + shift**2 * a[0] * b[0] / total, a[3] + b[3]])

    def finalise(self, state: Array | None) -> float:
        if state is None:
            raise _nothing_to_score()
        _, _, spread, error = state
        flat = spread == 0
        ratio = np.divide(error, spread, out=np.zeros_like(error), where=~flat)
        return float(np.mean(np.where(flat & (error > 0), 0.0, 1.0 - ratio)))


def _refuse_nothing(total: float) -> None:
    if not total > 0:
        raise _nothing_to_score()


def _nothing_to_score() -> ValueError:
    return ValueError("there are no rows with a positive weight to score; give at least one.")


def score_rows(source: RowSource, predict: Any, kind: str) -> float:
    """The score of a source that carries its own targets."""
    if source.schema.n_targets is None:
        raise ValueError("score needs targets: give y, or a scan with target=...")
    if kind == "classification":
        return source.reduce(AccuracySum(predict))
    return source.reduce(R2Sum(predict))
