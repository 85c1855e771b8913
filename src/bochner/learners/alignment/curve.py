"""The divergence as a function of the threshold, for any order k > 1.

    a = [h - x]_+,   r = a^p,   p = 1 / (k - 1),   q = r / sum r,   1 + rho(h) = E_q[a] / M_p(a)

with the power mean M_p(a) = (mean r)^(1/p). Written about the mean depth m, t = (x - m) / (h - m),
with e = mean(r - 1 + p t) and b = mean((r - 1) t), r now of 1 - t, it is

    log(1 + rho) = log1p(-b / (1 + e)) - (k - 1) log1p(e),

sums of terms of one sign that vanish with rho and do not cancel for k near 1. It is used where
rho is small; where it is not the sums of r and r a do.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ops import FloatArray
from .blocks import BLOCK, Powers, blocks
from .depths import Depths
from .level import Level, dot, power
from .root import Bracket

_SMALL = float(np.log1p(0.1))


class Curve:
    """log rho at a threshold; what has been computed is kept, and brackets the next root."""

    def __init__(self, depths: Depths, k: float) -> None:
        self.x, self.n, self.k = depths.ranked, depths.n, k
        self.powers, self.blocks = Powers.of(1.0 / (k - 1.0)), blocks(depths.ranked)
        self.known: list[tuple[float, float]] = []
        self.at(float(np.log(self.x[depths.ties])))  # where the second best joins the ties

    def at(self, z: float) -> float:
        """log rho with the threshold at the depth exp(z)."""
        h = float(np.exp(z))
        value = self(Level(int(np.searchsorted(self.x, h)), 0.0, h))
        insort(self.known, (z, value))
        return value

    def around(self, target: float) -> Bracket:
        """The nearest thresholds known to have log rho above and at most ``target``.

        Below the lowest there is none: both ends are it.
        """
        if self.known[-1][1] > target:
            self._extend(target)
        i = bisect_left(self.known, -target, key=lambda end: -end[1])
        (low, above), (high, below) = self.known[max(i - 1, 0)], self.known[i]
        return Bracket(low, above - target, high, below - target)

    def _extend(self, target: float) -> None:
        """Further up, beginning where small rho has it: (h - m)^2 = k / (2 (k - 1)) sd^2 / rho."""
        spread = np.sqrt(self.k / (2.0 * (self.k - 1.0))) * self._deviation
        z = float(np.log(self.mean + spread * np.exp(-0.5 * target)))
        z = max(z, self.known[-1][0] + 0.1)
        while self.at(z) > target:
            z += float(np.log(4.0))

    @cached_property
    def mean(self) -> float:
        return float(self.x.mean())

    @cached_property
    def _deviation(self) -> float:
        return float(self.x.std())

    def __call__(self, level: Level) -> float:
        parts = self._parts(level)
        grown = self._sums(level, parts)
        if grown < _SMALL and level.height > self.mean:
            small = self._small(level, parts)
            grown = small if np.isfinite(small) else grown
        with np.errstate(divide="ignore"):
            return float(grown + np.log(-np.expm1(-grown))) if grown > 0.0 else -np.inf

    def _parts(self, level: Level) -> _Parts:
        s, count = level.n_active, min(level.n_active // BLOCK, self.blocks.count)
        distance = level.above(self.blocks.first[:count]) - self.blocks.offset[:count]
        far = self.blocks.width[:count] < self.powers.reach * distance
        rest = self.x[count * BLOCK : s]
        if not far.all():
            near = self.x[: count * BLOCK].reshape(-1, BLOCK)[~far]
            rest = np.concatenate([near.ravel(), rest])
        ratio = np.divide(self.blocks.width[:count], distance, out=np.zeros(count), where=far)
        means = self.powers.means(self.blocks.moments[:, :count], ratio)
        return _Parts(rest, distance, far * float(BLOCK), means)

    def _sums(self, level: Level, parts: _Parts) -> float:
        """log(1 + rho) from sum r and sum r a, a in units of the largest."""
        a, p = level.above(parts.rest) / level.height, self.powers.p
        r = power(a, p)
        s, weighed = float(r.sum()), dot(r, a)
        a = parts.distance / level.height
        r = parts.rows * power(a, p)
        s += dot(r, 1.0 + parts.means[0])
        weighed += dot(r * a, 1.0 + parts.means[1])
        return float(np.log(weighed / s) + (self.k - 1.0) * np.log(self.n / s))

    @np.errstate(over="ignore", invalid="ignore")
    def _small(self, level: Level, parts: _Parts) -> float:
        """log(1 + rho) about the mean depth; not finite where k is near 1 and few are active."""
        p, above_mean = self.powers.p, level.height - self.mean
        t, y = self._relative(parts.rest, level.above(parts.rest), above_mean)
        e, b = float((y + p * t).sum()), dot(y, t)
        t, y = self._relative(self.blocks.centre[: len(parts.rows)], parts.distance, above_mean)
        r, (up, up1) = 1.0 + y, parts.means
        e += dot(parts.rows, y + p * t + r * up)
        b += dot(parts.rows, r * (up - up1) + t * (y + r * up1))
        off = self._beyond(level.n_active) / above_mean
        e, b = (e - (self.n - level.n_active) + p * off) / self.n, (b - off) / self.n
        return float(np.log1p(-b / (1.0 + e)) - (self.k - 1.0) * np.log1p(e))

    def _relative(
        self, x: FloatArray, a: FloatArray, above_mean: float
    ) -> tuple[FloatArray, FloatArray]:
        """t and r - 1, by the logarithm that keeps its digits."""
        t = (x - self.mean) / above_mean
        p = self.powers.p
        with np.errstate(divide="ignore", over="ignore"):
            logs = np.where(t < 0.5, np.log1p(-np.minimum(t, 0.5)), np.log(a / above_mean))
            return t, np.expm1(p * logs)

    def _beyond(self, s: int) -> float:
        """sum (x - m) over depths that are not active."""
        b = -(-s // BLOCK)
        if b > self.blocks.count:
            return float((self.x[s:] - self.mean).sum())
        return float((self.x[s : b * BLOCK] - self.mean).sum() + self._beyond_blocks[b])

    @cached_property
    def _beyond_blocks(self) -> FloatArray:
        """sum (x - m) from each block on."""
        tail = (self.x[self.blocks.count * BLOCK :] - self.mean).sum()
        each = np.r_[BLOCK * (self.blocks.centre - self.mean), tail]
        return np.cumsum(each[::-1])[::-1]


@dataclass(frozen=True, eq=False)
class _Parts:
    """Active depths: some one by one; the others as blocks, of which ``rows`` counts the far ones.

    distance: of the centre of each whole active block from the threshold; means: see `Powers`.
    """

    rest: FloatArray
    distance: FloatArray
    rows: FloatArray
    means: FloatArray
