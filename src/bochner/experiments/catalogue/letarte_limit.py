"""The continuous pseudo-posterior of Letarte et al. 2019, eq. (11), is the limit of discrete ones.

On a line the measure q*(w), proportional to p(w) exp(-beta sqrt(n) L(w)), can be integrated: its
kernel k(d) = E cos(w d) is known to many digits. Discrete ones over N draws of p come near it at
the rate N^-1/2, as does a Markov chain on q* itself with as many losses to evaluate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...learners import pseudo_posterior
from ...ops import FloatArray
from .. import Experiment, Outcome, Picture, Result, Score, Split, Trial, pictures

N_ROWS, BETA, CHAINS = 500, 1.0, 100
DISCRETE, CHAIN = "discrete, N draws of the prior", "Markov chain, N losses"
FAR = Score("largest |k - limit|", lambda y, k: float(np.abs(np.asarray(y) - k).max()))
#: Nodes of the integral over w, in deviations of the prior.
REACH, NODES = 8.0, 4001


@lru_cache(maxsize=1)
def rows() -> tuple[FloatArray, FloatArray]:
    """Two classes in stripes; the prior N(0, 1) has to find the frequency pi / 1.5."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, N_ROWS)
    noise = rng.random(N_ROWS) < 0.1
    return x, (np.mod(np.floor(x / 1.5), 2) != noise).astype(np.float64)


def losses(w: FloatArray) -> FloatArray:
    """L(w) of eq. (9) for many w."""
    x, y = rows()
    S = [np.exp(1j * np.outer(w, x[y == label])).sum(axis=1) for label in (0, 1)]
    return pseudo_posterior.losses(np.stack(S, axis=1), N_ROWS)


@lru_cache(maxsize=1)
def limit() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of q* on a fine grid."""
    w = np.linspace(-REACH, REACH, NODES)
    log_q = -0.5 * w**2 - BETA * np.sqrt(N_ROWS) * losses(w)
    q = np.exp(log_q - log_q.max())
    return w, q / q.sum()


def kernel(w: FloatArray, q: FloatArray, distance: FloatArray) -> FloatArray:
    """E cos(w d)."""
    out = [q @ np.cos(np.outer(w, part)) for part in np.array_split(distance, 20)]
    return np.concatenate(out)


def split(seed: int) -> Split:
    """The "test rows" are distances, and their targets the kernel of the limit."""
    x, y = rows()
    distance = np.linspace(0.0, 6.0, 200)
    return Split("stripes on a line", x, y, distance, kernel(*limit(), distance))


@dataclass(frozen=True)
class Sampled:
    """A kernel from N losses: discrete (19), or a random walk over w."""

    name: str
    N: int

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        rng = np.random.default_rng([seed, self.N])
        w, q = self._walk(rng) if self.name == CHAIN else self._draw(rng)
        return Outcome(lambda distance: kernel(w, q, distance), None, {}, keep=(w, q))

    def _draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        w = rng.standard_normal(self.N)
        return w, pseudo_posterior.posterior(losses(w), N_ROWS, BETA)

    def _walk(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Metropolis in several chains from the prior; the first half of each is left out."""
        many = min(CHAINS, max(1, self.N // 10))
        w = rng.standard_normal(many)
        at, kept = _log_density(w), []
        for _ in range(self.N // many - 1):
            new = w + rng.standard_normal(many)
            there = _log_density(new)
            taken = np.log(rng.random(many)) < there - at
            w, at = np.where(taken, new, w), np.where(taken, there, at)
            kept.append(w)
        w = np.concatenate(kept[len(kept) // 2 :])
        return w, np.full(len(w), 1.0 / len(w))


def _log_density(w: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * w**2 - BETA * np.sqrt(N_ROWS) * losses(w))


def trials(quick: bool) -> Sequence[Trial]:
    sizes = (100, 1000) if quick else (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    return [
        Trial(
            split,
            [Sampled(DISCRETE, N), *([Sampled(CHAIN, N)] if N >= 100 else [])],
            seeds=range(3 if quick else 20),
            point={"N": N},
            score=FAR,
        )
        for N in sizes
    ]


def curve(result: Result) -> Any:
    """Distance from the limit against N, and some of the kernels."""
    figure, (left, right) = pictures.figure(2)
    pictures.curves(left, result, "N")
    lines = result.where(method=DISCRETE)
    N = np.array([line.point["N"] for line in lines], dtype=float)
    left.plot(N, lines[-1].mean * np.sqrt(N[-1] / N), color="#222222", lw=0.8, ls=":")
    left.set(xscale="log", yscale="log", title="dotted: N^-1/2")
    distance = np.linspace(0.0, 6.0, 200)
    drawn = [one for one in result.kept if one[0].method == DISCRETE]
    for (line, (w, q)), colour in zip((drawn[0], drawn[-1]), pictures.COLOURS, strict=False):
        label = f"N = {line.point['N']:,}"
        right.plot(distance, kernel(w, q, distance), color=colour, label=label)
    right.plot(distance, kernel(*limit(), distance), color="#222222", ls=":", label="limit")
    right.plot(distance, np.exp(-0.5 * distance**2), color="#8d99ae", lw=1, label="prior")
    right.set(xlabel="distance", ylabel="kernel", title="learned kernels")
    right.legend(frameon=False, fontsize=8)
    return figure


def findings(result: Result) -> list[str]:
    """The slope of the logarithms; -1/2 is what independent draws have."""
    lines = result.where(method=DISCRETE)
    N, far = (
        np.log([f(line) for line in lines]) for f in (lambda o: o.point["N"], lambda o: o.mean)
    )
    return [f"discrete ones come near the limit as N^{np.polyfit(N, far, 1)[0]:.2f}"]


EXPERIMENT = Experiment(
    "letarte_limit",
    "Letarte, Morvant & Germain 2019, eq. (11): the continuous pseudo-posterior is a limit",
    "500 rows on a line in two classes, stripes of width 1.5 with a tenth of the labels wrong; "
    "prior N(0, 1), beta = 1. The limit by numerical integration; the largest distance of kernels "
    "over 200 distances from 0 to 6.",
    trials,
    (Picture("convergence", curve),),
    findings,
)
