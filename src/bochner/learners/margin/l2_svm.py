"""The l2-SVM on columns in memory, from a point nearby: Newton steps on the rows that count.

    minimise over theta, b    |theta|^2 / 2 + 1/2 sum_i w_i [1 - y_i (z_i'theta + b)]_+^2

With A the rows inside their margin, a Newton step solves the weighted ridge regression of y on the
rows A alone (Chapelle 2007): a system of order M, or of order |A| where these are fewer, which they
are once a leader has been followed for a while. Where A does not change, the step ends at the
optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from ...ops import FloatArray

#: Newton steps, and halvings of one, at most.
STEPS, HALVINGS = 50, 20
#: A step that gains less than this share of the objective is the last one.
ENOUGH = 1e-10


@dataclass(frozen=True, eq=False)
class Solution:
    """The coefficients, and the scores z_i'theta + b of all rows."""

    theta: FloatArray
    b: float
    f: FloatArray


def l2_svm(Z: FloatArray, y: FloatArray, w: FloatArray, theta: FloatArray, b: float) -> Solution:
    """The optimum; ``theta`` and ``b`` are where to begin."""
    at = Solution(theta, b, _scores(Z, theta, b))
    value = _value(at, y, w)
    for _ in range(STEPS):
        active = y * at.f < 1.0
        newton = _ridge(Z, y, w, active, at.b)
        before, (at, value, t) = value, _downhill(at, newton, y, w, value)
        settled = t == 1.0 and np.array_equal(active, y * at.f < 1.0)
        if settled or before - value <= ENOUGH * value:
            break
    return at


def _downhill(
    at: Solution, to: Solution, y: FloatArray, w: FloatArray, value: float
) -> tuple[Solution, float, float]:
    """The way to a Newton point, halved until it goes down; scores are linear along it."""
    t = 1.0
    for _ in range(HALVINGS):
        here = Solution(
            at.theta + t * (to.theta - at.theta), at.b + t * (to.b - at.b), at.f + t * (to.f - at.f)
        )
        reached = _value(here, y, w)
        if reached < value:
            return here, reached, t
        t /= 2.0
    return at, value, 0.0


def _ridge(Z: FloatArray, y: FloatArray, w: FloatArray, active: FloatArray, b: float) -> Solution:
    """The ridge regression of y on the active rows, its intercept free."""
    A = np.flatnonzero(active & (w > 0))
    if not len(A):
        return Solution(np.zeros(Z.shape[1]), b, np.full(len(y), b))
    share = w[A] / w[A].sum()
    rows, level = Z[A], float(share @ y[A])
    mean = (share.astype(Z.dtype) @ rows).astype(np.float64)
    root = np.sqrt(w[A])
    B = (rows - mean.astype(Z.dtype)) * root.astype(Z.dtype)[:, None]
    u = root * (y[A] - level)
    if len(A) < Z.shape[1]:
        v = solve(_gram(B.T), u, assume_a="pos")
        theta = (B.T @ v.astype(Z.dtype)).astype(np.float64)
    else:
        right = (B.T @ u.astype(Z.dtype)).astype(np.float64)
        theta = solve(_gram(B), right, assume_a="pos")
    shift = level - float(mean @ theta)
    return Solution(theta, shift, _scores(Z, theta, shift))


def _gram(B: FloatArray) -> FloatArray:
    """I + B'B."""
    G = np.asarray(B.T @ B, dtype=np.float64)
    G[np.diag_indices(len(G))] += 1.0
    return G


def _scores(Z: FloatArray, theta: FloatArray, b: float) -> FloatArray:
    return np.asarray((Z @ theta.astype(Z.dtype)).astype(np.float64) + b)


def _value(at: Solution, y: FloatArray, w: FloatArray) -> float:
    slack = np.maximum(1.0 - y * at.f, 0.0)
    return float(0.5 * at.theta @ at.theta + 0.5 * w @ slack**2)
