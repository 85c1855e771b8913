"""A discrete Markov chain over index sets too large to scan (Bullins et al. 2018, A.3).

Columns that know their neighbours (harmonics do) are walked over by Metropolis steps whose
stationary distribution is proportional to exp(beta v / mean v), with v = (sum_i w_i r_i phi(x_i))^2
and the mean that of columns drawn afresh: so beta has no unit.

1. What is kept is the best of the whole trajectory, not its end. Nothing certifies that the best
   column was seen; the row player's value is then one over the columns looked at.
2. Half of the chains start from the best columns so far, since peaks move little between rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...families import Family
from ...families.harmonics import HarmonicColumns
from ...feature_map import FeatureMap
from ...ops import FloatArray
from .finite import scan_all
from .ledger import Ledger


@dataclass(frozen=True, eq=False)
class IndexChains:
    """Candidates joined by the best columns that chains of a round have seen.

    chains: how many walk side by side; steps: how far; beta: how strongly they are drawn upwards;
    keep: new columns of a round at most.
    """

    ledger: Ledger
    family: Family
    max_degree: int
    rng: np.random.Generator
    chains: int = 64
    steps: int = 40
    beta: float = 1.0
    keep: int = 64

    def __call__(self, candidates: FeatureMap, r: FloatArray) -> FeatureMap:
        columns = candidates.projection
        assert isinstance(columns, HarmonicColumns)
        now, v, unit = self._starts(columns, r)
        seen = now.take(np.empty(0, np.intp)).joined(now)  # each once
        known = dict(zip(now.indices.keys(), v, strict=True))
        reached = np.array([known[key] for key in seen.indices.keys()])  # noqa: SIM118
        for _ in range(self.steps):
            now, v, step, value = self.walk(now, v, unit, r)
            known = dict(zip(step.indices.keys(), value, strict=True))
            more = seen.joined(step)
            fresh = more.indices.keys()[seen.n_columns :]
            seen, reached = more, np.concatenate([reached, [known[key] for key in fresh]])
        best = np.argsort(-reached, kind="stable")[: self.keep]
        joined = columns.joined(seen.take(best))
        return FeatureMap(self.family, joined, np.ones(joined.n_columns))

    def walk(
        self, now: HarmonicColumns, v: FloatArray, unit: float, r: FloatArray
    ) -> tuple[HarmonicColumns, FloatArray, HarmonicColumns, FloatArray]:
        """One Metropolis step of all chains; and what was proposed, with its potential."""
        step, ratio = now.neighbours(self.max_degree, self.rng)
        value = self.potential(step, r)
        chance = np.exp(np.minimum(self.beta * (value - v) / unit, 50.0)) * ratio
        taken = self.rng.random(self.chains) < chance
        return _either(taken, step, now), np.where(taken, value, v), step, value

    def potential(self, columns: HarmonicColumns, r: FloatArray) -> FloatArray:
        """v of some columns, one pass."""
        fm = FeatureMap(self.family, columns, np.ones(columns.n_columns))
        return np.asarray(scan_all(self.ledger, fm, r) ** 2)

    def _starts(
        self, columns: HarmonicColumns, r: FloatArray
    ) -> tuple[HarmonicColumns, FloatArray, float]:
        """Where chains start, v there, and the mean v of columns drawn afresh."""
        d = self.ledger.source.n_features
        most = self.family.n_available(d) or self.chains
        drawn = self.family.draw(min(self.chains, most), d, self.rng)
        assert isinstance(drawn, HarmonicColumns)
        v, known = self.potential(drawn, r), self.potential(columns, r)
        best = np.argsort(-known, kind="stable")[: self.chains // 2]
        fresh = np.arange(self.chains - len(best)) % drawn.n_columns
        start, at = drawn.take(fresh), v[fresh]
        both = _stacked(start, columns.take(best))
        return both, np.concatenate([at, known[best]]), max(float(v.mean()), 1e-300)


def _stacked(a: HarmonicColumns, b: HarmonicColumns) -> HarmonicColumns:
    indices = type(a.indices)(
        a.indices.d,
        np.concatenate([a.indices.order, b.indices.order]),
        np.concatenate([a.indices.units, b.indices.units]),
    )
    return HarmonicColumns(indices, a.normalise, a.scale)


def _either(first: FloatArray, a: HarmonicColumns, b: HarmonicColumns) -> HarmonicColumns:
    """Row by row a where ``first``, else b."""
    n = a.n_columns
    return _stacked(a, b).take(np.where(first, np.arange(n), n + np.arange(n)))
