"""Problem (7) of Sinha & Duchi 2016: random kitchen sinks as first proposed, |alpha|_inf <= C / D.

    minimise sum_i log(1 + exp(-y_i (sum_m alpha_m phi_m(x_i) + b)))   over |alpha_m| <= C / D

for two classes, by projected quasi-Newton steps; b is free. The features are not scaled by
1 / sqrt(D) here, as the constraint is about them as drawn (Rahimi & Recht 2009).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from ..estimators.features import LearnedFeatures
from ..linear import sigmoid
from ..ops import FloatArray
from .describe import Outcome, SizeOf
from .methods import loss
from .splits import Split, held_out


@dataclass(frozen=True)
class Bounded:
    """Random features, and the logistic loss under problem (7)'s constraint."""

    name: str
    family: Any
    n_components: int | SizeOf
    Cs: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        size = self.n_components
        D = size.resolve(earlier) if isinstance(size, SizeOf) else size
        base = LearnedFeatures(self.family, n_components=D, random_state=seed)
        start = time.perf_counter()
        C = self._choose(base, split, seed)
        choice = time.perf_counter() - start
        start = time.perf_counter()
        features = clone(base).fit(split.X)
        learned = time.perf_counter() - start
        start = time.perf_counter()
        predict = _fitted(features, split, C)
        seconds = {"features": learned, "head": time.perf_counter() - start, "choice": choice}
        return Outcome(predict, D, seconds, {"C": C})

    def _choose(self, base: Any, split: Split, seed: int) -> float:
        inner = held_out(split, seed)
        features = clone(base).fit(inner.X)
        errors = [
            loss(inner.y_test, _fitted(features, inner, C)(inner.X_test), split.task)
            for C in self.Cs
        ]
        return self.Cs[int(np.argmin(errors))]


def _fitted(features: Any, split: Split, C: float) -> Any:
    classes, index = np.unique(split.y, return_inverse=True)
    fm = features.feature_map_
    fm = replace(fm, weights=np.ones(fm.n_features))
    theta = solve(np.asarray(fm(split.X)), 2.0 * index - 1.0, C)

    def predict(X: Any) -> Any:
        return classes[(fm.map_rows(X, theta[:-1]) + theta[-1] > 0).astype(np.intp)]

    return predict


def solve(Z: FloatArray, y: FloatArray, C: float) -> FloatArray:
    """(alpha, b) of problem (7) for features Z, n x D, and y in {-1, 1}."""
    n, D = Z.shape
    signs = y.astype(Z.dtype)

    def risk(theta: FloatArray) -> tuple[float, FloatArray]:
        margin = y * (Z @ theta[:-1].astype(Z.dtype) + theta[-1])
        pull = (-sigmoid(-margin)).astype(Z.dtype) * signs / n
        gradient = np.append(pull @ Z, pull.sum()).astype(np.float64)
        return float(np.logaddexp(0.0, -margin).mean()), gradient

    box: Sequence[Any] = [(-C / D, C / D)] * D + [(None, None)]
    found = minimize(risk, np.zeros(D + 1), jac=True, bounds=box, method="L-BFGS-B")
    return np.asarray(found.x)
