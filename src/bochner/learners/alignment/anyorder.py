"""The divergence ball of any order k > 1: one scalar root.

Normalising removes lambda: q is proportional to a^p, a = [h - x]_+, p = 1 / (k - 1), and

    1 + rho(h) = N^(k-1) sum a^(p+1) / (sum a^p)^k

falls as h grows. The root is found in log h. Where the digits of h itself do not suffice (k > 2 and
many depths just above it) it is found again from the last active depth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...ops import FloatArray
from .depths import Depths
from .level import Level, power
from .root import Bracket, find_root

_SMALL = 0.1  # below this rho itself is summed: 1 + rho would round it away
_SERIES = 1e-4
_ROUNDING = 1e-14
_COARSE, _FEW = 64, 32


@dataclass(frozen=True)
class AnyOrder:
    """Thresholds for order k, from depths sorted once."""

    depths: Depths
    k: float

    def level(self, rho: float) -> Level:
        """The threshold for 0 < rho < (N/T)^(k-1) - 1."""
        misfit = _Misfit(self.depths, self.k, rho)
        found, x = self._near(misfit, rho) or self._bracket(misfit, rho), self.depths.ranked
        enough = self._enough(found.high)
        if found.at_low > 0:  # else the root is closer to the second best score than h can say
            found = find_root(misfit.at_log_height, found, enough)
        if abs(found.value) <= max(enough, 2 * _ROUNDING):
            h = np.exp(found.root)
            s = int(np.searchsorted(x, h))
            return Level(s, float(x[s - 1]), float(max(0.0, h - x[s - 1])))
        return self._refined(misfit, found)

    def _enough(self, z: float) -> float:
        """The misfit to stop at: the gap, about h |misfit| / k, is held against max v - mean v."""
        return max(_ROUNDING, 1e-13 * min(1.0, self.k * self._mean / float(np.exp(z))))

    @cached_property
    def _mean(self) -> float:
        return float(self.depths.ranked.mean())

    @cached_property
    def _coarse(self) -> Depths:
        """The means of every few sorted depths: nearly the same divergence for less work."""
        count = self.depths.n // _COARSE
        x = self.depths.ranked[: count * _COARSE].reshape(count, _COARSE).mean(axis=1)
        x[0] = 0.0
        return replace(self.depths, depth=x, ranked=x)

    def _near(self, misfit: _Misfit, rho: float) -> Bracket | None:
        """A Newton step from the root for coarse depths, where thousands are active."""
        count = self.depths.n // _COARSE
        if count < 1000:
            return None
        if np.log1p(rho) >= (self.k - 1.0) * np.log(count / max(_FEW, self._coarse.ties)):
            return None
        coarse = AnyOrder(self._coarse, self.k)
        rough = _Misfit(self._coarse, self.k, rho)
        start = find_root(rough.at_log_height, coarse._bracket(rough, rho), 1e-13).root
        slope = (rough.at_log_height(start + 1e-5) - rough.at_log_height(start - 1e-5)) / 2e-5
        a = (start, misfit.at_log_height(start))
        z = start - a[1] / min(slope, -1e-3)
        b = (z, misfit.at_log_height(z))
        if abs(b[1]) <= self._enough(z):
            return Bracket(*b, *b)
        if a[1] * b[1] > 0:
            a, z = b, b[0] + 2.0 * (b[0] - a[0])
            b = (z, misfit.at_log_height(z))
        high, low = sorted((a, b), key=lambda end: end[1])
        return Bracket(*low, *high) if high[1] <= 0 < low[1] and low[0] < high[0] else None

    def _bracket(self, misfit: _Misfit, rho: float) -> Bracket:
        """Around the solution for small rho: (h - m)^2 = k / (2 (k - 1)) sd^2 / rho."""
        x, T = self.depths.ranked, self.depths.ties
        lowest = float(np.log(x[T]))  # with the threshold there only the ties are active
        factor = np.sqrt(self.k / (2.0 * (self.k - 1.0))) / np.sqrt(rho)
        z = max(lowest, float(np.log(x.mean() + x.std() * factor)))
        value = misfit.at_log_height(z)
        low = high = (z, value)
        while high[1] > 0:
            low, z = high, high[0] + np.log(4.0)
            high = (z, misfit.at_log_height(z))
        while low[1] <= 0 and low[0] > lowest:
            high, z = low, max(lowest, low[0] - np.log(8.0))
            low = (z, misfit.at_log_height(z))
        return Bracket(*low, *high)

    def _refined(self, misfit: _Misfit, found: Bracket) -> Level:
        """The root counted from the last active depth, in the logarithm of the offset."""
        x, N = self.depths.ranked, self.depths.n
        ends = np.exp([found.low, found.high]) * [1.0 - 1e-13, 1.0 + 1e-13]  # exp(log) rounds
        low, high = (int(s) for s in np.clip(np.searchsorted(x, ends), self.depths.ties, N))
        while low < high:  # the smallest s whose next depth is at or below the threshold
            s = (low + high) // 2
            fits = s == N or misfit(Level(s, float(x[s]), 0.0)) <= 0.0
            low, high = (low, s) if fits else (s + 1, high)
        s, anchor = low, float(x[low - 1])

        def at(z: float) -> float:
            return misfit(Level(s, anchor, float(np.exp(z))))

        z = float(np.log(x[s] - anchor if s < N else np.exp(found.high)))
        top = (z, at(z))
        while top[1] > 0 and s == N:
            top = (top[0] + np.log(4.0), at(top[0] + np.log(4.0)))
        bottom = top
        while bottom[1] <= 0 and bottom[0] > -700.0:
            top, z = bottom, bottom[0] - 8.0
            bottom = (z, at(z))
        return Level(s, anchor, float(np.exp(find_root(at, Bracket(*bottom, *top)).root)))


@dataclass(frozen=True)
class _Misfit:
    """How far a threshold is from the radius: a logarithm that falls through zero."""

    depths: Depths
    k: float
    rho: float

    def at_log_height(self, z: float) -> float:
        h = float(np.exp(z))
        return self(Level(int(np.searchsorted(self.depths.ranked, h)), 0.0, h))

    def __call__(self, level: Level) -> float:
        if self.rho < _SMALL:
            return float(np.log(self._small(level)) - np.log(self.rho))
        N, k = self.depths.n, self.k
        a = level.above(self.depths.ranked[: level.n_active])
        a /= a[0]
        r = power(a, 1.0 / (k - 1.0))
        grown = (k - 1.0) * np.log(N) + np.log(r @ a) - k * np.log(r.sum())
        return float(grown - np.log1p(self.rho))

    def _small(self, level: Level) -> float:
        """rho from what the weights N q differ from one by."""
        N, s, k = self.depths.n, level.n_active, self.k
        x, h = self.depths.ranked[:s], level.height
        half = int(np.searchsorted(x, 0.5 * h))  # each side by the logarithm that keeps its digits
        with np.errstate(divide="ignore"):
            logs = np.concatenate([np.log1p(-x[:half] / h), np.log(level.above(x[half:]) / h)])
            y = np.expm1(logs / (k - 1.0))
        mean = (y.sum() - (N - s)) / N
        t = (y - mean) / (1.0 + mean)
        return float((excess(t, k).sum() + (N - s) * (k - 1.0)) / N)


def excess(t: FloatArray, k: float) -> FloatArray:
    """(1 + t)^k - 1 - k t >= 0, t >= -1: what the divergence is the mean of, where mean t = 0."""
    if k == 2.0:
        return t * t
    if np.abs(t).max() < _SERIES:
        series = (k - 2.0) / 3.0 * t * (1.0 + (k - 3.0) / 4.0 * t * (1.0 + (k - 4.0) / 5.0 * t))
        return np.asarray(k * (k - 1.0) / 2.0 * t * t * (1.0 + series))
    with np.errstate(divide="ignore"):
        return np.asarray(np.expm1(k * np.log1p(t)) - k * t)
