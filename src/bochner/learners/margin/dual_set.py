"""The exact projection onto the dual set {0 <= a <= C, y'a = 0} of a support vector machine.

The projection is  a_i(mu) = clip(alpha_i - mu y_i, 0, C_i)  with mu the root of

    h(mu) = sum_i w_i y_i a_i(mu),

which is piecewise linear and falls; row i bends it at y_i alpha_i and at y_i (alpha_i - C_i).

1. The paper's ten alternating projections (its Algorithm 3) end neither in the projection nor in
   the set. One scalar root does, without sorting all rows: a sample proposes a bracket, and rows
   that do not bend h inside it are summed once and left behind.
2. The sums behind the root are rounded, those of many equal rows to one side: a Newton step on the
   exact sum mends the root. Rounding of mu alone moves h by n eps: what is left over goes to the
   row that is furthest inside its bounds, or, where none is, nearest to being so.
3. With weights w (a row of weight 2 is the row twice) the distance is the weighted one, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray, single_threaded_blas

#: Rows up to which all bends are sorted, and rows of the sample that proposes a bracket for more.
SORTED, SAMPLED = 2**13, 2**12
#: Rows computed at a time, so that what is in between stays in cache.
PIECE = 2**14
#: Units in the last place of mu from which on the root is corrected by a Newton step.
SLACK = 4.0
EPS = float(np.finfo(np.float64).eps)


def project_dual(alpha: Any, y: Any, C: Any = 1.0, weights: Any = None) -> FloatArray:
    """The point of {0 <= a <= C, sum_i w_i y_i a_i = 0} that is closest to alpha.

    Parameters
    ----------
    alpha : array of n
    y : array of n
        -1 and +1.
    C : float or array of n
        Above zero; infinity leaves a >= 0, the set of the l2-SVM.
    weights : array of n, optional
        Not negative.

    Examples
    --------
    >>> from bochner.learners.margin import project_dual
    >>> project_dual([0.9, 2.0, 0.4], [1, 1, -1], C=1.0)
    array([0., 1., 1.])
    """
    with single_threaded_blas():  # products with a piece that is in cache: nothing to share out
        return _checked(alpha, y, C, weights).projected()


def _checked(alpha: Any, y: Any, C: Any, weights: Any) -> _Rows:
    a, signs = _vector("alpha", alpha), _vector("y", y)
    if len(signs) != len(a):
        raise ValueError(f"alpha has {len(a)} numbers, y has {len(signs)}; give one label each.")
    if signs.size and not (
        signs.max() <= 1.0 and signs.min() >= -1.0 and signs @ signs == len(signs)
    ):
        raise ValueError("y must hold -1 and +1 only; map the two classes to these first.")
    w = None if weights is None else _vector("weights", weights)
    if w is not None and (len(w) != len(a) or not np.all(w >= 0)):
        raise ValueError(f"weights must be {len(a)} numbers >= 0, one a row.")
    return _Rows(a, signs, _box(C, len(a)), w)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that h is a sum over; C is a number or n of them."""

    alpha: FloatArray
    y: FloatArray
    C: Any
    weight: FloatArray | None

    def __len__(self) -> int:
        return len(self.alpha)

    def take(self, rows: Any) -> _Rows:
        C = self.C if np.ndim(self.C) == 0 else self.C[rows]
        w = None if self.weight is None else self.weight[rows]
        return _Rows(self.alpha[rows], self.y[rows], C, w)

    def pieces(self) -> Iterator[tuple[slice, _Rows]]:
        """The rows in pieces that stay in cache."""
        for start in range(0, len(self), PIECE):
            at = slice(start, start + PIECE)
            yield at, self.take(at)

    def moved(self, mu: float) -> FloatArray:
        """alpha - mu y."""
        a = np.multiply(self.y, -mu)
        a += self.alpha
        return a

    def at(self, mu: float) -> FloatArray:
        """a(mu)."""
        a = self.moved(mu)
        return np.clip(a, 0.0, self.C, out=a)

    def total(self, a: FloatArray) -> float:
        """sum_i w_i y_i a_i."""
        return float(self.y @ (a if self.weight is None else self.weight * a))

    def share(self, mask: FloatArray) -> float:
        """The weight of some rows."""
        return float(np.count_nonzero(mask) if self.weight is None else self.weight @ mask)

    def bends(self) -> FloatArray:
        """Where h bends, in order."""
        both = np.concatenate([self.y * self.alpha, self.y * (self.alpha - self.C)])
        return np.sort(both[np.isfinite(both)])

    def projected(self) -> FloatArray:
        mu = _root(self, _Line())
        a, excess, free = self._with_excess(mu)
        if abs(excess) > SLACK * free * np.spacing(abs(mu)) > 0:  # more than the rounding of mu
            better, left, _ = self._with_excess(mu + excess / free)
            a, excess = (better, left) if abs(left) < abs(excess) else (a, excess)
        self._balance(a, excess, mu)
        return a

    def _with_excess(self, mu: float) -> tuple[FloatArray, float, float]:
        """a(mu), its sum_i w_i y_i a_i without rounding, and the weight of rows inside the box."""
        a, parts, free = np.empty(len(self)), [], 0.0
        for at, rows in self.pieces():
            moved = rows.moved(mu)
            inside = np.clip(moved, 0.0, rows.C, out=a[at])
            free += rows.share(inside == moved)
            signed = rows.y * inside
            parts += exact_parts(signed if rows.weight is None else rows.weight * signed)
        return a, math.fsum(parts), free

    def _balance(self, a: FloatArray, excess: float, mu: float) -> None:
        """Take the excess of the sum off a row inside its bounds, or off the one nearest to it."""
        for at, rows in self.pieces():
            if abs(excess) <= EPS * float(np.max(a, initial=0.0)):
                return
            excess = rows._take_off(a[at], excess)
        while excess:
            falls = self.y * excess > 0
            room = self._weight() * np.where(falls, a, self.C - a)
            beyond = np.where(room > 0, np.abs(self.moved(mu) - a), np.inf)
            i = int(np.argmin(beyond))
            if np.isinf(beyond[i]):
                return
            excess = self._move(a, i, excess, float(room[i]))

    def _take_off(self, a: FloatArray, excess: float) -> float:
        """What is left of the excess after the row that is furthest inside its bounds took it."""
        room = self._weight() * np.minimum(a, self.C - a)
        i = int(np.argmax(room))
        return self._move(a, i, excess, abs(excess)) if room[i] > abs(excess) else excess

    def _move(self, a: FloatArray, i: int, excess: float, most: float) -> float:
        step = math.copysign(min(abs(excess), most), excess)
        a[i] -= self.y[i] * step / float(self._weight()[i])
        return excess - step

    def _weight(self) -> FloatArray:
        return np.ones(len(self)) if self.weight is None else self.weight


