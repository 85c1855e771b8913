"""The proximal step of a divergence ball: a sum of quotients over densities, by two multipliers.

    minimise  sum_m z_m^2 / (p_m + t)   over p >= 0, mean p = 1, mean (p^k) - 1 <= rho      (t > 0)

A solution has one equation a column, in which the right side falls and the left side rises with p:

    mu + lambda (p^(k-1) - 1) = z^2 / (p + t)^2       or p = 0 where the left side is above at 0

1. Without the ball (lambda = 0) it is p = [|z| / r - t]_+ with r from one sort. Where that is
   inside the ball it is the solution.
2. Else (mu, lambda) maximise the dual function, which is concave, smooth and of two variables:
   Newton steps with a line search, each with the derivatives of p that the equation implies. Where
   these end early (few columns free, t and rho at their largest) both are found by brackets: mu
   is between the least and the largest z^2 / (1 + t)^2, whatever lambda.
3. mu counts from p = 1 on, not from 0, so that balls of a small radius (p close to 1, lambda large)
   lose no digits. p <= n, which any p of mean one is, bounds the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ops import FloatArray
from ..alignment.dense import excess
from ..alignment.root import Bracket, find_root

_NEWTON, _INNER, _HALVINGS = 60, 60, 40
#: How exactly both constraints hold: relative to 1, and to rho.
_EXACT = 1e-11
#: What rounding may add to the divergence of weights on the border, as when rho is the simplex.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Found:
    """p and the multipliers it was found at; lambda = 0 where the ball does not bind."""

    p: FloatArray
    mu: float = 0.0
    lam: float = 0.0


def least_quotients(
    z: FloatArray, t: float, rho: float, k: float = 2.0, start: Found | None = None
) -> Found:
    """The densities p; ``start``, the solution of a similar problem, saves steps."""
    n, size = len(z), float(np.abs(z).max(initial=0.0))
    if size == 0.0 or rho <= 0.0 or n == 1:
        return Found(np.ones(n))
    sizes = np.abs(z) / size
    p = without_ball(sizes, t)
    if float(np.mean(excess(p - 1.0, k))) <= rho * (1.0 + _ROUNDING):
        return Found(feasible(p, rho, k))
    problem = _Quotients(sizes**2, t, rho, k)
    found = problem.newton(start if start is not None and start.lam > 0.0 else problem.guess())
    if found is None:
        found = problem.bracketed()
    return Found(feasible(found.p, rho, k), found.mu, found.lam)


def without_ball(sizes: FloatArray, t: float) -> FloatArray:
    """The densities where only their mean is fixed."""
    n, ranked = len(sizes), np.sort(sizes)[::-1]
    r = np.cumsum(ranked) / (n + t * np.arange(1, n + 1))
    last = np.flatnonzero(ranked > t * r)[-1]
    p = np.maximum(sizes / r[last] - t, 0.0)
    return np.asarray(p / p.mean())


def feasible(p: FloatArray, rho: float, k: float) -> FloatArray:
    """The same densities with what rounding left of both constraints taken off.

    Mixed with even densities on the same columns the divergence falls at least linearly.
    """
    p = p / p.mean()
    reached = float(np.mean(excess(p - 1.0, k)))
    if reached <= rho:
        return p
    even = np.where(p > 0.0, len(p) / np.count_nonzero(p), 0.0)
    least = float(np.mean(excess(even - 1.0, k)))
    share = min(1.0, (reached - rho) / max(reached - least, 1e-300))
    return np.asarray((1.0 - share) * p + share * even)


@dataclass(frozen=True, eq=False)
class _Quotients:
    """z^2 (the largest is 1), t, rho and k."""

    z2: FloatArray
    t: float
    rho: float
    k: float

    def guess(self) -> Found:
        """Multipliers of about the right size, from even densities."""
        mean = float(self.z2.mean())
        return Found(np.ones(len(self.z2)), mean / (1.0 + self.t) ** 2, mean)

    def newton(self, now: Found) -> Found | None:
        """Newton's method on the dual function; None where it does not get there."""
        now = Found(self.densities(now.mu, now.lam, now.p), now.mu, now.lam)
        for _ in range(_NEWTON):
            over = excess(now.p - 1.0, self.k)
            slope = np.array([np.mean(now.p - 1.0), float(np.mean(over) - self.rho) / self.k])
            if abs(slope[0]) <= _EXACT and abs(slope[1]) <= _EXACT * self.rho:
                return now
            better = self._better(now, slope, self._direction(now, slope))
            if better is None:
                break
            now = better
        return None

    def bracketed(self) -> Found:
        """The root in lambda, for each of which mu is a root: sure, and slower."""
        ends = np.sort(self.z2[[np.argmin(self.z2), np.argmax(self.z2)]]) / (1.0 + self.t) ** 2
        even = np.ones(len(self.z2))

        def at(log_lam: float) -> Found:
            lam = float(np.exp(log_lam))

            def over(mu: float) -> float:
                return float(np.mean(self.densities(mu, lam, even))) - 1.0

            low, high = float(ends[0]), float(ends[1])
            mu = find_root(over, Bracket(low, over(low), high, over(high))).root
            return Found(self.densities(mu, lam, even), mu, lam)

        def wide(log_lam: float) -> float:
            p = at(log_lam).p
            return float(np.mean(excess(p / p.mean() - 1.0, self.k))) / self.rho - 1.0

        low = high = float(np.log(ends.mean()))
        at_low = at_high = wide(low)
        while at_low < 0.0 and low > -300.0:
            high, at_high, low = low, at_low, low - 3.0
            at_low = wide(low)
        while at_high > 0.0 and high < 300.0:
            low, at_low, high = high, at_high, high + 3.0
            at_high = wide(high)
        return at(find_root(wide, Bracket(low, at_low, high, at_high), _EXACT).root)

    def _direction(self, now: Found, slope: FloatArray) -> FloatArray:
        free = (now.p > 0.0) & (now.p < len(now.p))
        p, z2 = now.p[free], self.z2[free]
        e = p ** (self.k - 1.0) - 1.0
        rises = 2.0 * z2 / (p + self.t) ** 3
        rises += now.lam * (self.k - 1.0) * p ** (self.k - 2.0)
        c = 1.0 / (len(now.p) * rises)
        H = np.array([[c.sum(), c @ e], [c @ e, c @ e**2]])
        unit = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-200))
        H = H * unit[:, None] * unit + 1e-13 * np.eye(2)
        step = unit * np.linalg.solve(H, unit * slope)
        return np.asarray(np.where(np.isfinite(step), step, 0.0))

    def _better(self, now: Found, slope: FloatArray, step: FloatArray) -> Found | None:
        """The point along the direction that raises the dual function enough."""
        value, rise = self.value(now), float(slope @ step)
        length = 1.0 if now.lam + step[1] > 0.0 else -0.9 * now.lam / step[1]
        for _ in range(_HALVINGS):
            mu, lam = now.mu + length * step[0], now.lam + length * step[1]
            new = Found(self.densities(mu, lam, now.p), mu, lam)
            if self.value(new) >= value + 1e-4 * length * rise - 1e-14 * abs(value):
                return new
            length *= 0.5
        return None

    def value(self, at: Found) -> float:
        """The dual function, over n."""
        p, k = at.p, self.k
        terms = self.z2 / (p + self.t) + at.mu * (p - 1.0) + at.lam / k * excess(p - 1.0, k)
        return float(np.mean(terms)) - at.lam * self.rho / k

    def densities(self, mu: float, lam: float, guess: FloatArray) -> FloatArray:
        """p(mu, lambda): Newton steps, each kept inside a bracket of its root."""
        z2, t, k = self.z2, self.t, self.k
        low, high = np.zeros(len(z2)), np.full(len(z2), float(len(z2)))
        none = mu - lam >= z2 / t**2
        p = np.where(none, 0.0, np.where(guess > 0.0, guess, 1.0))
        for _ in range(_INNER):
            inverse = 1.0 / (p + t)
            bent = lam * p ** (k - 1.0)
            value = (mu - lam) + bent - z2 * inverse**2
            low, high = np.where(value < 0.0, p, low), np.where(value < 0.0, high, p)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = p - value / (2.0 * z2 * inverse**3 + (k - 1.0) * bent / p)
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            new[none] = 0.0
            moved = float((np.abs(new - p) / (1.0 + new)).max())
            p = new
            if moved <= 1e-14:
                break
        return p
