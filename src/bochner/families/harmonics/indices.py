"""Which harmonics there are on the sphere S^(d-1), counted, numbered and named.

A harmonic of degree l is a chain of degrees l = l_{d-1} >= l_{d-2} >= ... >= l_2 >= |m|, one for
each sphere S^(k-1) of the first k coordinates (Higuchi 1987; Bullins et al. 2018, B.2), m < 0 for
the sine. We write down where the chain falls: l - |m| *units*, each at a coordinate k from 3 to d,
l_{k-1} - l_{k-2} of them at k. So a harmonic is |m| + its units whatever d is, and counting
them by "is there a unit at k?" gives all we need:

    N(k, l) = N(k - 1, l) + N(k, l - 1),    N(2, 0) = 1,  N(2, l) = 2

with N(d, l) = C(d+l-1, l) - C(d+l-3, l-2). Degrees rise with the number of a harmonic; in one
degree those without a unit at d come first, those without one at d - 1 first among these, and so
on; the cosine before the sine.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from ...ops.projection import FloatArray

Whole = NDArray[np.int64]

#: Numbers of harmonics are 64-bit integers; there is nothing to be done with more of them.
MOST = 2**62


def count(d: int, degree: int) -> int:
    """N(d, l): how many harmonics of exactly this degree there are on S^(d-1)."""
    if degree < 2:
        return 1 if degree == 0 else d
    return comb(d + degree - 1, degree) - comb(d + degree - 3, degree - 2)


def count_up_to(d: int, max_degree: int) -> int:
    """sum of N(d, l) over l <= max_degree, which is N(d + 1, max_degree)."""
    return count(d + 1, max_degree)


@dataclass(frozen=True, eq=False)
class Indices:
    """Harmonics of S^(d-1), one row each: m, and the coordinates of their units, highest first.

    order: (M,); units: (M, P) of 3 .. d, zeros behind them.
    """

    d: int
    order: Whole
    units: Whole

    def __len__(self) -> int:
        return len(self.order)

    @property
    def degree(self) -> Whole:
        """l."""
        return np.asarray(np.abs(self.order) + np.count_nonzero(self.units, axis=1))

    def take(self, rows: NDArray[np.intp] | slice) -> Indices:
        return Indices(self.d, self.order[rows], self.units[rows])

    def keys(self) -> list[bytes]:
        """Something to tell harmonics apart by."""
        both = np.concatenate([self.order[:, None], self.units], axis=1)
        return [row.tobytes() for row in np.ascontiguousarray(both)]

    def joined(self, others: Indices) -> Indices:
        """These and those of the others that are new, each once."""
        seen = set(self.keys())
        new = []
        for row, key in enumerate(others.keys()):
            if key not in seen:
                seen.add(key)
                new.append(row)
        order = np.concatenate([self.order, others.order[new]])
        return Indices(self.d, order, np.concatenate([self.units, others.units[new]]))

    def chain(self, row: int) -> list[int]:
        """l_{d-1}, ..., l_2, m; on the circle l, m."""
        m, units = int(self.order[row]), self.units[row]
        levels = [int(np.count_nonzero((units > 0) & (units <= k))) for k in range(self.d, 2, -1)]
        return [abs(m) + n for n in levels or [0]] + [m]

    def names(self) -> tuple[str, ...]:
        """Y[l;l_{d-2},...,l_2,m]."""
        chains = (self.chain(row) for row in range(len(self)))
        return tuple(f"Y[{first};{','.join(map(str, rest))}]" for first, *rest in chains)


def numbered(d: int, max_degree: int, numbers: Whole) -> Indices:
    """The harmonics with these numbers, 0 <= number < count_up_to(d, max_degree)."""
    ends = np.cumsum([count(d, degree) for degree in range(max_degree + 1)])
    degrees = np.searchsorted(ends, numbers, side="right")
    order = np.zeros(len(numbers), np.int64)
    units = np.zeros((len(numbers), max_degree), np.int64)
    for degree in np.unique(degrees):
        rows = np.flatnonzero(degrees == degree)
        rank = numbers[rows] - (ends[degree] - count(d, int(degree)))
        order[rows], units[rows, :degree] = _ranked(d, int(degree), rank)
    return Indices(d, order, units)


def _ranked(d: int, degree: int, rank: Whole) -> tuple[Whole, Whole]:
    """m and units of the harmonics of one degree by their rank in it: the recursion of N(k, l)."""
    order, units = np.zeros(len(rank), np.int64), np.zeros((len(rank), degree), np.int64)
    active, rank = np.arange(len(rank)), rank.copy()
    for slot in range(degree + 1):
        left = degree - slot
        table = np.array([count(k, left) for k in range(2, d + 1)])
        k = 2 + np.searchsorted(table, rank[active], side="right")
        flat = active[k == 2]
        order[flat] = np.where(rank[flat] == 0, left, -left)
        active, k = active[k > 2], k[k > 2]
        if len(active):
            units[active, slot] = k
            rank[active] -= table[k - 3]
    return order, units


def neighbours(
    indices: Indices, max_degree: int, rng: np.random.Generator
) -> tuple[Indices, FloatArray]:
    """A step from each harmonic, and q(back) / q(there) for the Metropolis rule.

    A unit moves between coordinates, m and "unused" (which changes the degree): bins 3 .. d, 2
    and 0, any two of them as likely as any others, none where the first is empty. Instead, one
    time in four, the sine turns cosine and back.
    """
    order, units = indices.order.copy(), indices.units.copy()
    ratio = np.ones(len(order))
    bins = np.array([0, *range(2, indices.d + 1)])
    for row in range(len(order)):
        if rng.random() < 0.25:
            order[row] = -order[row]
            continue
        source, target = rng.choice(bins, 2, replace=False)
        order[row], units[row], ratio[row] = _moved(
            int(order[row]), units[row], int(source), int(target), max_degree, rng
        )
    return Indices(indices.d, order, units), ratio


def _moved(
    m: int, units: Whole, source: int, target: int, max_degree: int, rng: np.random.Generator
) -> tuple[int, Whole, float]:
    """One unit from bin to bin; m = 0 has no sine, so half the steps from it lead to either."""
    held = sorted(units[units > 0].tolist())
    room = max_degree - abs(m) - len(held)
    available = {0: room, 2: abs(m)}.get(source, held.count(source))
    if available == 0:
        return m, units, 1.0
    ratio, sign = 1.0, np.sign(m)
    if source == 2:
        ratio, m = (0.5 if abs(m) == 1 else 1.0), m - int(sign)
    elif source > 2:
        held.remove(source)
    if target == 2:
        ratio, m = (2.0, int(rng.choice([-1, 1]))) if m == 0 else (ratio, m + int(sign))
    elif target > 2:
        held.append(target)
    after = np.zeros_like(units)
    after[: len(held)] = sorted(held, reverse=True)
    return m, after, ratio
