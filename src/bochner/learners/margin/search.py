"""One round of the search: peaks on a sample of the rows, a few of them chosen, polished on all.

1. Chains start from the family's own base measure times 1.5 in variance (appendix A) and times a
   scale. The scale decides whether anything is found (in two dimensions the windmill stays at
   chance with the bandwidth's own), so a short climb tries several; later rounds spread their
   chains over a factor of two around the winner.
2. Chains that end on the same peak are one peak. Which of the others are taken is played out: the
   game goes on, on the sample, one found peak at a time, and the next one taken is the best
   response to weights that already know the one before. Ten peaks a round are then ten rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import ops, statistics
from ...families.fourier import FourierFamily
from ...ops import Dense, FloatArray, Projection
from ...rows import Hook, MemorySource
from .games import Game
from .ledger import Ledger, state_as_coefficients
from .peaks import Climb, Peaks, Surface, climb, polish

#: Factors on the family's own scale that are tried, each by a quarter of the chains but not fewer
#: than these, for which share of steps; a scale is as good as so many of its best chains.
SCALES = (1.0, 0.5, 0.25, 2.0, 4.0, 8.0, 16.0)
TRIAL_CHAINS, TRIAL, BEST = 16, 0.25, 4
#: Frequencies closer than this (in units of 1 / L, up to sign) are one peak.
APART = 0.1
#: Quasi-Newton steps on all rows.
POLISH = 3


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows with the joint weight and joint coefficient of their copies."""

    X: Any
    rows: FloatArray  # where each first stands among all rows
    weight: FloatArray
    r: FloatArray

    @classmethod
    def of(cls, ledger: Ledger, r: FloatArray, size: int, seed: int) -> Sample:
        rows = ledger.choose(r, size, seed)
        ones = ledger.joint(np.ones(len(ledger)), rows)
        return cls(ledger.rows(rows), rows, ones, ledger.joint(r, rows))

    def surface(self) -> Surface:
        """The potential of the sample."""
        source = MemorySource(self.X, self.r)
        return lambda W: statistics.potential(source, W, _targets)

    def largest(self, W: FloatArray) -> float:
        """The largest potential at these frequencies, as a share of the mass squared."""
        if not len(W):
            return 0.0
        S = ops.project(self.X, Projection(Dense(W), "pair"), self.r[:, None])[:, 0]
        return float((S[0::2] ** 2 + S[1::2] ** 2).max()) / self.mass**2

    def waves(self, W: FloatArray) -> FloatArray:
        """cos and sin of these frequencies at the rows, beside each other."""
        return np.asarray(ops.features(self.X, Projection(Dense(W), "pair")))

    @property
    def mass(self) -> float:
        """sum_i w_i |r_i|."""
        return float(np.abs(self.r).sum())


def _targets(block: Any) -> FloatArray:
    return np.asarray(block.y[:, None])


@dataclass(frozen=True, eq=False)
class Search:
    """What stays the same from round to round."""

    ledger: Ledger
    family: FourierFamily
    L: float
    how: Climb
    chains: int
    size: int
    rng: np.random.Generator
    hook: Hook

    def draw(self, count: int, scale: Any) -> FloatArray:
        """Frequencies to start from, in the precision of the rows."""
        d, k = self.ledger.source.n_features, self.family.columns_per_atom
        drawn = self.family.draw(count * k, d, self.rng).operator.to_matrix()
        dtype = self.ledger.source.schema.dtype
        return np.asarray(np.sqrt(1.5) * np.reshape(scale, (-1, 1)) * drawn).astype(dtype)

    def sample(self, r: FloatArray) -> Sample:
        """Some of the rows that have a coefficient, others in each round."""
        return Sample.of(self.ledger, r, self.size, int(self.rng.integers(2**62)))

    def best_scale(self, r: FloatArray) -> tuple[float, dict[float, float]]:
        """The scale from which short climbs reach most, and what each reached (a share)."""
        sample = self.sample(r)
        short = Climb(
            self.how.method,
            max(1, int(TRIAL * self.how.steps)),
            self.how.step,
            self.how.temperature,
            self.how.longest,
        )
        count = max(TRIAL_CHAINS, self.chains // 4)
        reached = {}
        for scale in SCALES:
            W = self.draw(count, scale)
            found = climb(sample.surface(), W, self.L, sample.mass, short, self.rng)
            reached[scale] = float(np.sort(found.value)[-BEST:].mean())
            reached[scale] /= sample.mass**2
        best = max(reached, key=lambda scale: reached[scale])
        return best, reached

    def peaks(self, sample: Sample, scale: float) -> Peaks:
        """The climb of one round."""
        spread = scale * 2.0 ** self.rng.uniform(-1.0, 1.0, self.chains)
        W = self.draw(self.chains, spread)
        return climb(sample.surface(), W, self.L, sample.mass, self.how, self.rng)

    def polished(self, W: FloatArray, r: FloatArray, rounds: int) -> Peaks:
        """A few quasi-Newton steps on all rows; with none, the value there."""
        ledger = self.ledger
        state = ledger.state(r)

        def surface(W: FloatArray) -> statistics.Potential:
            return statistics.potential(
                ledger.source, W, state_as_coefficients, hook=self.hook, row_state=state
            )

        return polish(surface, W, self.L, rounds, self.how.longest)


def nearest(W: FloatArray, others: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Which of the others is closest to each row of W, up to sign, and how far that is."""
    if not len(others):
        return np.zeros(len(W), dtype=np.intp), np.full(len(W), np.inf)
    gaps = [
        np.minimum(np.linalg.norm(others - w, axis=1), np.linalg.norm(others + w, axis=1))
        for w in W
    ]
    at = np.array([np.argmin(gap) for gap in gaps], dtype=np.intp)
    return at, np.array([gap[i] for gap, i in zip(gaps, at, strict=True)])


def distinct(W: FloatArray, others: FloatArray, nearest: float) -> FloatArray:
    """Indices of rows of W at least so far from ``others``, from rows before, and their mirrors."""
    kept: list[int] = []
    for i, w in enumerate(W):
        near = np.concatenate([others, W[kept]])
        gap = np.minimum(np.linalg.norm(near - w, axis=1), np.linalg.norm(near + w, axis=1)).min(
            initial=np.inf
        )
        if gap >= nearest:
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def responses(
    game: Game, a: FloatArray, sample: Sample, W: FloatArray, count: int, t: int, again: bool
) -> list[int]:
    """Which of the frequencies W to take, each the best response to the weights after the last.

    The game goes on from round t on the rows of the sample, where one frequency is one round;
    ``again`` says whether one may be the best response more than once.
    """
    few, a = Game.take(game, sample.rows), a[sample.rows].copy()
    few = type(game)(few.y, sample.weight, few.C)
    phi = sample.waves(W)
    taken: list[int] = []
    for j in range(count if again else min(count, len(W))):
        r = few.weight * few.coefficients(a)
        S = np.asarray(phi.T @ r.astype(phi.dtype), dtype=np.float64)
        v = S[0::2] ** 2 + S[1::2] ** 2
        if not again:
            v[taken] = -np.inf
        best = int(np.argmax(v))
        taken.append(best)
        pair = slice(2 * best, 2 * best + 2)
        a, _ = few.ascend(a, phi[:, pair] @ S[pair], (t - 1) * count + j + 1)
    return taken
