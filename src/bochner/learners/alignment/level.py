"""A threshold, written so that what is just above it keeps all its digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ops import FloatArray

_LARGE = 64.0


@dataclass(frozen=True)
class Level:
    """Depths up to ``anchor``, ``n_active`` of them, are active; the threshold is ``offset`` below.

    h = anchor + offset and a_i = [h - x_i]_+ = (anchor - x_i) + offset: two terms >= 0. A single h
    would not do: for large k many depths stand within 1e-12 of it and decide the solution.
    """

    n_active: int
    anchor: float
    offset: float

    @property
    def height(self) -> float:
        """h, the threshold as a depth."""
        return self.anchor + self.offset

    def above(self, x: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """a_i for active depths."""
        a = np.subtract(self.anchor, x, out=out)
        a += self.offset
        return a


def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product of two vectors, on this thread: BLAS would wake its own for it."""
    return float(np.einsum("i,i->", a, b))


def power(a: FloatArray, p: float, out: FloatArray | None = None) -> FloatArray:
    """a^p with the cheap special cases: p = 1/2 at k = 3, 1 at k = 2, 2 at k = 1.5."""
    if p == 1.0:
        return a
    if p == 0.5:
        return np.sqrt(a, out=out)
    return np.square(a, out=out) if p == 2.0 else np.power(a, p, out=out)


def share_power(level: Level, x: FloatArray, p: float, out: FloatArray | None = None) -> FloatArray:
    """(a / h)^p at depths x that are active.

    For k near 1 the power is in the millions and the rounding of a would show: there the logarithm
    is taken of 1 - x / h.
    """
    a = level.above(x, out=out)
    a *= 1.0 / level.height
    if p < _LARGE:
        return power(a, p, out=a)
    t = x / level.height
    logs = np.where(t < 0.5, np.log1p(-np.minimum(t, 0.5)), np.log(a))
    logs *= p
    return np.exp(logs, out=a)
