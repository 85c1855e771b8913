"""The two kinds of method that most experiments need: features with a head, and any estimator.

Both choose from their grids on a quarter of the training rows, held out for that, and then fit all
training rows with what they chose; test rows are never looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from ..estimators.features import LearnedFeatures
from .describe import Outcome, SizeOf
from .heads import Penalised, Rows, features, predict
from .splits import Split, held_out

Count = int | str | SizeOf
#: Between the seeds of two cuts.
CUT = 1000


@dataclass(frozen=True, eq=False)
class Features:
    """Features of a family, chosen by a learner, and a linear head on them.

    Parameters
    ----------
    name : str
    family, learner
        As of `LearnedFeatures`.
    n_candidates, n_components : int, "auto" or SizeOf
        "all" as n_components is n_candidates: estimator (6) keeps the whole support.
    head : Penalised
    grid : mapping
        More settings to choose on held-out rows, such as ``{"family__bandwidth": (1.0, 2.0)}``.
    choice_rows : int, default=None
        Choose on a random part of the training rows with so many at most.
    cuts : int, default=1
        Choose by the mean error over so many cuts of the training rows: few rows need more.
    """

    name: str
    family: Any = "gaussian"
    learner: Any = "uniform"
    n_candidates: Count = "auto"
    n_components: Count = "auto"
    head: Penalised = field(default_factory=Penalised)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    choice_rows: int | None = None
    cuts: int = 1

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        base = self._estimator(split, seed, earlier)
        start = time.perf_counter()
        settings, penalty, errors = self._choose(base, split, seed)
        choice = time.perf_counter() - start
        start = time.perf_counter()
        estimator = clone(base).set_params(**settings).fit(split.X, split.y)
        learned = time.perf_counter() - start
        fm = estimator.feature_map_
        start = time.perf_counter()
        rows = Rows.of(fm, split.X, split.y, split.task)
        model = self.head.fit(rows, [penalty])[0]
        seconds = {"features": learned, "head": time.perf_counter() - start, "choice": choice}
        stats = {"penalty": penalty, **_plain(settings), **_figures(estimator.selection_)}
        stats["held-out error"] = errors

        def answer(X: Any) -> Any:
            Z, left = features(fm, X)
            return predict(model, rows.classes, left, Z)

        return Outcome(answer, fm.n_features, seconds, stats, keep=estimator)

    def _estimator(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Any:
        candidates, components = (
            c.resolve(earlier) if isinstance(c, SizeOf) else c
            for c in (self.n_candidates, self.n_components)
        )
        if isinstance(components, str) and components == "all":
            components = candidates
        return LearnedFeatures(
            self.family, self.learner, candidates, components, task=split.task, random_state=seed
        )

    def _choose(self, base: Any, split: Split, seed: int) -> tuple[dict[str, Any], float, float]:
        """Settings and penalty of the least held-out error; the stronger penalty of equals."""
        penalties = self.head.descending
        grid = list(ParameterGrid(dict(self.grid)))
        if len(grid) == len(penalties) == 1:
            return grid[0], penalties[0], float("nan")
        cuts = [held_out(split, seed + CUT * i, most=self.choice_rows) for i in range(self.cuts)]
        errors = np.mean([[self._errors(base, s, cut) for s in grid] for cut in cuts], axis=0)
        at, strongest = np.unravel_index(int(np.argmin(errors)), errors.shape)
        return grid[at], penalties[strongest], float(errors[at, strongest])

    def _errors(self, base: Any, settings: Mapping[str, Any], inner: Split) -> list[float]:
        """The error on held-out rows at each penalty, strongest first."""
        fm = clone(base).set_params(**settings).fit(inner.X, inner.y).feature_map_
        rows = Rows.of(fm, inner.X, inner.y, inner.task)
        Z, left = features(fm, inner.X_test)
        models = self.head.fit(rows, self.head.descending)
        answers = (predict(model, rows.classes, left, Z) for model in models)
        return [loss(inner.y_test, answer, inner.task) for answer in answers]


@dataclass(frozen=True, eq=False)
class Model:
    """Any estimator with fit and predict, scikit-learn's or ours.

    ``make(seed)`` gives it; ``grid`` are settings to choose on held-out rows; ``size`` reads the
    feature count off the fitted estimator.
    """

    name: str
    make: Callable[[int], Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    size: Callable[[Any], int | None] = lambda model: None
    stats: Callable[[Any], Mapping[str, Any]] = lambda model: {}

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        start = time.perf_counter()
        settings = self._choose(split, seed)
        choice = time.perf_counter() - start
        start = time.perf_counter()
        model = self.make(seed).set_params(**settings).fit(split.X, split.y)
        seconds = {"fit": time.perf_counter() - start, "choice": choice}
        stats = {**_plain(settings), **self.stats(model)}
        return Outcome(model.predict, self.size(model), seconds, stats, keep=model)

    def _choose(self, split: Split, seed: int) -> dict[str, Any]:
        grid = list(ParameterGrid(dict(self.grid)))
        if len(grid) == 1:
            return dict(grid[0])
        inner = held_out(split, seed)
        errors = [
            loss(
                inner.y_test,
                self.make(seed).set_params(**s).fit(inner.X, inner.y).predict(inner.X_test),
                split.task,
            )
            for s in grid
        ]
        return dict(grid[int(np.argmin(errors))])


def sized(method: Features, n_components: Count, name: str | None = None) -> Features:
    """The same method with another number of columns."""
    return replace(method, n_components=n_components, name=name or method.name)


def loss(y: Any, predicted: Any, task: str) -> float:
    """Share of wrong classes, or mean squared error."""
    if task == "classification":
        return float(np.mean(np.asarray(y) != predicted))
    return float(np.mean((np.asarray(y, dtype=np.float64) - predicted) ** 2))


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them."""
    return {k: v if isinstance(v, (int, float, str)) else repr(v) for k, v in settings.items()}


def _figures(selection: Any) -> dict[str, Any]:
    """The numbers among a selection's statistics."""
    kept = {k: v for k, v in selection.stats.items() if isinstance(v, (int, float, str))}
    return {**kept, "status": selection.status}
