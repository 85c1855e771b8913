"""Newton and L-BFGS in the coordinates of a factor, with a line search that rounding cannot fool.

SciPy's L-BFGS compares values of the objective alone; sums over float32 rows carry noise of about
1e-9 relative, where it gives up. Here a step is also accepted when the value is equal within noise
and the slope along the step, which the gradient gives far more precisely, has shrunk (Hager and
Zhang 2005, "approximate Wolfe"). A point visited is a pass over the rows: none is visited twice.

Symbols: g gradient in the factor's coordinates (flat), d direction, lambda = slope = g . d.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..ops import FloatArray
from ..rows import Hook, StopFit
from .factor import Factor, full_factor, sample_factor
from .risk import Problem, Risk

#: Pairs of steps and gradient changes that L-BFGS remembers.
MEMORY = 20
#: Steps of L-BFGS after which its coordinates are made anew.
PATIENCE = 20


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

    def ended(self, status: str) -> Iterate:
        self.status = status
        return self


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
    """Preconditioned L-BFGS from a point.

    A factor that does not lead home in `PATIENCE` steps was made of the wrong curvature (few rows
    of a class, or classes nearly apart, where few rows matter): it is made anew, of all rows.
    """
    watch = _Watch(problem, stop)
    memory, g = _Memory(), factor.gradient(at.risk.gradient).ravel()
    while True:
        d = -memory.times(g)
        if (status := watch.status(at, float(g @ d))) is not None:
            return at.ended(status)
        found = _search(problem, at, factor.step(d.reshape(at.point.shape)))
        if isinstance(found, str):
            return at.ended(found)
        at, t = at.moved(found[0]), found[1]
        before, g = g, factor.gradient(at.risk.gradient).ravel()
        memory.add(t * d, g - before)
        if at.n_iter % PATIENCE == 0:
            try:
                factor = sample_factor(problem, at.point)
            except StopFit:
                return at.ended("stopped")
            memory, g = _Memory(), factor.gradient(at.risk.gradient).ravel()


def newton(problem: Problem, at: Iterate, stop: Stopping) -> Iterate:
    """Damped Newton; the last step, which is at hand, is taken too and squares the error."""
    watch = _Watch(problem, stop)
    while True:
        try:
            factor = full_factor(problem, at.point)
        except StopFit:
            return at.ended("stopped")
        g = factor.gradient(at.risk.gradient)
        status = watch.status(at, -float(np.sum(g * g)))
        if status is not None and status != "optimal":
            return at.ended(status)
        found = _search(problem, at, factor.step(-g))
        if isinstance(found, str):
            return at.ended(status or found)
        at = at.moved(found[0])
        if status is not None:
            return at.ended(status)


class _Watch:
    """Tells the hook of each point, and says when the loop is over."""

    def __init__(self, problem: Problem, stop: Stopping) -> None:
        self.stop = stop
        self.noise = noise_level(problem)
        # A decrement below this is rounding of the rows' dtype, whatever was asked for.
        self.tol = max(stop.tol, 2e-6 * self.noise)
        self.least, self.since = float("inf"), 0

    def status(self, at: Iterate, slope: float) -> str | None:
        """None to go on; ``slope`` is minus twice the Newton decrement."""
        at.decrement = 0.5 * abs(slope)
        norm = float(np.linalg.norm(at.risk.gradient))
        if self.stop.hook is not None and self.stop.hook.step(
            at.n_iter,
            self.stop.max_iter,
            state=lambda: {"coef": at.point[:, :-1].copy(), "intercept": at.point[:, -1].copy()},
            objective=at.risk.value,
            gradient_norm=norm,
        ):
            return "stopped"
        if at.decrement <= self.tol * abs(at.risk.value) or norm == 0.0:
            return "optimal"
        if at.n_iter >= self.stop.max_iter:
            return "max_iter"
        return "precision" if self._stalls(at) else None

    def _stalls(self, at: Iterate) -> bool:
        """Has nothing improved for eight steps, all within the noise of the objective?"""
        self.since = 0 if at.decrement < 0.5 * self.least else self.since + 1
        self.least = min(self.least, at.decrement)
        return self.since >= 8 and at.decrement <= self.noise * abs(at.risk.value)


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


def polished(problem: Problem, at: Iterate) -> Iterate:
    """Newton steps on the intercepts alone: only where g_b = 0 is the certificate's dual feasible.

    One step squares a gradient that is small already; two more are for fits that stopped early.
    """
    if not problem.fit_intercept or at.status == "stopped":
        return at
    for _ in range(3):
        g = at.risk.gradient[:, -1]
        if np.abs(g).max() <= 1e-12 * np.trace(at.risk.curvature):
            break
        point = at.point.copy()
        point[:, -1] -= np.linalg.lstsq(at.risk.curvature, g, rcond=None)[0]
        try:
            risk = problem.evaluate(point)
        except StopFit:
            return at.ended("stopped")
        if np.abs(risk.gradient[:, -1]).max() > 0.5 * np.abs(g).max():
            break
        at.point, at.risk = point, risk
    return at
