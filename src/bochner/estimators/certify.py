"""``certify=``: rows set aside before anything is learned, and what they prove afterwards.

Every statement is at `DELTA`, and each by itself. Rows are set aside by a keyed hash of their
content (whole groups with ``groups=``), so equal rows stay together, in memory, in streams and on a
cluster alike. Nothing about the model is fitted on them: not the columns, the bandwidth, the
features, or the head.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from ..certificates import Certificate, fixed_kernel
from ..certificates.classifier import SCALES, from_gibbs
from ..certificates.conformal import class_scores
from ..feature_map import FeatureMap
from ..learners import Learner, Selection
from ..learners.base import Task
from ..learners.held_out import Share, of_groups
from ..learners.label_kernel import LabelKernel, Target
from ..learners.pair_loss import kernel_bound, pair_loss, squared_norms, unweighted
from ..learners.pseudo_posterior.similarity import TargetMoments
from ..linear import LinearModel, probabilities
from ..linear.model import best_class
from ..rows import Block, RowSource, RowSum
from ..rows.block import Array
from ..rows.part import in_memory, part, picked_rows
from . import settings
from .holding import Holding
from .predictors import Decision

#: The share of rows that ``certify=True`` sets aside, and the chance that a statement is wrong.
SHARE, DELTA = 0.2, 0.05
_KEY = 0x5DEECE66D  # apart from the hashes of the fit, which start from the same random_state
DISTINCT = "equal rows are no more than chance (rows set aside by hash keep them together)"
BANDWIDTH = (
    "the bandwidth was fitted on the same rows: give it as a number, or certify=True, which sets "
    "rows aside for a statement that does not need it"
)
MAP = "the feature map was learned from the same rows"
COLUMNS = "the columns were scaled by the same rows: give preprocess=None, or certify=True"


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to fit on, rows set aside (None where none are asked for), and the inner choice."""

    fit: RowSource
    aside: RowSource | None
    held: Holding


def set_aside(certify: Any, source: RowSource, held: Holding, random_state: Any) -> Parts:
    """The two parts of the rows; all of them to fit on where ``certify`` is False."""
    share = share_of(certify)
    if share is None:
        return Parts(source, None, held)
    seed = int(settings.generator(random_state).integers(2**62)) ^ _KEY
    by_group = held.groups is not None
    rule = of_groups(held.groups, seed, share) if by_group else Share(seed, share)  # type: ignore[arg-type]
    if by_group or held.rows is not None:
        rows = in_memory(source)
        if rows is None:
            raise ValueError(
                "certify= together with groups= or a splitter needs rows in memory; load them, or "
                "give cv= as a share."
            )
        held = held.among(picked_rows(rows, rule, False))
    fit, aside = part(source, rule, picked=False), part(source, rule)
    if 0 in (fit.n_rows, aside.n_rows):
        raise ValueError(
            f"certify={certify!r} leaves {fit.n_rows} of {source.n_rows} rows to fit on and sets "
            f"{aside.n_rows} aside: give more (distinct) rows, or another share."
        )
    return Parts(fit, aside, held)


def share_of(certify: Any) -> float | None:
    """The share of rows to set aside; None for none."""
    if isinstance(certify, bool | np.bool_):
        return SHARE if certify else None
    if isinstance(certify, numbers.Real) and 0.0 < float(certify) < 1.0:
        return float(certify)
    raise ValueError(
        f"certify={certify!r}: give False, True (sets {SHARE:.0%} of the rows aside) or the share "
        "of rows to set aside, between 0 and 1."
    )


def of_learner(
    learner: Learner, selection: Selection, n_rows: int | None, fm: FeatureMap, broken: list[str]
) -> dict[str, Certificate]:
    """What the learner's own theory says, on the rows that it learned from."""
    n = n_rows if n_rows is not None else int(selection.stats.get("n", 0))
    found = learner.certificate(selection, n, fm.family.bound, DELTA)
    if found is None:
        return {}
    return {"learner": replace(found, broken=(*found.broken, *broken))}


def of_kernel(
    fm: FeatureMap, fit: RowSource, aside: RowSource, task: Task
) -> dict[str, Certificate]:
    """The alignment loss of the finished kernel, whatever made it, from rows set aside."""
    bound = kernel_bound(fm)
    if not 0.0 < bound < np.inf:
        return {}
    kernel = None
    if task.kind == "regression":
        kernel = LabelKernel(fit.reduce(TargetMoments()), centered=False)
    loss, n = pair_loss(aside, fm, Target(task, kernel, False))
    if n < 2:
        return {}
    found = fixed_kernel(loss, n, DELTA)
    details = {**found.details, "sup k(x, x)": bound}
    assumptions = (*found.assumptions, DISTINCT)
    return {"kernel": replace(found, assumptions=assumptions, details=details)}


