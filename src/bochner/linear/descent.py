"""Newton and L-BFGS in the coordinates of a factor, with a line search that rounding cannot fool.

SciPy's L-BFGS compares values of the objective alone; sums over float32 rows carry noise of about
1e-9 relative, where it gives up. Here a step is also accepted when the value is equal within noise
and the slope along the step, which the gradient gives far more precisely, has shrunk (Hager and
Zhang 2005, "approximate Wolfe"). And a point visited is a pass over the rows: nothing is asked twice.

Symbols: g gradient in the factor's coordinates (flat), d direction, lambda = slope = g . d.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..ops import FloatArray
from ..rows import Hook, StopFit
from .factor import Factor, full_factor
from .risk import Problem, Risk

#: Pairs of steps and gradient changes that L-BFGS remembers.
MEMORY = 20


@dataclass(eq=False)
class Iterate:
    """A point with its risk, and how it was reached."""

    point: FloatArray
    risk: Risk
    status: str = "max_iter"
    n_iter: int = 0
    decrement: float = float("inf")

    def moved(self, other: Iterate) -> Iterate:
        """The other point, with this one's count of iterations."""
        return Iterate(other.point, other.risk, self.status, self.n_iter + 1, self.decrement)


@dataclass(frozen=True)
class Stopping:
    """When to stop: lambda / 2 <= tol |P| (the Newton decrement), or after max_iter steps."""

    tol: float
    max_iter: int
    hook: Hook | None = None


class _Memory:
    """The inverse Hessian of L-BFGS in the factor's coordinates (Nocedal and Wright, alg. 7.4)."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)

    def add(self, s: FloatArray, y: FloatArray) -> None:
        sy = float(s @ y)
        if sy > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            self.pairs.append((s, y, sy))

    def times(self, g: FloatArray) -> FloatArray:
        q, weights = g.copy(), []
        for s, y, sy in reversed(self.pairs):
            weights.append(float(s @ q) / sy)
            q -= weights[-1] * y
        if self.pairs:
            _, y, sy = self.pairs[-1]
            q *= sy / float(y @ y)
        for (s, y, sy), a in zip(self.pairs, reversed(weights), strict=True):
            q += (a - float(y @ q) / sy) * s
        return q


def lbfgs(problem: Problem, at: Iterate, factor: Factor, stop: Stopping) -> Iterate:
    """Preconditioned L-BFGS from a point."""
    memory = _Memory()
    g = factor.gradient(at.risk.gradient).ravel()
    while True:
        d = -memory.times(g)
        if (status := _finished(at, float(g @ d), stop)) is not None:
            at.status = status
            return at
        found = _search(problem, at, factor.step(d.reshape(at.point.shape)))
        if isinstance(found, str):
            at.status = found
            return at
        fresh, t = found
        g_new = factor.gradient(fresh.risk.gradient).ravel()
        memory.add(t * d, g_new - g)
        at, g = at.moved(fresh), g_new


def newton(problem: Problem, at: Iterate, stop: Stopping) -> Iterate:
    """Damped Newton; the last step, which is at hand, is taken too and squares the error."""
    while True:
        factor = full_factor(problem, at.point)
        g = factor.gradient(at.risk.gradient)
        status = _finished(at, -float(np.sum(g * g)), stop)
        if status in ("stopped", "max_iter"):
            at.status = status
            return at
        found = _search(problem, at, factor.step(-g))
        if isinstance(found, str):
            at.status = status or found
            return at
        at = at.moved(found[0])
        if status is not None:
            at.status = status
            return at


def _finished(at: Iterate, slope: float, stop: Stopping) -> str | None:
    """A status when the loop is over; tells the hook."""
    at.decrement = 0.5 * abs(slope)
    norm = float(np.linalg.norm(at.risk.gradient))
    if stop.hook is not None and stop.hook.step(
        at.n_iter,
        stop.max_iter,
        state=lambda: {"coef": at.point[:, :-1].copy(), "intercept": at.point[:, -1].copy()},
        objective=at.risk.value,
        gradient_norm=norm,
    ):
        return "stopped"
    if at.decrement <= stop.tol * abs(at.risk.value) or norm == 0.0:
        return "optimal"
    return "max_iter" if at.n_iter >= stop.max_iter else None


def _search(problem: Problem, at: Iterate, step: FloatArray) -> tuple[Iterate, float] | str:
    """The first acceptable fraction of a step, and the fraction; a status if there is none."""
    slope = float(np.sum(at.risk.gradient * step))
    if not slope < 0.0:
        return "precision"
    noise = noise_level(problem) * abs(at.risk.value)
    t = 1.0
    for _ in range(20):
        try:
            fresh = Iterate(at.point + t * step, problem.evaluate(at.point + t * step))
        except StopFit:
            return "stopped"
        fresh_slope = float(np.sum(fresh.risk.gradient * step))
        if _acceptable(at.risk.value, fresh.risk.value, slope, fresh_slope, t, noise):
            return fresh, t
        t *= _shrink(slope, fresh_slope)
    return "precision"


def _acceptable(
    value: float, fresh: float, slope: float, fresh_slope: float, t: float, noise: float
) -> bool:
    if not np.isfinite(fresh) or not np.isfinite(fresh_slope):
        return False
    if fresh <= value + 1e-4 * t * slope and abs(fresh_slope) <= 4.0 * abs(slope):
        return True
    return fresh <= value + noise and abs(fresh_slope) <= 0.9 * abs(slope)


def _shrink(slope: float, fresh_slope: float) -> float:
    """Where the slope would vanish if it were linear between the two ends."""
    if not np.isfinite(fresh_slope):
        return 0.1
    return float(np.clip(slope / (slope - fresh_slope), 0.1, 0.5)) if fresh_slope > slope else 0.5


def noise_level(problem: Problem) -> float:
    """Relative noise of the objective: rounding of scores in the dtype of the rows."""
    return 4.0 * float(np.finfo(problem.source.schema.dtype).eps)


def polished(problem: Problem, at: Iterate, rounds: int = 4) -> Iterate:
    """Newton steps on the intercepts alone until their gradient is rounding.

    The certificate needs it: only where g_b = 0 is the dual point feasible.
    """
    if not problem.fit_intercept or at.status == "stopped":
        return at
    for _ in range(rounds):
        g = at.risk.gradient[:, -1]
        if np.abs(g).max() <= 1e-13 * float(np.trace(at.risk.curvature) + 1e-300):
            break
        point = at.point.copy()
        point[:, -1] -= np.linalg.lstsq(at.risk.curvature, g, rcond=None)[0]
        risk = problem.evaluate(point)
        better = np.abs(risk.gradient[:, -1]).max() < 0.5 * np.abs(g).max()
        if not (better and risk.value <= at.risk.value + noise_level(problem) * at.risk.value):
            break
        at.point, at.risk = point, risk
    return at
