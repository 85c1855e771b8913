"""The divergence ball of any order k > 1: one scalar root.

Normalising removes lambda: q is proportional to [h - x]_+^(1/(k-1)), and the divergence falls as h
grows (`curve`). The root is found in log h. Where the digits of h itself do not suffice (k > 2 and
many depths just above it) it is found again from the last active depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .curve import Curve
from .depths import Depths
from .level import Level
from .root import Bracket, find_root

_ROUNDING = 1e-14


@dataclass(frozen=True)
class AnyOrder:
    """Thresholds for order k, from depths sorted once."""

    depths: Depths
    k: float

    @cached_property
    def curve(self) -> Curve:
        """What is known of the divergence so far, for all radii."""
        return Curve(self.depths, self.k)

    def level(self, rho: float) -> Level:
        """The threshold for 0 < rho < (N/T)^(k-1) - 1."""
        target, x = float(np.log(rho)), self.depths.ranked
        found = self.curve.around(target)
        enough = self._enough(found.high, rho)
        if found.at_low > 0:  # else the root is closer to the second best score than h can say
            found = find_root(lambda z: self.curve.at(z) - target, found, enough)
        if abs(found.value) <= max(enough, 2 * _ROUNDING):
            h = np.exp(found.root)
            s = int(np.searchsorted(x, h))
            return Level(s, float(x[s - 1]), float(max(0.0, h - x[s - 1])))
        return self._refined(found, target)

    def _enough(self, z: float, rho: float) -> float:
        """The misfit to stop at; the gap, about h rho misfit / (k (1 + rho)), is held against
        max v - mean v.
        """
        share = self.k * self.curve.mean / float(np.exp(z)) * (1.0 + 1.0 / rho)
        return max(_ROUNDING, 1e-13 * min(1.0, share))

    def _refined(self, found: Bracket, target: float) -> Level:
        """The root counted from the last active depth, in the logarithm of the offset."""
        x, N = self.depths.ranked, self.depths.n
        ends = np.exp([found.low, found.high]) * [1.0 - 1e-13, 1.0 + 1e-13]  # exp(log) rounds
        low, high = (int(s) for s in np.clip(np.searchsorted(x, ends), self.depths.ties, N))
        while low < high:  # the smallest s whose next depth is at or below the threshold
            s = (low + high) // 2
            fits = s == N or self.curve(Level(s, float(x[s]), 0.0)) <= target
            low, high = (low, s) if fits else (s + 1, high)
        s, anchor = low, float(x[low - 1])

        def at(z: float) -> float:
            return self.curve(Level(s, anchor, float(np.exp(z)))) - target

        z = float(np.log(x[s] - anchor if s < N else np.exp(found.high)))
        top = (z, at(z))
        while top[1] > 0 and s == N:
            top = (top[0] + np.log(4.0), at(top[0] + np.log(4.0)))
        bottom = top
        while bottom[1] <= 0 and bottom[0] > -700.0:
            top, z = bottom, bottom[0] - 8.0
            bottom = (z, at(z))
        return Level(s, anchor, float(np.exp(find_root(at, Bracket(*bottom, *top)).root)))