@dataclass(frozen=True)
class _Line:
    """What rows left behind add to h: value - slope * (mu - origin)."""

    value: float = 0.0
    slope: float = 0.0
    origin: float = 0.0

    def __call__(self, mu: float) -> float:
        return self.value - self.slope * (mu - self.origin)


def _root(rows: _Rows, others: _Line) -> float:
    """The root of others + h of these rows."""
    while len(rows) > SORTED:
        bending, others = _narrowed(rows, others)
        if len(bending) > 0.9 * len(rows):  # so many equal rows that no sample tells them apart
            rows = bending
            break
        rows = bending
    return _sorted_root(rows, others)


def _narrowed(rows: _Rows, others: _Line) -> tuple[_Rows, _Line]:
    """The rows that bend h in a bracket around its root, and the line that the rest is there."""
    step = len(rows) // SAMPLED
    few = rows.take(slice(step // 2, None, step))
    part = len(few) / len(rows)
    guess = _sorted_root(few, _Line(part * others.value, part * others.slope, others.origin))
    bends = few.bends()
    at, reach = int(np.searchsorted(bends, guess)), int(2.0 * np.sqrt(len(bends)))
    width = float(bends[-1] - bends[0]) + 1.0
    while True:
        low = float(bends[at - reach]) if at >= reach else float(bends[0]) - width
        high = float(bends[at + reach]) if at + reach < len(bends) else float(bends[-1]) + width
        left, right, slope, bending = _between(rows, low, high)
        if others(low) + left >= 0 >= others(high) + right:
            kept = rows.take(bending)
            value = others(low) + left - kept.total(kept.at(low))
            return kept, _Line(value, others.slope + slope, low)
        reach, width = 4 * reach, 4.0 * width


def _between(rows: _Rows, low: float, high: float) -> tuple[float, float, float, NDArray[np.intp]]:
    """h at both ends, the weight of rows free all the way, and which rows bend in between."""
    left = right = slope = 0.0
    found = []
    for at, piece in rows.pieces():
        a, b = piece.moved(low), piece.moved(high)
        at_a, at_b = np.clip(a, 0.0, piece.C), np.clip(b, 0.0, piece.C)
        left, right = left + piece.total(at_a), right + piece.total(at_b)
        free = (at_a == a) & (at_b == b)
        slope += piece.share(free)
        straight = np.logical_or(free, at_a == at_b, out=free)  # free, or at one bound all the way
        found.append(np.flatnonzero(~straight) + at.start)
    return left, right, slope, np.concatenate(found)


def _sorted_root(rows: _Rows, others: _Line) -> float:
    """Bisection over the bends, then one linear piece."""
    bends = rows.bends()

    def h(mu: float) -> float:
        return others(mu) + rows.total(rows.at(mu))

    if len(bends) == 0:
        return others.origin + (others.value / others.slope if others.slope else 0.0)
    low, high = -1, len(bends)  # h >= 0 at bends[low], h < 0 at bends[high]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if h(float(bends[middle])) >= 0 else (low, middle)
    if low >= 0 and high < len(bends):
        a, b = float(bends[low]), float(bends[high])
        at_a, at_b = h(a), h(b)
        return a + (b - a) * (at_a / (at_a - at_b))
    end, beyond = (float(bends[0]), -1.0) if low < 0 else (float(bends[-1]), 1.0)
    slope = h(end) - h(end + beyond)  # beyond the last bend h is one line
    return end if slope == 0.0 else end + beyond * (h(end) / slope)


def exact_parts(x: FloatArray) -> list[float]:
    """Two numbers that add up to sum x, the first of them without any rounding."""
    most = float(np.abs(x).max(initial=0.0))
    if most == 0.0:
        return []
    shift = 1.5 * 2.0 ** (np.frexp(most)[1] + np.frexp(float(len(x)))[1])
    leading = (x + shift) - shift
    return [float(leading.sum()), float((x - leading).sum())]


def _vector(name: str, values: Any) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    # a sum of squares is finite much faster, and overflows where numbers are finite but large
    if array.ndim != 1 or not (np.isfinite(array @ array) or np.all(np.isfinite(array))):
        raise ValueError(f"{name} must be a vector of finite numbers, got shape {array.shape}.")
    return array


def _box(C: Any, n: int) -> Any:
    box = np.asarray(C, dtype=np.float64)
    if box.shape not in ((), (n,)) or not np.all(box > 0):
        raise ValueError(
            f"C must be a number above zero or {n} of them, one a row; got {C!r}. Infinity is the "
            "set of the l2-SVM."
        )
    return float(box) if box.ndim == 0 else box
