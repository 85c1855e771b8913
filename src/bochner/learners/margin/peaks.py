"""Algorithm 1 of Bullins et al.: peaks of the Fourier potential v(w) = |sum_i r_i exp(i w.x_i)|^2.

Units are those of the data. With L the typical distance of two rows, v the share v / (sum |r|)^2
in [0, 1], and k = 0 .. K - 1 the step,

    momentum   m <- 0.9 m + 0.1 g / |g|,   w <- w + (1 - k / K) (step / L) (m + temperature z)
    langevin   w <- w + step (g + |g| temperature z) / L^2,   g the gradient of the share

with z a random direction of length one on average. Nothing else is set, so that the same settings
serve X in other units, other numbers of rows, and other numbers of chains.

1. Plain Langevin steps are as long as the gradient, which is next to nothing away from peaks, in
   high dimension nearly everywhere. Steps of a given length with momentum reach in 30 steps what
   these do not reach in 300.
2. Where a value or gradient is not a finite number the chain goes back to where it last was one,
   with steps half as long from there on; how often is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...ops import FloatArray
from ...statistics import Potential

#: The potential at some frequencies, F x d.
Surface: TypeAlias = Callable[[FloatArray], Potential]

MOMENTUM = 0.9
#: Pairs of steps that a quasi-Newton direction remembers.
MEMORY = 5


@dataclass(frozen=True)
class Climb:
    """How chains move: K steps of length ``step`` / L, and the noise in them."""

    method: str
    steps: int
    step: float
    temperature: float
    longest: float  # the l2 band limit, in units of the frequencies; infinite for none


@dataclass(frozen=True, eq=False)
class Peaks:
    """The best point of each chain (F x d), its potential (F), and how many steps were reduced."""

    frequencies: FloatArray
    value: FloatArray
    reduced: int


def climb(
    surface: Surface, W: FloatArray, L: float, mass: float, how: Climb, rng: np.random.Generator
) -> Peaks:
    """Chains from the rows of W; the best point of each over the whole way."""
    W = shortened(W, how.longest)
    best, top = W.copy(), np.full(len(W), -np.inf)
    last, m, lr, reduced = W, np.zeros_like(W), np.ones((len(W), 1)), 0
    for k in range(how.steps + 1):
        v, g, sound = _looked_up(surface, W)
        reduced += int(np.count_nonzero(~sound))
        W, lr = np.where(sound[:, None], W, last), np.where(sound[:, None], lr, lr / 2.0)
        higher = sound & (v > top)
        best[higher], top[higher] = W[higher], v[higher]
        if k == how.steps:
            break
        last = W
        step, m = _step(g / mass**2, m, L, how, rng, 1.0 - k / how.steps)
        W = shortened((W + lr * step).astype(W.dtype, copy=False), how.longest)
    if not np.all(np.isfinite(top)):
        raise ValueError(
            "the Fourier potential is not finite even where the search begins: X holds NaN or "
            "infinity, or numbers so large that its products overflow. Check or rescale X."
        )
    return Peaks(best, top, reduced)


def _looked_up(surface: Surface, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and gradient, zero where they are not finite, and where they are."""
    with np.errstate(all="ignore"):
        found = surface(W)
        sound = np.isfinite(found.value) & np.isfinite(found.gradient).all(axis=1)
    gradient = np.where(sound[:, None], found.gradient, 0.0)
    return np.where(sound, found.value, -np.inf), gradient, sound


def _step(
    g: FloatArray, m: FloatArray, L: float, how: Climb, rng: np.random.Generator, left: float
) -> tuple[FloatArray, FloatArray]:
    noise = 0.0
    length = np.linalg.norm(g, axis=1, keepdims=True)
    if how.temperature > 0.0:
        noise = how.temperature * rng.standard_normal(g.shape) / np.sqrt(g.shape[1])
    if how.method == "langevin":
        return how.step / L**2 * (g + length * noise), m
    m = MOMENTUM * m + (1.0 - MOMENTUM) * g / np.where(length > 0, length, 1.0)
    return left * how.step / L * (m + noise), m


def shortened(W: FloatArray, longest: float) -> FloatArray:
    """Frequencies moved into the band |w| <= longest."""
    if np.isinf(longest):
        return W
    length = np.linalg.norm(W, axis=1, keepdims=True)
    return np.asarray(W * np.minimum(1.0, longest / np.maximum(length, 1e-300)), dtype=W.dtype)


def polish(surface: Surface, W: FloatArray, L: float, rounds: int, longest: float) -> Peaks:
    """A few quasi-Newton (L-BFGS) steps of each row of W; none ever goes down."""
    found = surface(W)
    v, g = found.value, found.gradient
    first = 0.1 / (L * np.maximum(np.linalg.norm(g, axis=1), 1e-300))
    history: list[tuple[FloatArray, FloatArray]] = []
    lr, reduced = np.ones(len(W)), 0
    for _ in range(rounds):
        step = lr[:, None] * _direction(g, history, first)
        tried = shortened((W + step).astype(W.dtype, copy=False), longest)
        value, slope, _ = _looked_up(surface, tried)
        up = value > v
        reduced += int(np.count_nonzero(~up))
        s = np.where(up[:, None], tried - W, 0.0).astype(np.float64)
        history = [*history[1 - MEMORY :], (s, np.where(up[:, None], g - slope, 0.0))]
        W, v = np.where(up[:, None], tried, W), np.where(up, value, v)
        g, lr = np.where(up[:, None], slope, g), np.where(up, 1.0, lr / 4.0)
    return Peaks(W, v, reduced)


def _direction(
    g: FloatArray, history: list[tuple[FloatArray, FloatArray]], first: FloatArray
) -> FloatArray:
    """The two-loop recursion for all rows at once; pairs of negative curvature are left out."""
    q, used = g.copy(), []
    scale = first.copy()
    for s, y in reversed(history):
        sy = np.einsum("fd,fd->f", s, y)
        rho = np.where(sy > 0, 1.0 / np.where(sy > 0, sy, 1.0), 0.0)
        a = rho * np.einsum("fd,fd->f", s, q)
        q -= a[:, None] * y
        used.append((s, y, rho, a))
    for _, y, rho, _ in reversed(used):
        yy = np.einsum("fd,fd->f", y, y)
        scale = np.where(rho > 0, 1.0 / np.maximum(rho * yy, 1e-300), scale)
    q *= scale[:, None]
    for s, y, rho, a in reversed(used):
        b = rho * np.einsum("fd,fd->f", y, q)
        q += (a - b)[:, None] * s
    length = np.linalg.norm(q, axis=1)
    most = 10.0 * first * np.linalg.norm(g, axis=1)  # 1 / L: further is another peak
    return np.asarray(q * np.minimum(1.0, most / np.maximum(length, 1e-300))[:, None])
