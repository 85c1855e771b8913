"""Sums of powers of the distances to a threshold, over millions of sorted depths, for little work.

Blocks of sorted depths have a mean c, a half-width w and the moments of u = (x - c) / w in [-1, 1].
For a block at distance d = h - c with w / d small the mean over it is

    mean (h - x)^p = d^p (1 + sum_{j >= 2} binom(p, j) (-w / d)^j mean(u^j)),

cut off where the rest is below rounding. Blocks closer to the threshold than that are summed
depth by depth: a few blocks of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import binom

from ...ops import FloatArray

BLOCK = 256
_STRIP = 128  # blocks handled at a time: they stay in the cache
_LEAST = 4_096  # fewer depths than this are summed one by one
_TERMS, _FEW = 12, 4  # the highest powers of u: for blocks that are near enough, and for most
_CUT = 1e-17


@dataclass(frozen=True, eq=False)
class Blocks:
    """c = first + offset, w and the moments of whole blocks, (terms + 1) x blocks, from u^0 on.

    The distance to a threshold is taken from ``first``, which is a depth: c itself is rounded.
    """

    first: FloatArray
    offset: FloatArray
    width: FloatArray
    moments: FloatArray

    @property
    def count(self) -> int:
        return len(self.first)

    @cached_property
    def centre(self) -> FloatArray:
        """c, as near as a number can be to it."""
        return self.first + self.offset


def blocks(x: FloatArray) -> Blocks:
    """The blocks of sorted depths x; what is left over at the end has none."""
    count = len(x) // BLOCK if len(x) >= _LEAST else 0
    offset, width = np.empty(count), np.empty(count)
    moments = np.ones((_TERMS + 1, count))
    for b in range(0, count, _STRIP):
        part = x[b * BLOCK : min(count, b + _STRIP) * BLOCK].reshape(-1, BLOCK)
        strip = slice(b, b + len(part))
        offset[strip], width[strip] = _scaled_moments(part, moments[:, strip])
    return Blocks(x[: count * BLOCK : BLOCK], offset, width, moments)


def _scaled_moments(part: FloatArray, out: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(offset, w) of some blocks; their moments into ``out``."""
    u = part - part[:, :1]
    offset = u.mean(axis=1)
    width = np.maximum(offset, u[:, -1] - offset)
    u -= offset[:, None]
    u /= np.where(width > 0.0, width, 1.0)[:, None]
    power = u.copy()
    out[1] = 0.0
    for j in range(2, len(out)):
        power *= u
        out[j] = np.add.reduce(power, axis=1) / BLOCK
    return offset, width


@dataclass(frozen=True, eq=False)
class Powers:
    """Expansions of two powers, p and p + 1, and how near a block may be for them."""

    p: float
    binomials: FloatArray
    reach: float
    reach_of_few: float

    @classmethod
    def of(cls, p: float) -> Powers:
        j = np.arange(_TERMS + 2)
        terms = np.stack([binom(p, j), binom(p + 1.0, j)], axis=1)

        def reach(last: int) -> float:
            rest = max(1.0, float(np.abs(terms[last + 1]).max()))
            return float((_CUT / rest) ** (1.0 / (last + 1)))

        signs = np.where(j % 2, -1.0, 1.0)[:, None]
        return cls(p, (terms * signs)[:-1, :, None], reach(_TERMS), reach(_FEW))

    def means(self, moments: FloatArray, ratio: FloatArray) -> FloatArray:
        """mean (1 - ratio u)^p - 1, and the same for p + 1, for each block: 2 x blocks."""
        out = self._polynomial(moments, ratio, _FEW)
        wide = np.flatnonzero(ratio >= self.reach_of_few)
        if len(wide):
            out[:, wide] = self._polynomial(moments[:, wide], ratio[wide], _TERMS)
        return out

    def _polynomial(self, moments: FloatArray, ratio: FloatArray, last: int) -> FloatArray:
        """The terms from the second to the last, by Horner's rule."""
        out = self.binomials[last] * moments[last]
        for j in range(last - 1, 1, -1):
            out *= ratio
            out += self.binomials[j] * moments[j]
        out *= np.square(ratio)
        return np.asarray(out)
