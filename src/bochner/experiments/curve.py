"""Error against the number of features M from one map: learned at the largest M, cut for others.

Columns of `Greedy`, `Energy` and `Alignment` with ``use="top"`` are in the order they were chosen
in, and those of `Uniform` are independent draws: the first M columns are the map of size M. So
features are learned twice a split, on all training rows and on those that penalties are fitted on,
and every size has a head of its own, with a penalty chosen on the rows held out.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..estimators.features import LearnedFeatures
from ..families import as_family
from ..feature_map import FeatureMap
from .describe import Outcome
from .heads import Penalised, Rows, features, predict
from .methods import loss
from .result import Line
from .splits import Split, held_out

BETWEEN = ", M = "


def curve(
    name: str,
    family: Any,
    learner: Any,
    n_candidates: int | str,
    sizes: Sequence[int],
    head: Penalised,
) -> list[AtSize]:
    """A method for each size, the largest first: the others cut what it learned."""
    largest = max(sizes)
    return [
        AtSize(f"{name}{BETWEEN}{size}", name, size, largest, family, learner, n_candidates, head)
        for size in sorted(sizes, reverse=True)
    ]


def of_curve(line: Line) -> str:
    """The name that lines of one curve share."""
    return line.method.split(BETWEEN)[0]


@dataclass(frozen=True, eq=False)
class Learned:
    """A map of the largest size, learned on all training rows and on ``inner`` alone."""

    whole: FeatureMap
    part: FeatureMap
    inner: Split
    seconds: Mapping[str, float]
    estimator: Any = None


@dataclass(frozen=True, eq=False)
class AtSize:
    """One point of a curve; ``n_candidates="all"`` takes all that a finite family has."""

    name: str
    kind: str
    size: int
    largest: int
    family: Any
    learner: Any = "uniform"
    n_candidates: int | str = "auto"
    head: Penalised = field(default_factory=Penalised)

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        before = earlier.get(f"{self.kind}{BETWEEN}{self.largest}")
        learned: Learned = self._learn(split, seed) if before is None else before.keep
        start = time.perf_counter()
        penalty, error = self._choose(learned, split.task)
        choice = time.perf_counter() - start
        fm = _cut(learned.whole, self.size)
        start = time.perf_counter()
        rows = Rows.of(fm, split.X, split.y, split.task)
        model = self.head.fit(rows, [penalty])[0]
        seconds = {**learned.seconds, "head": time.perf_counter() - start}
        seconds["choice"] = choice + (learned.seconds["choice"] if before is None else 0.0)
        stats = {"penalty": penalty, "held-out error": error, "columns": _kinds(fm)}

        def answer(X: Any) -> Any:
            Z, left = features(fm, X)
            return predict(model, rows.classes, left, Z)

        return Outcome(answer, fm.n_features, seconds, stats, keep=learned)

    def _learn(self, split: Split, seed: int) -> Learned:
        inner = held_out(split, seed)
        with warnings.catch_warnings():  # more columns than the rank: the table says how many
            warnings.filterwarnings("ignore", "Greedy: n_components", UserWarning)
            start = time.perf_counter()
            part = self._estimator(split, seed).fit(inner.X, inner.y).feature_map_
            choice = time.perf_counter() - start
            start = time.perf_counter()
            estimator = self._estimator(split, seed).fit(split.X, split.y)
        seconds = {"features": time.perf_counter() - start, "choice": choice}
        return Learned(estimator.feature_map_, part, inner, seconds, estimator)

    def _estimator(self, split: Split, seed: int) -> LearnedFeatures:
        candidates: Any = self.n_candidates
        if candidates == "all":
            candidates = as_family(self.family).n_available(split.X.shape[1])
        most = self.largest if not isinstance(candidates, int) else min(self.largest, candidates)
        return LearnedFeatures(
            self.family, self.learner, candidates, most, task=split.task, random_state=seed
        )

    def _choose(self, learned: Learned, task: str) -> tuple[float, float]:
        """The penalty of the least held-out error, the stronger of equals."""
        inner, fm = learned.inner, _cut(learned.part, self.size)
        rows = Rows.of(fm, inner.X, inner.y, task)
        Z, left = features(fm, inner.X_test)
        penalties = self.head.descending
        errors = [
            loss(inner.y_test, predict(model, rows.classes, left, Z), task)
            for model in self.head.fit(rows, penalties)
        ]
        best = min(range(len(errors)), key=errors.__getitem__)
        return penalties[best], errors[best]


def _cut(fm: FeatureMap, size: int) -> FeatureMap:
    return fm.truncate(min(size, fm.n_features))


def _kinds(fm: FeatureMap) -> str:
    """How many columns there are of each dictionary of a union: "linear 60, taylor 40"."""
    found = Counter(name.split(":")[0] for name in fm.names if ":" in name)
    return ", ".join(f"{kind} {count}" for kind, count in sorted(found.items()))
