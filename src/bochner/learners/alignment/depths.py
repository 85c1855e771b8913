"""Scores as depths below the best one: units in which neither scale nor offset can do harm.

Symbols: v the scores, N of them; x_m = (max v - v_m) / unit >= 0, with unit a power of two, so that
the step is exact up to one rounding of the difference; x ascending is v descending.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...ops import FloatArray

_TIE = 1e-100  # a depth this small (the largest is in [1/2, 1)) is a tie: its square would be lost
PIECE = 32_768  # depths handled at a time: they stay in the cache


@dataclass(frozen=True, eq=False)
class Depths:
    """ranked: x ascending; x = (high - v) / unit in the order of v, times 2^-shift."""

    v: FloatArray
    ranked: FloatArray
    high: float
    unit: float
    shift: int
    near_ties: bool

    @property
    def n(self) -> int:
        """N, the number of scores."""
        return len(self.v)

    @cached_property
    def ties(self) -> int:
        """T, how many scores are the best one."""
        return int(np.searchsorted(self.ranked, 0.0, side="right"))

    @property
    def flat(self) -> bool:
        """Are all scores equal?"""
        return self.ties == self.n

    def pieces(self) -> Iterator[tuple[slice, FloatArray]]:
        """x in the order of the scores, a piece at a time, each overwritten by the next."""
        room = np.empty(min(PIECE, self.n))
        for start in range(0, self.n, PIECE):
            part = slice(start, min(start + PIECE, self.n))
            yield part, self._depth(part, room[: part.stop - start])

    def _depth(self, part: slice, out: FloatArray) -> FloatArray:
        np.subtract(self.high, self.v[part], out=out)
        out *= 1.0 / self.unit
        if self.near_ties:
            out[out < _TIE] = 0.0
        return out

    def score(self, height: float) -> float:
        """The score at a depth."""
        return self.stretch(self.high - height * self.unit)

    def difference(self, height: float) -> float:
        """A difference of scores from one of depths."""
        return self.stretch(height * self.unit)

    def stretch(self, value: float) -> float:
        """A number in the units that the scores came in."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(value, self.shift))


def depths(scores: Any) -> Depths:
    """The depths of the scores, sorted once."""
    v = _checked(scores)
    high, low = float(v.max()), float(v.min())
    if not (np.isfinite(high) and np.isfinite(low)):
        raise _not_finite(v)
    shift = int(np.frexp(max(abs(high), abs(low)))[1])
    if abs(shift) < 400:
        shift = 0
    else:  # 1e300 or 1e-300: a power of two takes differences and squares back into range
        v, high, low = np.ldexp(v, -shift), np.ldexp(high, -shift), np.ldexp(low, -shift)
    unit = float(np.ldexp(1.0, np.frexp(high - low)[1]))
    ranked = np.subtract(high, v)
    ranked *= 1.0 / unit
    ranked.sort()
    near = int(np.searchsorted(ranked, _TIE))
    near_ties = near > 0 and bool(ranked[near - 1] > 0.0)
    ranked[:near] = 0.0
    return Depths(v, ranked, float(high), unit, shift, near_ties)


def _checked(scores: Any) -> FloatArray:
    v = np.asarray(scores)
    if v.ndim != 1 or len(v) == 0 or v.dtype.kind not in "biuf":
        raise ValueError(
            f"scores must be a vector of at least one number, got shape {v.shape} of {v.dtype}: "
            "give one score for each candidate."
        )
    return v.astype(np.float64, copy=False)


def _not_finite(v: FloatArray) -> ValueError:
    bad = np.flatnonzero(~np.isfinite(v))
    return ValueError(
        f"scores hold NaN or infinity ({len(bad)} of {len(v)}, the first is number {bad[0]}: "
        f"{v[bad[0]]}). Features or targets overflowed, or hold NaN: check them, or standardise."
    )
