"""The methods of table 1 of Letarte et al. 2019: an SVM, and landmarks with a linear head.

The SVM comes first in a trial: the bandwidth it chooses on held-out rows is the prior of all
landmarks after it, as in section 6 of the paper. Then (K, beta) and the penalty of the head are
chosen, on the same held-out rows, from what a method may choose from. Methods that choose alike
share a fit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from ..estimators.landmarks import LandmarkFeatures
from ..families import Gaussian
from ..feature_map import FeatureMap
from ..learners.landmarks import posteriors
from ..ops import FloatArray, Mixed
from .describe import Outcome
from .heads import Penalised, Rows, features, predict
from .methods import loss
from .splits import Split, held_out, part_of

#: Where the kernel is wide its columns are nearly constant, and what tells rows apart is a small
#: part of their squares: penalties go far down. One decomposition serves them all.
HEAD = Penalised("ridge", tuple(10.0**k for k in range(-13, -1)))
#: The paper's, where columns vary.
SVM_HEAD = Penalised("squared_hinge", tuple(10.0**k for k in range(-7, -1)), tol=1e-7)
#: Steps of an SVM that is only to be compared with others.
MOST_STEPS = 100_000


@lru_cache(maxsize=16)
def inners_of(split: Split, seed: int, most: int, times: int) -> tuple[Split, ...]:
    """What all methods of a split choose on: the same objects for each of them.

    A fifth of the (at most ``most``) training rows, held out ``times`` times, where they are few.
    """
    return tuple(held_out(split, seed + 1000 * k, 0.2, most) for k in range(times))


@dataclass(frozen=True)
class KernelSVM:
    """An SVM on the whole Gram matrix; gamma and C by held-out rows.

    most: rows it is fitted on at most; choice_rows, choices: see `inners_of`.
    """

    name: str
    gammas: tuple[float, ...]
    Cs: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    most: int = 10_000
    choice_rows: int = 3000
    choices: int = 1

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        return _kernel_svm(self, split, seed)

    def choose(self, split: Split, seed: int) -> tuple[float, float, float]:
        """Held-out error, gamma, C: of equals the widest kernel, then the smallest C."""
        inners = inners_of(split, seed, self.choice_rows, self.choices)
        errors = np.mean([self._errors(inner) for inner in inners], axis=0)
        i, j = np.unravel_index(np.argmin(errors), errors.shape)
        return float(errors[i, j]), sorted(self.gammas)[i], self.Cs[j]

    def _errors(self, inner: Split) -> FloatArray:
        """By gamma and C."""
        near = euclidean_distances(inner.X, squared=True)
        far = euclidean_distances(inner.X_test, inner.X, squared=True)
        found = []
        for gamma in sorted(self.gammas):
            K, K_test = np.exp(-gamma * near), np.exp(-gamma * far)
            for C in self.Cs:
                model = SVC(C=C, kernel="precomputed", max_iter=MOST_STEPS)
                with warnings.catch_warnings():  # one that has not converged is judged as it is
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(K, inner.y)
                found.append(loss(inner.y_test, model.predict(K_test), inner.task))
        return np.array(found).reshape(len(self.gammas), len(self.Cs))


@lru_cache(maxsize=16)
def _kernel_svm(method: KernelSVM, split: Split, seed: int) -> Outcome:
    """Once a split, however many trials have it."""
    start = time.perf_counter()
    error, gamma, C = method.choose(split, seed)
    choice = time.perf_counter() - start
    start = time.perf_counter()
    rows = split if len(split.y) <= method.most else part_of(split, method.most, seed)
    model = SVC(C=C, gamma=gamma, cache_size=1000).fit(rows.X, rows.y)
    seconds = {"fit": time.perf_counter() - start, "choice": choice}
    stats = {"gamma": gamma, "C": C, "held-out error": error, "rows": len(rows.y)}
    return Outcome(model.predict, len(model.support_), seconds, stats)


@dataclass(frozen=True)
class Similarities:
    """How landmark features are made; K None stands for the kernel itself, nothing learned."""

    share: float
    kind: str
    K: int | None
    beta: float
    gamma: float
    sampling: str = "iid"

    def fit(self, split: Split, seed: int) -> LandmarkFeatures:
        """The same landmarks for the same seed, whatever K and beta."""
        learned = self._made(self.kind, self.K or 1, True, seed).fit(split.X, split.y)
        if self.K is not None:
            return learned
        return self._made(learned.landmarks_, 1, False, seed).fit(split.X)

    def features(self, split: Split, seed: int) -> FeatureMap:
        """Those of a fit, which is the same for every beta but for the weights (12)."""
        made = _similarities(replace(self, beta=1.0), split, seed)
        fm, stats = made.feature_map_, made.selection_.stats
        if self.K is None:
            return fm
        mixed = fm.projection
        assert isinstance(mixed, Mixed)
        Q = posteriors(stats["losses"], stats["n"], self.beta)
        return FeatureMap(fm.family, Mixed(mixed.base, Q), fm.weights)

    def _made(self, landmarks: Any, K: int, learn: bool, seed: int) -> LandmarkFeatures:
        family = Gaussian(float(1.0 / np.sqrt(2.0 * self.gamma)), sampling=self.sampling)
        return LandmarkFeatures(
            self.share, landmarks, K, self.beta, learn, family=family, random_state=seed
        )


@lru_cache(maxsize=2)
def _similarities(spec: Similarities, split: Split, seed: int) -> LandmarkFeatures:
    return spec.fit(split, seed)


@dataclass(frozen=True)
class LandmarkModel:
    """Landmark features and a linear head.

    Ks, betas: what may be chosen from; Ks empty is the kernel itself ("RBF" in the paper);
    prior: the `KernelSVM` before it whose gamma is the prior, unless there are ``gammas`` to choose
    from; choice_rows, choices: see `inners_of`.
    """

    name: str
    Ks: tuple[int, ...] = ()
    betas: tuple[float, ...] = (1.0,)
    share: float = 0.1
    kind: str = "kmeans"
    prior: str = "SVM"
    sampling: str = "iid"
    head: Penalised = HEAD
    choice_rows: int = 3000
    choices: int = 1
    gammas: tuple[float, ...] = ()

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        gammas = self.gammas or (float(earlier[self.prior].stats["gamma"]),)
        start = time.perf_counter()
        error, spec, penalty = self._choose(split, seed, gammas)
        choice = time.perf_counter() - start
        fitted = _fitted(split, seed, spec, penalty, self.head)
        stats = {"K": spec.K, "beta": spec.beta, "gamma": spec.gamma, "penalty": penalty}
        seconds = {**fitted.seconds, "choice": choice}
        stats = {**stats, **fitted.stats, "held-out error": error}
        return Outcome(fitted.predict, fitted.n_features, seconds, stats, keep=fitted.keep)

    def _choose(
        self, split: Split, seed: int, gammas: tuple[float, ...]
    ) -> tuple[float, Similarities, float]:
        """Of equal errors the first in the order of the grid, then the stronger penalty."""
        inners = inners_of(split, seed, self.choice_rows, self.choices)
        found = []
        for gamma, K, beta in product(gammas, self.Ks or (None,), self.betas):
            spec = Similarities(self.share, self.kind, K, beta, gamma, self.sampling)
            errors = np.mean([_judged(inner, seed, spec, self.head) for inner in inners], axis=0)
            best = int(np.argmin(errors))
            found.append((float(errors[best]), spec, self.head.descending[best]))
        return min(found, key=lambda one: one[0])


@lru_cache(maxsize=1024)
def _judged(inner: Split, seed: int, spec: Similarities, head: Penalised) -> tuple[float, ...]:
    """Held-out errors by penalty, the strongest first."""
    fm = spec.features(inner, seed)
    rows = Rows.of(fm, inner.X, inner.y, inner.task)
    Z, left = features(fm, inner.X_test)
    return tuple(
        loss(inner.y_test, predict(model, rows.classes, left, Z), inner.task)
        for model in head.fit(rows, head.descending)
    )


@lru_cache(maxsize=3)
def _fitted(
    split: Split, seed: int, spec: Similarities, penalty: float, head: Penalised
) -> Outcome:
    """Features and head on all training rows."""
    start = time.perf_counter()
    fm = spec.features(split, seed)
    learned = time.perf_counter() - start
    start = time.perf_counter()
    rows = Rows.of(fm, split.X, split.y, split.task)
    model = head.fit(rows, [penalty])[0]
    seconds = {"features": learned, "head": time.perf_counter() - start}
    seen = predict(model, rows.classes, rows.fm, rows.Z)
    stats = {"train error": loss(split.y, seen, split.task)}

    def answer(X: Any) -> Any:
        Z, left = features(fm, X)
        return predict(model, rows.classes, left, Z)

    return Outcome(answer, fm.n_features, seconds, stats, keep=(fm, model))
