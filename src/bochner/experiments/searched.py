"""One search for many features, and heads on its first ones: any smaller number comes free.

A search is run twice: on three quarters of the training rows, where penalties are judged on the
other quarter for each number of features, and then on all training rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ..estimators.features import LearnedFeatures
from ..feature_map import FeatureMap
from .describe import Outcome
from .heads import Penalised, Rows, features, predict
from .methods import loss
from .splits import Split, held_out


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found on part of the training rows, and on all of them."""

    inner: Split
    part: FeatureMap
    whole: Any
    seconds: float


@dataclass(frozen=True, eq=False)
class First:
    """The first ``n_components`` features of a search for more, and a head on them.

    Parameters
    ----------
    name : str
    family, learner
        As of `LearnedFeatures`; the learner finds features one after another.
    n_components : int
        Features of this method.
    of : str, optional
        The name of the earlier method that has more of them; None runs the search for them.
    head : Penalised
    """

    name: str
    family: Any
    learner: Any
    n_components: int
    of: str | None = None
    head: Penalised = field(default_factory=Penalised)

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        search: Search = self._searched(split, seed) if self.of is None else earlier[self.of].keep
        start = time.perf_counter()
        penalty, error = self._choose(search, split.task)
        choice = time.perf_counter() - start
        start = time.perf_counter()
        fm = self._first(search.whole.feature_map_)
        rows = Rows.of(fm, split.X, split.y, split.task)
        model = self.head.fit(rows, [penalty])[0]
        seconds = {"head": time.perf_counter() - start, "choice": choice}
        if self.of is None:
            seconds = {"features": search.seconds, **seconds}

        def answer(X: Any) -> Any:
            Z, left = features(fm, X)
            return predict(model, rows.classes, left, Z)

        stats = {"penalty": penalty, "held-out error": error}
        return Outcome(answer, fm.n_features, seconds, stats, keep=search)

    def _searched(self, split: Split, seed: int) -> Search:
        base = LearnedFeatures(
            self.family,
            self.learner,
            n_components=self.n_components,
            task=split.task,
            random_state=seed,
        )
        inner = held_out(split, seed)
        part = clone(base).fit(inner.X, inner.y).feature_map_
        start = time.perf_counter()
        whole = base.fit(split.X, split.y)
        return Search(inner, part, whole, time.perf_counter() - start)

    def _first(self, fm: FeatureMap) -> FeatureMap:
        return fm.truncate(min(self.n_components, fm.n_features))

    def _choose(self, search: Search, task: str) -> tuple[float, float]:
        """The penalty of the least held-out error; the stronger one of equals."""
        inner, fm = search.inner, self._first(search.part)
        rows = Rows.of(fm, inner.X, inner.y, task)
        Z, left = features(fm, inner.X_test)
        penalties = self.head.descending
        errors = [
            loss(inner.y_test, predict(model, rows.classes, left, Z), task)
            for model in self.head.fit(rows, penalties)
        ]
        return penalties[int(np.argmin(errors))], min(errors)
