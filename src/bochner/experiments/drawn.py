"""Frequencies drawn from a learned measure: figure 3 of Letarte et al. 2019.

Of N candidates, D frequencies are drawn with replacement from the prior, from the pseudo-posterior
(19) or from the aligned measure (17, 18), and a linear head is fitted on their 2 D cosines and
sines. Candidates and losses are made once for a split; beta and rho are chosen on held-out rows for
each D, from measures of the same effective sample sizes 1 / sum Q^2.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..families import Gaussian
from ..feature_map import FeatureMap
from ..learners import Selection, alignment, pseudo_posterior
from ..learners.base import Task
from ..learners.kept import kept
from ..learners.label_kernel import Target
from ..learners.pseudo_posterior.passes import loss_sums
from ..ops import FloatArray
from ..rows import Hook, MemorySource
from .describe import Outcome
from .heads import Penalised, Rows, features, predict
from .landmarks import inners_of
from .methods import loss
from .splits import Split

#: How many measures, from nearly the prior to as few frequencies as are drawn, may be chosen from.
MEASURES = 5
HEAD = Penalised("ridge", tuple(10.0**k for k in range(-7, 0)))


@dataclass(frozen=True, eq=False)
class Candidates:
    """N frequencies of the prior, in pair form, and their losses on some rows."""

    fm: FeatureMap
    losses: FloatArray
    n: float

    def measure(self, kind: str, size: float) -> FloatArray:
        """Q of the kind with an effective sample size: beta and rho follow from it."""
        N = len(self.losses)
        if kind == "uniform":
            return np.full(N, 1.0 / N)
        if kind == "posterior":
            path = pseudo_posterior.path(self.losses, self.n, [1.0])
            return path.weights(path.beta_of(size))
        found = alignment.solve(-self.losses, N / size - 1.0, order=2)  # D_2 = N sum Q^2 - 1
        return np.asarray(found.weights)

    def draw(self, Q: FloatArray, D: int, seed: int) -> FeatureMap:
        """D draws with replacement; a frequency drawn c times has the weight c / D."""
        atoms = Selection("drawn", -self.losses, Q, np.flatnonzero(Q))
        found = kept(atoms, D, "sample", np.random.default_rng([seed, D]))
        columns = (2 * found.columns[:, None] + np.arange(2)).ravel()
        taken = self.fm.take(columns)
        return FeatureMap(taken.family, taken.projection, np.repeat(found.weights, 2))


@lru_cache(maxsize=64)
def candidates(split: Split, seed: int, gamma: float, N: int) -> Candidates:
    """The same frequencies for every split of one seed; losses by one pass over its rows."""
    family = Gaussian(float(1.0 / np.sqrt(2.0 * gamma)), form="pair")
    drawn = family.draw(2 * N, split.X.shape[1], np.random.default_rng(seed))
    fm = FeatureMap(family, drawn, np.ones(2 * N))
    classes, y = np.unique(split.y, return_inverse=True)
    target = Target(Task("classification", len(classes)), None, False)
    sums, _ = loss_sums(MemorySource(split.X, y), fm, target, None, Hook(None, 0))
    return Candidates(fm, sums.losses, sums.n)


@dataclass(frozen=True)
class Drawn:
    """A linear head on D frequencies from a measure: "uniform", "posterior" or "aligned"."""

    name: str
    kind: str
    D: int
    N: int = 20_000
    prior: str = "SVM"
    head: Penalised = HEAD
    choice_rows: int = 3000
    choices: int = 1

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        gamma = float(earlier[self.prior].stats["gamma"])
        start = time.perf_counter()
        error, size, penalty = self._choose(split, seed, gamma)
        choice = time.perf_counter() - start
        start = time.perf_counter()
        found = candidates(split, seed, gamma, self.N)
        Q = found.measure(self.kind, size)
        fm = found.draw(Q, self.D, seed)
        learned = time.perf_counter() - start
        start = time.perf_counter()
        rows = Rows.of(fm, split.X, split.y, split.task)
        model = self.head.fit(rows, [penalty])[0]
        seconds = {"features": learned, "head": time.perf_counter() - start, "choice": choice}
        seen = predict(model, rows.classes, rows.fm, rows.Z)
        stats = {"gamma": gamma, "penalty": penalty, "effective": float(1.0 / (Q @ Q))}
        stats |= {"held-out error": error, "train error": loss(split.y, seen, split.task)}

        def answer(X: Any) -> Any:
            Z, left = features(fm, X)
            return predict(model, rows.classes, left, Z)

        return Outcome(answer, 2 * self.D, seconds, stats)

    def _choose(self, split: Split, seed: int, gamma: float) -> tuple[float, float, float]:
        """Held-out error, effective sample size, penalty."""
        inners = inners_of(split, seed, self.choice_rows, self.choices)
        sizes = np.geomspace(0.9 * self.N, max(2.0, self.D), MEASURES)
        found = []
        for size in sizes[:1] if self.kind == "uniform" else sizes:
            errors = np.mean([self._errors(i, seed, gamma, float(size)) for i in inners], axis=0)
            best = int(np.argmin(errors))
            found.append((float(errors[best]), float(size), self.head.descending[best]))
        return min(found, key=lambda one: one[0])

    def _errors(self, inner: Split, seed: int, gamma: float, size: float) -> list[float]:
        """Held-out errors by penalty, the strongest first."""
        made = candidates(inner, seed, gamma, self.N)
        fm = made.draw(made.measure(self.kind, size), self.D, seed)
        rows = Rows.of(fm, inner.X, inner.y, inner.task)
        Z, left = features(fm, inner.X_test)
        return [
            loss(inner.y_test, predict(model, rows.classes, left, Z), inner.task)
            for model in self.head.fit(rows, self.head.descending)
        ]
