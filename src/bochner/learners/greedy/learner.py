"""`Greedy`: columns one after the other, each the best next to those already there."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...families.base import check_option
from ...feature_map import FeatureMap
from ...linear.losses import BinaryLogistic, Loss, Multinomial, Squared
from ...rows import RowSource
from ..base import Learner, Needs, Request, Selection
from ..held_out import OnlyHeld
from .candidates import Candidates
from .losses import LOSSES, PENALTIES, Penalty, as_loss, name_of, with_targets
from .path import GreedyPath, Model, judged
from .scored import scored
from .smooth import Descent
from .squared import Pursuit, check_memory

#: alpha="auto" of a logistic loss: classes that a hyperplane separates have no optimum without.
AUTO_ALPHA = 1e-4


class Greedy(Learner):
    """Columns chosen one after the other (MFGA, Shahrampour & Tarokh 2018, algorithm 1).

    At each step the candidates most correlated with the gradient of the risk join, and all
    coefficients are fitted again. With the squared loss this is orthogonal matching pursuit, with
    several features a step generalised OMP.

    Parameters
    ----------
    per_step : int, default=1
        Features a step; one is the exact method.
    loss : {"auto", "squared", "logistic", "multinomial", "huber"}, default="auto"
        "auto" is "squared" for amounts, "logistic" for classes (softmax for more than two).
        "huber" bends at 1.345 robust standard deviations of the target.
    normalise : bool, default=True
        Judge columns by their correlation, whatever their scale; False is the gradient as it is,
        where columns of a larger scale (a family of larger weight in a `Union`) come first.
    alpha : float or "auto", default="auto"
        Penalty: the mean loss plus alpha sum_m p(theta_m), in units where columns have deviation 1
        (those of the family with ``normalise=False``). "auto" is 1e-4 for classes by logistic
        loss, else 0.
    penalty : {"l2", "log_cosh"}, default="l2"
        p(t) = t^2 / 2, or log cosh t, which is as |t| away from zero (Remark 2).
    risk : float or None, default=None
        Stop where the mean training loss is at most this.
    validation : bool, default=False
        Hold rows out (``cv=``, ``groups=`` of the estimator) and record the risk on them for every
        size. ``n_components="auto"`` does so by itself, and keeps the smallest size whose held-out
        risk is within one standard error of the least. With ``scoring=`` of the estimator the risk
        is minus the score, of at most 10,000 held-out rows.
    fit_intercept : bool, default=True
        A free intercept, never penalised.

    Notes
    -----
    Columns of the feature map are in the order of selection, so ``truncate(M)`` is the map of the
    fit that stops at M; ``selection_.path`` (`GreedyPath`) has the model of every size.
    ``selection_.scores`` are the correlations at the start; ``stats`` has "columns" (the candidate
    behind each column), "passes" over the candidates, "loss" and "risk". ``status`` says why it
    ended: "count", "risk", "held_out", "exact" (nothing is left to explain), "rank" (all other
    candidates are constant, combinations of those chosen, or uncorrelated with what is left) or
    "stopped".

    Ties go to the candidate that comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import LearnedFeatures
    >>> from bochner.learners import Greedy
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> y = 3.0 * X[:, 4] - X[:, 11]
    >>> LearnedFeatures("linear", Greedy(), n_components=2).fit(X, y).get_feature_names_out()
    array(['x4', 'x11'], dtype=object)
    """

    needs: ClassVar[Needs] = Needs(passes=None, targets=True)
    candidates_per_component: ClassVar[int] = 20
    takes_candidates: ClassVar[bool] = True

    def __init__(
        self,
        per_step: int = 1,
        loss: str = "auto",
        normalise: bool = True,
        alpha: Any = "auto",
        *,
        penalty: str = "l2",
        risk: float | None = None,
        validation: bool = False,
        fit_intercept: bool = True,
    ) -> None:
        self.per_step = per_step
        self.loss = loss
        self.normalise = normalise
        self.alpha = alpha
        self.penalty = penalty
        self.risk = risk
        self.validation = validation
        self.fit_intercept = fit_intercept

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        self._check()
        run = _Run.begin(self, source, request)
        path, status = run.whole()
        if path.held_out is not None and request.auto_components:
            path, status = path.head(path.chosen()), "held_out"
        if status == "rank" and not request.auto_components:
            _warn_of_rank(int(path.sizes[-1]), request.n_components)
        return run.result(path, status)

    def _check(self) -> None:
        check_option("Greedy", "loss", self.loss, LOSSES)
        check_option("Greedy", "penalty", self.penalty, PENALTIES)
        per_step: Any = self.per_step
        whole = isinstance(per_step, numbers.Integral) and not isinstance(per_step, bool)
        _require("per_step", per_step, whole and per_step >= 1, "a whole number from 1")
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            what = 'a finite number, not negative, or "auto"'
            _require("alpha", self.alpha, 0.0 <= _number(self.alpha) < np.inf, what)
        if self.risk is not None:
            _require("risk", self.risk, _number(self.risk) >= 0.0, "a number from 0, or None")
        for name in ("normalise", "validation", "fit_intercept"):
            value = getattr(self, name)
            _require(name, value, isinstance(value, bool | np.bool_), "True or False")


@dataclass(frozen=True, eq=False)
class _Run:
    """One fit: the rows, those to learn from apart from those to judge by, and the engine."""

    learner: Greedy
    source: RowSource
    request: Request
    fm: FeatureMap
    candidates: Candidates
    loss: Loss
    engine: Pursuit | Descent

    @classmethod
    def begin(cls, learner: Greedy, source: RowSource, request: Request) -> _Run:
        """Draw candidates, and take the figures that all steps need."""
        name = name_of(learner.loss, request.task)
        fm = request.candidates_for(source.n_features)
        source = with_targets(source, name, request.task)
        learned = source
        if learner.validation or request.auto_components:
            learned = OnlyHeld(request.held_out, False).of(source)
        loss = as_loss(name, learned, request)
        hook = request.hook.at("candidates")
        centred = bool(learner.fit_intercept)
        alpha = AUTO_ALPHA * (name == "logistic") if learner.alpha == "auto" else learner.alpha
        pursues = isinstance(loss, Squared) and (learner.penalty == "l2" or alpha == 0)
        if pursues and not request.auto_components:
            check_memory(fm.n_features, request.n_components)
        candidates = Candidates(learned, fm, bool(learner.normalise), centred, hook)
        _refuse_constant(candidates)
        engine: Pursuit | Descent
        if pursues:
            engine = Pursuit(candidates, float(alpha))
        else:
            penalty = Penalty(float(alpha), learner.penalty)
            engine = Descent(candidates, loss, penalty, request.n_components)
        return cls(learner, source, request, fm, candidates, loss, engine)

    @property
    def judges(self) -> bool:
        return self.learner.validation or self.request.auto_components

    def whole(self) -> tuple[GreedyPath, str]:
        """The path, and why it ended."""
        hook = self.request.hook.at("greedy")
        M, models, status = self.request.n_components, [], "count"
        for size, model in self._models():
            models += model
            if self.learner.risk is not None and models[-1].risk <= self.learner.risk:
                models, status = _down_to(models, self.learner.risk), "risk"
                break
            if hook.step(size, M, risk=models[-1].risk):
                status = "stopped"
                break
            if self.request.auto_components and self._is_enough(models, size):
                break
        else:
            status = self.engine.status
        if not models:
            _refuse_silent(self.candidates.n)
        path = GreedyPath.of(models)
        return (self._judged(path) if self.judges else path), status

    def _models(self) -> Iterator[tuple[int, list[Model]]]:
        steps = self.engine.steps(int(self.learner.per_step), self.request.n_components)
        return ((len(self.engine.S), models) for models in steps)

    def _is_enough(self, models: list[Model], size: int) -> bool:
        """At sizes that double: is the best held-out risk well behind?"""
        if size < 16 or size & (size - 1):
            return False
        path = self._judged(GreedyPath.of(models))
        assert path.held_out is not None
        return 2 * int(path.sizes[np.argmin(path.held_out)]) <= size

    def _judged(self, path: GreedyPath) -> GreedyPath:
        """The path with its risks on held-out rows."""
        held = OnlyHeld(self.request.held_out, True).of(self.source)
        S = np.array(self.engine.S[: int(path.sizes[-1])], dtype=np.intp)
        fm = self.fm.take(S)
        units = FeatureMap(fm.family, fm.projection, fm.weights * self.candidates.v[S])
        scoring, hook = self.request.scoring, self.request.hook
        if scoring is None:
            return judged(path, held, units, self.loss, hook)
        logistic = isinstance(self.loss, BinaryLogistic | Multinomial)
        return scored(path, held, units, scoring, hook, logistic=logistic)

    def result(self, path: GreedyPath, status: str) -> tuple[FeatureMap, Selection]:
        """The map of the columns of the largest model, with weights v_m / sqrt(M)."""
        M = int(path.sizes[-1])
        S = np.array(self.engine.S[:M], dtype=np.intp)
        fm, root = self.fm.take(S), float(np.sqrt(M))
        taken = FeatureMap(fm.family, fm.projection, fm.weights * self.candidates.v[S] / root)
        weights = np.zeros(self.fm.n_features)
        weights[S] = 1.0 / M
        stats = {
            "columns": S,
            "passes": self.candidates.passes,
            "loss": type(self.loss).__name__,
            "risk": float(path.risks[-1]),
        }
        found = Selection(status, self.engine.first, weights, np.sort(S), stats, path.scaled(root))
        return taken, found


def _down_to(models: list[Model], risk: float) -> list[Model]:
    """The models up to the first that is good enough."""
    first = next(i for i, model in enumerate(models) if model.risk <= risk)
    return models[: first + 1]


def _refuse_constant(candidates: Candidates) -> None:
    if not candidates.varies.any():
        what = "is constant (to rounding)" if candidates.centred else "is zero"
        raise ValueError(
            f"Greedy: each of the {candidates.n} candidates {what} over the rows, so there is "
            "nothing to choose from. Check the columns of X (standardise those that vary little "
            "beside their mean) and the bandwidth."
        )


def _refuse_silent(n: int) -> None:
    raise ValueError(
        f"Greedy: none of the {n} candidates says anything of the targets on the rows it learns "
        "from. Are they all the same there (one class, or one amount; rows of weight zero and "
        "those that cv= holds out do not count)? Else draw other candidates."
    )


def _warn_of_rank(size: int, M: int) -> None:
    warnings.warn(
        f"Greedy: n_components={M} is more than the rank of the candidates on these rows: all but "
        f"the {size} chosen are constant or combinations of them (or say nothing of what is left "
        f"to explain). The map has {size} columns; ask for no more, or draw more candidates.",
        UserWarning,
        stacklevel=4,
    )


def _number(value: Any) -> float:
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if ok else float("nan")


def _require(name: str, value: Any, ok: Any, what: str) -> None:
    if not ok:
        raise ValueError(f"Greedy({name}={value!r}): give {what}.")
