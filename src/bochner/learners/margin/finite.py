"""The game over finitely many columns, played to a certified gap by scanning them all.

A round scans every column once (one `project`), which certifies the row player's value. Columns
that do better than those in play join them, and the game on these alone is played to a gap that is
a part of the gap over all (`dynamics`). Where nothing outside does better both games have the same
value, so the gap that is left is that of the whole game. A column that is found again only changes
its weight: there are no duplicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import statistics
from ...feature_map import FeatureMap
from ...linear.design import FEATURE_BYTES
from ...ops import FloatArray
from .dynamics import Values, solve
from .games import Game
from .ledger import Collect, Ledger, state_as_coefficients
from .mixtures import Mixtures

#: Groups that join in the first round; later at most half as many as are in play.
FIRST = 32
#: The share of the gap over all columns that may be left among those in play.
INNER = 0.3

#: Candidates after a look for better ones: the old, in their places, and perhaps new ones behind.
Explore: TypeAlias = Callable[[FeatureMap, FloatArray], FeatureMap]


@dataclass(frozen=True)
class Scan:
    """A round over all columns: the bracket of the game's value so far, and what was in play."""

    lower: float
    upper: float
    n_groups: int
    n_columns: int
    steps: int

    @property
    def gap(self) -> float:
        return self.upper - self.lower


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Where the game was left.

    u: coefficients of all candidates; weights: their measure, which sums to one; scores: v at the
    last scan; a: weights of the rows that reached the lower value; values: the certified bracket,
    relative ``gap`` = (upper - lower) / upper.
    """

    candidates: FeatureMap
    u: FloatArray
    weights: FloatArray
    scores: FloatArray
    a: FloatArray
    values: Values
    scans: tuple[Scan, ...]
    status: str

    @property
    def gap(self) -> float:
        return self.values.gap / max(self.values.upper, 1e-300)


def equilibrium(
    ledger: Ledger,
    game: Game,
    candidates: FeatureMap,
    labels: Callable[[FeatureMap], Any] | None = None,
    *,
    gap: float = 0.01,
    scans: int = 50,
    explore: Explore | None = None,
    stop: Callable[[Scan], bool] | None = None,
) -> Equilibrium:
    """Play to a relative gap. ``labels`` puts candidates in groups of equal weight."""
    state = _Table(ledger, game, candidates, labels, explore)
    status = "scans used up"
    for _ in range(scans):
        found = state.scan()
        if found.gap <= gap * found.upper:
            status = "certified"
            break
        if stop is not None and stop(found):
            status = "stopped"
            break
        if not state.play(gap):
            status = "memory"
            break
    return state.result(status)


class _Table:
    """The candidates, which of their groups are in play, and where the players stand."""

    def __init__(
        self,
        ledger: Ledger,
        game: Game,
        candidates: FeatureMap,
        labels: Callable[[FeatureMap], Any] | None,
        explore: Explore | None,
    ) -> None:
        self.ledger, self.game, self.labels, self.explore = ledger, game, labels, explore
        self.candidates, self.mixtures = candidates, mixtures_of(candidates, labels)
        self.a = self.leader = game.start()
        self.groups = np.empty(0, dtype=np.intp)
        self.columns = np.empty(0, dtype=np.intp)
        dtype = ledger.source.schema.dtype
        self.phi = np.empty((len(ledger), 0), dtype)
        self.u = np.empty(0)
        zeros = np.zeros(len(ledger))
        self.lower, self.upper = 0.0, game.upper(zeros, 0.0).value
        self.v = np.empty(0)
        self.steps, self.balance, self.inner = 0, 1.0, INNER
        self.scans: list[Scan] = []

    def scan(self) -> Scan:
        """v of every group at the weights of the rows now: the value that these guarantee."""
        r = self.game.coefficients(self.a)
        if self.explore is not None:
            self.candidates = self.explore(self.candidates, r)
            self.mixtures = mixtures_of(self.candidates, self.labels)
        self.v = self.mixtures.potential(scan_all(self.ledger, self.candidates, r))
        lower = self.game.lower(self.a, float(self.v.max()))
        if lower >= self.lower:
            self.lower, self.leader = lower, self.a
        found = Scan(self.lower, self.upper, len(self.groups), len(self.columns), self.steps)
        self.scans.append(found)
        return found

    def play(self, gap: float) -> bool:
        """Let better groups join, and play among those in play; False if there is no room."""
        joined = self._join()
        if joined is None:
            return False
        left = self.upper - self.lower
        self.inner = INNER if joined else 0.5 * self.inner
        columns, mixtures = self.columns, self._local()
        target = self.inner * max(left, gap * self.upper)
        solved = solve(self.game, self.phi, mixtures, self.u, self.a, target, balance=self.balance)
        assert len(columns) == len(solved.point.u)
        self.a, self.balance = solved.a, solved.balance
        self.steps += solved.steps
        self.u = solved.point.u
        self.upper = min(self.upper, solved.values.upper)
        return True

    def _local(self) -> Mixtures:
        """The mixtures of the groups in play, columns in the order in which they joined."""
        place = np.full(self.mixtures.n_groups, -1, dtype=np.intp)
        place[self.groups] = np.arange(len(self.groups))
        return Mixtures(place[self.mixtures.group[self.columns]], self.mixtures.size[self.groups])

    def _join(self) -> int | None:
        """How many groups joined: those that beat all in play, the best first."""
        v = self.v.copy()
        bar = float(v[self.groups].max(initial=0.0))
        v[self.groups] = -np.inf
        most = max(FIRST, len(self.groups) // 2)
        new = np.argsort(-v, kind="stable")[:most]
        new = new[v[new] > bar]
        columns = np.flatnonzero(np.isin(self.mixtures.group, new))
        width = len(self.columns) + len(columns)
        if width * len(self.ledger) * self.phi.dtype.itemsize > FEATURE_BYTES:
            return None
        self.groups = np.concatenate([self.groups, new])
        self.columns = np.concatenate([self.columns, columns])
        if len(columns):
            features = Features(self.candidates.take(columns))
            parts = self.ledger.source.reduce(Collect(features), hook=self.ledger.hook)
            added = np.concatenate([part for _, _, part in parts])
            self.phi = np.concatenate([self.phi, added], axis=1)
            self.u = np.concatenate([self.u, np.zeros(len(columns))])
        return len(new)

    def result(self, status: str) -> Equilibrium:
        u = np.zeros(self.candidates.n_features)
        u[self.columns] = self.u
        weights = self.mixtures.weights(u)
        values = Values(self.lower, self.upper)
        v = self.v[self.mixtures.group]
        return Equilibrium(
            self.candidates, u, weights, v, self.leader, values, tuple(self.scans), status
        )


def mixtures_of(candidates: FeatureMap, labels: Callable[[FeatureMap], Any] | None) -> Mixtures:
    """Every column for itself, or groups by their labels."""
    if labels is None:
        return Mixtures.of_columns(candidates.n_features)
    return Mixtures.of_labels(labels(candidates))


def scan_all(ledger: Ledger, candidates: FeatureMap, r: FloatArray) -> FloatArray:
    """S = sum_i w_i r_i phi(x_i), one pass."""
    return statistics.project(
        ledger.source,
        candidates,
        state_as_coefficients,
        hook=ledger.hook,
        row_state=ledger.state(r),
    )[:, 0]


@dataclass(frozen=True, eq=False)
class Features:
    """phi of a block."""

    fm: FeatureMap

    def __call__(self, block: Any) -> NDArray[Any]:
        return np.asarray(self.fm(block.X))
