"""From a threshold to dense weights, and what is measured on the weights as they are returned.

The gap is to the dual bound  (1+rho)^(1/k) (mean [v-eta]_+^k*)^(1/k*) + eta,  k* = k/(k-1), at the
eta of the solution. For weights of this form it equals

    (q'v - eta) (((1 + rho) / (1 + D(q)))^(1/k) - 1)

which is how it is computed, the divergence D(q) measured on the weights: the difference of the two
values themselves would be all rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray
from ..base import Selection
from .depths import PIECE, Depths
from .level import Level, dot, share_power

_SERIES = 1e-4


def selection(
    scores: FloatArray, x: Depths, rho: float, k: float, status: str, level: Level
) -> Selection:
    """The dense weights at a threshold, and what is known of them."""
    active = _active(x, level)
    w = np.empty(len(active.support))
    total, mean = _fill(w, active, level, k) if status == "active" else _even(w, active)
    divergence, squares = _normalised(w, total, x.n, k)
    weights = w
    if len(w) < x.n:
        weights = np.zeros(x.n)
        weights[active.support] = w
    stats = {
        "gap": x.difference(_gap(level, mean, divergence, rho, k)) if status == "active" else 0.0,
        "eta": x.score(level.height) if status != "uniform" else -np.inf,
        "rho": rho,
        "divergence": divergence,
        "value": x.score(mean),
        "effective": 1.0 / squares,
    }
    return Selection(status, scores, weights, active.support, stats)


@dataclass(frozen=True, eq=False)
class _Active:
    """The candidates above the threshold; their depths in pieces (held where they are few)."""

    support: NDArray[np.intp]
    depths: Depths
    held: FloatArray | None

    def pieces(self) -> Iterator[tuple[slice, FloatArray]]:
        if self.held is None:
            yield from self.depths.pieces()
            return
        for start in range(0, len(self.held), PIECE):
            part = slice(start, start + PIECE)
            yield part, self.held[part]


def _active(x: Depths, level: Level) -> _Active:
    if level.n_active == x.n:
        return _Active(np.arange(x.n), x, None)
    places, held = [], []
    for part, depth in x.pieces():
        found = np.flatnonzero(depth <= level.anchor)
        places.append(found + part.start)
        held.append(depth[found])
    return _Active(np.concatenate(places), x, np.concatenate(held))


def _even(w: FloatArray, active: _Active) -> tuple[float, float]:
    """Ones; their sum and the mean depth."""
    w[:] = 1.0
    return float(len(w)), sum(float(depth.sum()) for _, depth in active.pieces()) / len(w)


def _fill(w: FloatArray, active: _Active, level: Level, k: float) -> tuple[float, float]:
    """a^(1/(k-1)); their sum and the mean depth under them."""
    total = weighed = 0.0
    for part, depth in active.pieces():
        a = share_power(level, depth, 1.0 / (k - 1.0), out=w[part])
        total += float(a.sum())
        weighed += dot(a, depth)
    return total, weighed / total


def _normalised(w: FloatArray, total: float, N: int, k: float) -> tuple[float, float]:
    """Divide in place, and measure what comes out: the divergence mean((N q)^k) - 1, as a mean of
    terms that are not negative, and sum q^2.
    """
    terms = squares = 0.0
    with np.errstate(over="ignore"):
        for start in range(0, len(w), PIECE):
            part = w[start : start + PIECE]
            part /= total
            squares += dot(part, part)
            terms += float(excess(N * part - 1.0, k).sum())
        return (terms + (N - len(w)) * (k - 1.0)) / N, squares


def _gap(level: Level, mean: float, divergence: float, rho: float, k: float) -> float:
    short = np.log1p(rho) - np.log1p(divergence)
    if abs(short) < 0.5:
        short = np.log1p((rho - divergence) / (1.0 + divergence))
    return abs((level.height - mean) * float(np.expm1(short / k)))


def excess(t: FloatArray, k: float) -> FloatArray:
    """(1 + t)^k - 1 - k t >= 0, t >= -1: what the divergence is the mean of, where mean t = 0."""
    if k == 2.0:
        return t * t
    if k == 3.0:
        return t * t * (3.0 + t)
    if k == 1.5:
        r = np.sqrt(1.0 + t)
        return np.asarray((t / (1.0 + r)) ** 2 * (r + 0.5))
    if np.abs(t).max(initial=0.0) < _SERIES:
        series = (k - 2.0) / 3.0 * t * (1.0 + (k - 3.0) / 4.0 * t * (1.0 + (k - 4.0) / 5.0 * t))
        return np.asarray(k * (k - 1.0) / 2.0 * t * t * (1.0 + series))
    with np.errstate(divide="ignore", invalid="ignore"):  # written so that k near 1 keeps digits
        grown = (1.0 + t) * np.expm1((k - 1.0) * np.log1p(t)) - (k - 1.0) * t
    return np.where(t > -1.0, grown, k - 1.0)