class Certified:
    """The certificates of a fitted estimator."""

    certificates_: dict[str, Certificate]
    certify: Any

    @property
    def certificate_(self) -> Certificate:
        """The certificate that says most to a user: of the error, of the kernel, of the learner."""
        check_is_fitted(self, "certificates_")
        for name in ("error", "residual", "kernel", "learner"):
            if name in self.certificates_:
                return self.certificates_[name]
        what = getattr(self, "learner", None)
        raise AttributeError(
            f"{type(self).__name__} has no certificate_: "
            + (f"the learner {what!r} states" if what is not None else "learn=False states")
            + " nothing about what it learned. Fit with certify=True: rows set aside then certify "
            "the result."
        )


@dataclass(frozen=True, eq=False)
class Unseen:
    """What a model did on the rows set aside: n, wrong predictions, scores ascending."""

    n: int
    errors: int
    scores: Array


class AsideSum(RowSum[list[Any], Unseen]):
    """Errors and conformal scores of rows set aside; eight bytes a row."""

    def __init__(self, decision: Decision, task: Task, logistic: bool) -> None:
        self.decision, self.task, self.logistic = decision, task, logistic

    def start(self) -> list[Any]:
        return []

    def update(self, state: list[Any], block: Block) -> list[Any]:
        block = unweighted(block)
        raw, y = self.decision(block), block.y
        assert y is not None
        if self.task.kind == "regression":
            residuals = np.abs(y.reshape(len(y), -1) - raw).max(axis=1, initial=0.0)
            return [*state, (0, residuals)]
        every = nonconformity(raw, self.logistic)
        own = every[np.arange(len(y)), y]
        return [*state, (int(np.sum(best_class(raw) != y)), own)]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [*a, *b]

    def finalise(self, state: list[Any]) -> Unseen:
        scores = np.concatenate([one[1] for one in state]) if state else np.empty(0)
        if not len(scores):
            raise ValueError("certify= set no rows aside: give more rows, or a larger share.")
        errors = sum(one[0] for one in state)
        return Unseen(len(scores), errors, np.sort(scores.astype(np.float64)))


def nonconformity(raw: Array, logistic: bool) -> Array:
    """How badly each class fits a row, n x C."""
    return class_scores(raw, probabilities(raw) if logistic else None)


@dataclass(frozen=True)
class SetOf:
    """The classes whose scores are within the threshold, and the best one: n x C of booleans."""

    most: float
    logistic: bool

    def __call__(self, raw: Array) -> Array:
        scores = nonconformity(raw, self.logistic)
        return np.asarray(scores <= np.maximum(self.most, scores.min(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Interval:
    """The prediction less and plus a radius, n x 2."""

    radius: float

    def __call__(self, raw: Array) -> Array:
        f = raw.reshape(len(raw), 1).astype(np.float64)
        return np.concatenate([f - self.radius, f + self.radius], axis=1)


class GibbsSum(RowSum[Array, Array]):
    """(n, errors, sums of the error of a Gaussian around the head at each scale).

    For more than two classes the error of a draw is at most the sum over the other classes of the
    chance that they beat the true one, and a wrong prediction still costs half of it.
    """

    def __init__(self, fm: FeatureMap, model: LinearModel) -> None:
        self.fm, self.model = fm, LinearModel(model.coef, model.intercept)

    def start(self) -> Array:
        return np.zeros(2 + len(SCALES))

    def update(self, state: Array, block: Block) -> Array:
        block = unweighted(block)
        assert block.y is not None
        y = block.y.astype(np.intp)
        raw = self.model.decision(self.fm, block.X).astype(np.float64)
        lead = _leads(raw, y) / np.sqrt(squared_norms(self.fm, block.X) + 1.0)[:, None]
        W = np.sqrt(np.square(self.model.coef).sum() + np.square(self.model.intercept).sum())
        lead /= max(W, 1e-300) * (1.0 if raw.shape[1] == 1 else np.sqrt(2.0))
        sums = [np.minimum(1.0, special.ndtr(-s * lead).sum(axis=1)).sum() for s in SCALES]
        wrong = np.sum(lead.min(axis=1) <= 0)
        return state + np.array([len(y), wrong, *sums])

    def merge(self, a: Array, b: Array) -> Array:
        return a + b

    def finalise(self, state: Array) -> Array:
        return state


def _leads(raw: Array, y: Array) -> Array:
    """By how much the true class leads each other one, n x (C - 1)."""
    if raw.shape[1] == 1:
        return np.where(y == 1, 1.0, -1.0)[:, None] * raw
    lead = raw[np.arange(len(y)), y][:, None] - raw
    others = np.arange(raw.shape[1]) != y[:, None]
    return lead[others].reshape(len(y), -1)


def of_head(
    rows: RowSource, fm: FeatureMap, model: LinearModel, broken: list[str], *, learned: bool
) -> dict[str, Certificate]:
    """The PAC-Bayes bound of the linear head, on the rows that it was fitted on."""
    n, errors, *sums = rows.reduce(GibbsSum(fm, model))
    reasons = [*broken, *([MAP] if learned else [])]
    found = from_gibbs(np.array(sums), int(errors), int(n), DELTA, broken=tuple(reasons))
    return {"head": found}
