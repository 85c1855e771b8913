"""The chi-square ball (k = 2) in closed form, from prefix moments of the sorted scores.

At the optimum the top s depths x_1 <= .. <= x_s are active and, with m_s and sd_s their mean and
deviation, the threshold h obeys  h - m_s = sd_s / sqrt(s (1 + rho) / N - 1).  Of a prefix we keep

    S   how many        A   sum (r - x_i) about the next depth r >= x_S        M   sum (x_i - m_S)^2

so that with the threshold at r the divergence is  rho(r) = N M / A^2 + (N - S) / S, which falls as
S grows. Prefixes are joined by Chan's formula. Every sum is one of positive terms about a near
reference: two clusters of scores a million to one lose no digits, which sums of squares would.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ops import FloatArray
from .depths import Depths
from .level import Level

BLOCK = 512
_STRIP = 128  # blocks handled at a time: they stay in the cache


@dataclass(frozen=True, eq=False)
class Prefixes:
    """S, A, M after each of a run of parts, and S and A before each, about the part's first x."""

    S: FloatArray
    A: FloatArray
    M: FloatArray
    S_before: FloatArray
    A_before: FloatArray

    def rho(self, N: int) -> FloatArray:
        """The divergence with the threshold at the depth that follows each part."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = N * self.M / self.A**2 + (N - self.S) / self.S
        rho[self.A == 0.0] = np.inf  # the next depth ties with all so far
        return rho


def joined(
    start: tuple[float, float, float], n: int, width: FloatArray, C: FloatArray, M: FloatArray
) -> Prefixes:
    """Parts of n depths each after the prefix ``start`` = (S, A, M).

    width: from the first depth of a part to the first of the next; C: sum of (x_i - first);
    M: sum of squared deviations; all per part.
    """
    S0, A0, M0 = start
    S = S0 + n * np.arange(1, len(width) + 1, dtype=np.float64)
    before = S - n
    A = A0 + np.cumsum(before * width + (n * width - C))
    A_before = np.concatenate([[A0], A[:-1]])
    apart = A_before / np.maximum(before, 1.0) + C / n  # between the means: a sum, nothing cancels
    M_after = M0 + np.cumsum(M + apart**2 * (before * n / S))
    return Prefixes(S, A, M_after, before, A_before)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Thresholds for any number of radii from one sort."""

    depths: Depths

    @cached_property
    def _blocks(self) -> Prefixes:
        """Prefixes at the ends of all blocks that have a depth after them."""
        x = self.depths.ranked
        count = (len(x) - 1) // BLOCK
        first = x[: count * BLOCK + 1 : BLOCK]
        C, M = np.empty(count), np.empty(count)
        for b in range(0, count, _STRIP):
            part = x[b * BLOCK : min(count, b + _STRIP) * BLOCK].reshape(-1, BLOCK)
            part = part - part[:, :1]
            strip = slice(b, b + len(part))
            C[strip] = part.sum(axis=1)
            part -= C[strip, None] / BLOCK
            M[strip] = np.einsum("ij,ij->i", part, part)
        return joined((0.0, 0.0, 0.0), BLOCK, np.diff(first), C, M)

    @cached_property
    def _falling(self) -> FloatArray:
        return -self._blocks.rho(self.depths.n)

    def level(self, rho: float) -> Level:
        """The threshold for 0 < rho < N / T - 1: bisection over blocks, then inside one."""
        N, x, blocks = self.depths.n, self.depths.ranked, self._blocks
        b = int(np.searchsorted(self._falling, -rho))
        start = (0.0, 0.0, 0.0)
        if b > 0:
            start = (float(blocks.S[b - 1]), float(blocks.A[b - 1]), float(blocks.M[b - 1]))
        inside = x[b * BLOCK : (b + 1) * BLOCK + 1]
        last = len(inside) <= BLOCK
        width = np.diff(inside, append=inside[-1]) if last else np.diff(inside)
        zero = np.zeros(len(width))
        singles = joined(start, 1, width, zero, zero)
        divergence = singles.rho(N)
        if last:
            divergence[-1] = -np.inf  # no depth follows: below it all are active
        j = int(np.searchsorted(-divergence, -rho))
        s = b * BLOCK + j + 1
        mean = float(singles.A_before[j]) / s  # x_s - m_s
        deviation = float(np.sqrt(singles.M[j] / s))
        room = np.inf if s == N else float(width[j])
        excess = (s * rho - (N - s)) / N  # s (1 + rho) / N - 1
        step = deviation / np.sqrt(excess) if excess > 0 else np.inf
        return Level(s, float(inside[j]), float(np.clip(step - mean, 0.0, room)))
