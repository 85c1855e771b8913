"""Weights on the simplex, optimised jointly with the SVM: MKSVM.

    minimise over eta in the simplex   J(eta) = max over 0 <= alpha <= C, alpha'y = 0 of
        1'alpha - 1/2 sum_m eta_m S_m(alpha),     S_m(alpha) = (alpha * y)' K_m (alpha * y)

J is convex. Every alpha that is feasible gives the cut  J(eta) >= 1'alpha - 1/2 sum_m eta_m S_m,
whatever solver it comes from; the least point of all cuts so far is a lower bound of the optimum
(Sonnenburg et al. 2006). Every eta gives an upper bound: the SVM's primal objective for sum_m
eta_m K_m. The gap is their difference, so it bounds the error without trusting the inner solver.
Steps are those of a level method (Xu et al. 2009): the nearest weights to the last ones at which
no cut is above a level between the bounds. It does not zigzag as plain cutting planes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC

from ...ops import FloatArray

LEVEL = 0.3


@dataclass(frozen=True, eq=False)
class Joint:
    """Weights, bounds of the optimum, and the dual variables (times the labels) of the best SVM."""

    weights: FloatArray
    upper: float
    lower: float
    n_svm: int
    status: str
    dual: FloatArray
    intercept: float

    @property
    def gap(self) -> float:
        """How far J(weights) is above the optimum, at most, relative to it."""
        return (self.upper - self.lower) / max(abs(self.upper), 1e-300)


def joint_weights(
    grams: Sequence[FloatArray], y: FloatArray, C: float, gap: float = 1e-2, max_svm: int = 60
) -> Joint:
    """Weights whose objective is within ``gap`` of the optimum, relatively; y in {-1, 1}."""
    M = len(grams)
    eta, best = np.full(M, 1.0 / M), None
    constants: list[float] = []  # 1'alpha_t
    slopes: list[FloatArray] = []  # S(alpha_t) / 2
    for n_svm in range(1, max_svm + 1):
        alpha_y, intercept = _svm(grams, eta, y, C)
        parts = np.array([_quadratic(K, alpha_y) for K in grams])
        constants.append(float(np.abs(alpha_y).sum()))
        slopes.append(0.5 * parts)
        value, intercept = _primal(grams, eta, y, C, alpha_y, parts, intercept)
        lower, _ = _least(constants, slopes)
        if best is None or value < best.upper:
            best = Joint(eta, value, lower, n_svm, "max_iter", alpha_y, intercept)
        best = _with_lower(best, lower, n_svm, gap)
        if best.status == "optimal":
            break
        eta = _step(eta, constants, slopes, lower + LEVEL * (best.upper - lower))
    assert best is not None
    return best


def _with_lower(best: Joint, lower: float, n_svm: int, gap: float) -> Joint:
    made = Joint(best.weights, best.upper, lower, n_svm, best.status, best.dual, best.intercept)
    if made.gap > gap:
        return made
    return Joint(best.weights, best.upper, lower, n_svm, "optimal", best.dual, best.intercept)


def _svm(
    grams: Sequence[FloatArray], eta: FloatArray, y: FloatArray, C: float
) -> tuple[FloatArray, float]:
    """alpha * y and the intercept of the SVM for sum_m eta_m K_m."""
    K = np.zeros(grams[0].shape)
    for weight, part in zip(eta, grams, strict=True):
        if weight > 0:
            K += weight * part
    svm = SVC(C=C, kernel="precomputed", tol=1e-4, cache_size=500).fit(K, y)
    alpha_y = np.zeros(len(y))
    alpha_y[svm.support_] = svm.dual_coef_[0]
    return alpha_y, float(svm.intercept_[0])


def _quadratic(K: FloatArray, v: FloatArray) -> float:
    at = np.flatnonzero(v)
    return float(v[at] @ (K[np.ix_(at, at)] @ v[at]))


def _primal(
    grams: Sequence[FloatArray],
    eta: FloatArray,
    y: FloatArray,
    C: float,
    alpha_y: FloatArray,
    parts: FloatArray,
    intercept: float,
) -> tuple[float, float]:
    """1/2 |w|^2 + C sum of hinge losses, at the best intercept for these weights."""
    at = np.flatnonzero(alpha_y)
    f = sum(w * (K[:, at] @ alpha_y[at]) for w, K in zip(eta, grams, strict=True) if w > 0)
    breaks = np.append(y - f, intercept)  # the sum of hinges is convex, with a kink at each
    b = _best_intercept(np.asarray(f), y, breaks)
    hinge = np.maximum(0.0, 1.0 - y * (f + b)).sum()
    return float(0.5 * eta @ parts + C * hinge), b


def _best_intercept(f: FloatArray, y: FloatArray, breaks: FloatArray) -> float:
    """The kink where the slope of sum_i max(0, 1 - y_i (f_i + b)) in b changes its sign.

    Going up in b, a row of class 1 leaves its hinge at its kink and one of class -1 enters: the
    slope grows by one at each, from minus the number of rows of class 1.
    """
    kinks = np.sort(breaks[:-1])
    return float(kinks[min(int(np.sum(y > 0)), len(kinks)) - 1])


def _least(constants: Sequence[float], slopes: Sequence[FloatArray]) -> tuple[float, FloatArray]:
    """min over the simplex of max_t (constant_t - slope_t . eta): a linear programme."""
    M = len(slopes[0])
    cost = np.append(np.zeros(M), 1.0)
    A = np.hstack([-np.array(slopes), -np.ones((len(slopes), 1))])
    found = linprog(
        cost,
        A,
        -np.array(constants),
        np.append(np.ones(M), 0.0)[None],
        [1.0],
        [(0.0, 1.0)] * M + [(None, None)],
        method="highs",
    )
    return float(found.fun), np.asarray(found.x[:M])


def _step(
    eta: FloatArray, constants: Sequence[float], slopes: Sequence[FloatArray], level: float
) -> FloatArray:
    """The point of the simplex nearest to eta at which no cut is above the level."""
    c, S = np.array(constants), np.array(slopes)
    scale = max(float(np.abs(c).max()), 1e-300)
    constraints: list[dict[str, Any]] = [
        {"type": "eq", "fun": lambda e: e.sum() - 1.0, "jac": lambda e: np.ones_like(e)},
        {"type": "ineq", "fun": lambda e: (level - c + S @ e) / scale, "jac": lambda e: S / scale},
    ]
    _, start = _least(constants, slopes)
    found = minimize(
        lambda e: 0.5 * ((e - eta) ** 2).sum(),
        start,
        jac=lambda e: e - eta,
        bounds=[(0.0, 1.0)] * len(eta),
        constraints=constraints,
        method="SLSQP",
    )
    point = np.maximum(found.x if found.success else start, 0.0)
    return np.asarray(point / point.sum())
