"""Losses of a greedy fit, the targets that each reads, and penalties on coefficients.

squared      l = sum_c (z_c - y_c)^2             amounts, or classes as +-1 (one column a class)
huber        l = sum_c h_c(z_c - y_c)            h(e) = e^2 up to delta, 2 delta |e| - delta^2 on
logistic     l = log(1 + exp(-s z)), or softmax  class indices

l2           p(t) = t^2 / 2
log_cosh     p(t) = log cosh t: as t^2 / 2 near zero, as |t| far from it (Remark 2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...linear.losses import BinaryLogistic, Loss, Multinomial, Squared
from ...ops import FloatArray
from ...rows import Block, RowSource, RowSum, draw_sample
from ..base import Request, Task

LOSSES = ("auto", "squared", "logistic", "multinomial", "huber")
PENALTIES = ("l2", "log_cosh")
#: Huber's delta in standard deviations, which a median absolute deviation is 0.6745 of.
HUBER = 1.345 / 0.6745
SAMPLE_ROWS = 10_000


class Huber(Loss):
    """Squared up to delta_c, linear beyond; delta in the units of each target."""

    def __init__(self, delta: FloatArray) -> None:
        super().__init__(len(delta))
        self.delta = delta

    def rows(self, Z: FloatArray, y: FloatArray) -> FloatArray:
        """l of each row."""
        e = np.abs(Z - y.reshape(len(Z), -1))
        near = np.minimum(e, self.delta)
        return np.asarray((near * (2.0 * e - near)).sum(axis=1))

    def evaluate(
        self, Z: FloatArray, y: FloatArray, w: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        E = Z - y.reshape(len(Z), -1)
        R = 2.0 * w[:, None] * np.clip(E, -self.delta, self.delta)
        H = np.diag(2.0 * (w @ (np.abs(E) <= self.delta)))
        return float(w @ self.rows(Z, y)), R, H

    def curvature(self, Z: FloatArray, y: FloatArray, w: FloatArray, c: int, k: int) -> FloatArray:
        e = Z[:, c] - y.reshape(len(Z), -1)[:, c]
        return np.asarray(2.0 * w * (np.abs(e) <= self.delta[c]))


def row_losses(loss: Loss, Z: FloatArray, y: FloatArray) -> FloatArray:
    """l of each row."""
    if isinstance(loss, Huber):
        return loss.rows(Z, y)
    if isinstance(loss, Squared):
        return np.asarray(np.square(Z - y.reshape(len(Z), -1)).sum(axis=1))
    if isinstance(loss, BinaryLogistic):
        return np.logaddexp(0.0, np.where(y > 0, -Z[:, 0], Z[:, 0]))
    assert isinstance(loss, Multinomial)
    most = Z.max(axis=1)
    log_sum = most + np.log(np.exp(Z - most[:, None]).sum(axis=1))
    return np.asarray(log_sum - Z[np.arange(len(Z)), y])


@dataclass(frozen=True)
class Penalty:
    """alpha p(t) of each coefficient: value, slope and curvature."""

    alpha: float
    kind: str = "l2"

    def value(self, t: FloatArray) -> float:
        if self.kind == "l2":
            return 0.5 * self.alpha * float(np.sum(t * t))
        return self.alpha * float(np.sum(np.logaddexp(t, -t) - np.log(2.0)))

    def slope(self, t: FloatArray) -> FloatArray:
        return self.alpha * (t if self.kind == "l2" else np.tanh(t))

    def curvature(self, t: FloatArray) -> FloatArray:
        return self.alpha * (np.ones_like(t) if self.kind == "l2" else 1.0 - np.tanh(t) ** 2)


def name_of(loss: str, task: Task) -> str:
    """What "auto" is: "squared", "logistic" or "huber"; a loss must fit the targets."""
    classes = task.kind == "classification"
    if loss == "auto":
        return "logistic" if classes else "squared"
    if loss in ("logistic", "multinomial") and not classes:
        raise ValueError(
            f"Greedy(loss={loss!r}) is for classes, but the target is an amount (a regression "
            "target). Use loss='squared' or 'huber', or task='classification'."
        )
    if loss == "huber" and classes:
        raise ValueError(
            "Greedy(loss='huber') is for amounts, but the target is classes. Use loss='logistic' "
            "or 'squared', or task='regression'."
        )
    return "logistic" if loss == "multinomial" else loss


@dataclass(frozen=True, eq=False)
class Signs:
    """Class indices as targets of least squares: +-1, one column a class when more than two."""

    n_classes: int

    def __call__(self, block: Block) -> Block:
        assert block.y is not None
        y = block.y.reshape(-1, 1)
        index = np.array([1]) if self.n_classes == 2 else np.arange(self.n_classes)
        return block.replace(y=np.where(y == index, 1.0, -1.0))


@dataclass(frozen=True, eq=False)
class Columnar:
    """Amounts as float64 columns."""

    def __call__(self, block: Block) -> Block:
        assert block.y is not None
        return block.replace(y=block.y.reshape(block.n_rows, -1).astype(np.float64, copy=False))


def with_targets(source: RowSource, name: str, task: Task) -> RowSource:
    """The source with the targets that a loss reads."""
    if name == "logistic":
        return source
    if task.kind == "classification":
        return source.mapped(Signs(task.n_classes or 2), source.schema)
    return source.mapped(Columnar(), source.schema)


def as_loss(name: str, source: RowSource, request: Request) -> Loss:
    """The loss for targets as `with_targets` gives them."""
    if name == "logistic":
        classes = request.task.n_classes or 2
        return BinaryLogistic() if classes == 2 else Multinomial(classes)
    if name == "squared":
        return Squared(1)
    seed = int(request.rng.integers(2**62))
    sample = draw_sample(source, SAMPLE_ROWS, seed, targets=True, hook=request.hook)
    assert sample.y is not None
    return Huber(_deltas(sample.y.reshape(len(sample), -1)))


def _deltas(y: FloatArray) -> FloatArray:
    """1.345 robust standard deviations of each target (plain ones where half are equal)."""
    far = np.abs(y - np.median(y, axis=0))
    robust = np.median(far, axis=0)
    deviation = np.where(robust > 0, HUBER * robust, 1.345 * y.std(axis=0))
    return np.asarray(np.where(deviation > 0, deviation, 1.0))


class TargetFigures(RowSum["Any", "tuple[float, FloatArray, FloatArray]"]):
    """Total weight, and the mean and the variance of each target column, (C,) both."""

    def start(self) -> Any:
        return None

    def update(self, state: Any, block: Block) -> Any:
        w, y = block.weights(), block.y
        assert y is not None
        total = float(w.sum())
        if not total > 0:
            return state
        mean = w @ y / total
        return self.merge(state, (total, mean, w @ np.square(y - mean)))

    def merge(self, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        total, move = a[0] + b[0], b[1] - a[1]
        spread = a[2] + b[2] + np.square(move) * a[0] * b[0] / total
        return total, a[1] + move * b[0] / total, spread

    def finalise(self, state: Any) -> tuple[float, FloatArray, FloatArray]:
        if state is None:
            raise ValueError("no rows with a positive weight: check sample_weight, or cv=.")
        return state[0], state[1], state[2] / state[0]
