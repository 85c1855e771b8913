"""The game over finitely many columns, played to a certified gap by scanning them all.

A round scans every column once (one `project`), which certifies the row player's value. Columns
that do better than those in play join them, and the game on these alone is played to a gap that is
a part of the gap over all (`dynamics`). Where nothing outside does better both games have the same
value, so the gap that is left is that of the whole game. A column that is found again only changes
its weight: there are no duplicates.

With measures in a divergence ball (`balls`, which has q beside u) the same holds for columns above
the threshold of the best response. Those of the first best response all join at once: with fewer
there is no measure in the ball. Where they do not fit into memory products with them are passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...feature_map import FeatureMap
from ...linear.design import FEATURE_BYTES
from ...ops import FloatArray
from .balls import Ball
from .dynamics import IMPLIED, Choices, Dynamics, Values
from .games import Game
from .ledger import Collect, Ledger
from .mixtures import Mixtures
from .products import Held, Products, Streamed, centred, summed

#: Groups that join in the first round; later at most half as many as are in play. Of a ball all
#: in the best response join at first, and so many at least.
FIRST, BALL_FIRST = 32, 128
#: Steps in one play, and in one of a ball: there a scan after so many shows who is missing.
STEPS, BALL_STEPS = 5000, 500
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
    ball: Ball | None = None,
    steps: int | None = None,
) -> Equilibrium:
    """Play to a relative gap. ``labels`` puts candidates in groups of equal weight; ``ball`` is
    what their measure is in, if not the simplex; ``steps`` of the dynamics are taken at most.
    """
    state = _Table(ledger, game, candidates, labels, explore, ball, steps)
    status = "scans used up"
    for _ in range(scans):
        found = state.scan()
        if found.gap <= gap * found.upper:
            status = "certified"
            break
        if stop is not None and stop(found):
            status = "stopped"
            break
        if state.room == 0:
            status = "steps used up"
            break
        if not state.play(gap, stop):
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
        ball: Ball | None = None,
        most: int | None = None,
    ) -> None:
        self.ledger, self.game, self.labels, self.explore = ledger, game, labels, explore
        self.candidates, self.most = candidates, most
        self.mixtures: Choices = ball or mixtures_of(candidates, labels)
        self.a = self.leader = game.start()
        self.groups = np.empty(0, dtype=np.intp)
        self.columns = np.empty(0, dtype=np.intp)
        dtype = ledger.source.schema.dtype
        self.phi: FloatArray | None = np.empty((len(ledger), 0), dtype)
        self.u, self.q = np.empty((0, *self.a.shape[1:])), IMPLIED
        zeros = np.zeros_like(self.a)
        self.lower, self.upper = 0.0, game.upper(zeros, np.zeros(self.a.shape[1:])).value
        self.v = self.S = np.empty(0)
        self.steps, self.balance, self.inner = 0, 1.0, INNER
        self.live: Dynamics | None = None
        self.scans: list[Scan] = []

    def scan(self) -> Scan:
        """v of every group at the weights of the rows now: the value that these guarantee."""
        r = self.game.coefficients(self.a)
        if self.explore is not None:
            self.candidates = self.explore(self.candidates, r)
            self.mixtures = mixtures_of(self.candidates, self.labels)
        self.S = summed(self.ledger, self.candidates, r)
        self.v = self.mixtures.potential(self.S)
        lower = self.game.lower(self.a, self.mixtures.largest(self.v))
        if lower >= self.lower:
            self.lower, self.leader = lower, self.a
        found = Scan(self.lower, self.upper, len(self.groups), len(self.columns), self.steps)
        self.scans.append(found)
        return found

    @property
    def room(self) -> int:
        """How many steps may still be taken in one play."""
        most = BALL_STEPS if isinstance(self.mixtures, Ball) else STEPS
        return most if self.most is None else max(0, min(most, self.most - self.steps))

    def play(self, gap: float, stop: Callable[[Scan], bool] | None = None) -> bool:
        """Let better groups join, and play among those in play; False if there is no room."""
        joined = self._join()
        if joined is None:
            return False
        left = self.upper - self.lower
        self.inner = INNER if joined else 0.5 * self.inner
        columns, mixtures = self.columns, self._local()
        if isinstance(mixtures, Ball) and not np.any(self.u):
            self._begin(mixtures)
        target = self.inner * max(left, gap * self.upper)
        if joined or self.live is None:
            u, a, q = self._start()
            self.live = Dynamics.begin(
                self.game, self._products(), mixtures, u, a, q, balance=self.balance
            )

        def reported(now: Values, step: int) -> bool:
            return stop is not None and stop(self._seen(now, step))

        solved = self.live.run(target, self.room, reported if self.phi is None else None)
        assert len(columns) == len(solved.point.u)
        self.a, self.balance = solved.a, solved.balance
        self.steps += solved.steps
        if solved.values.upper <= self.upper:
            self.u, self.q, self.upper = solved.point.u, solved.point.q, solved.values.upper
        return True

    def _start(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Where a play with new columns begins: where the last one stood, new columns at zero."""
        if self.live is None:
            return self.u, self.a, self.q
        now = self.live.now
        new = len(self.columns) - len(now.u)
        u = np.concatenate([now.u, np.zeros((new, *now.u.shape[1:]))])
        return u, now.a, np.concatenate([now.q, np.zeros(new if len(now.q) else 0)])

    def _seen(self, now: Values, step: int) -> Scan:
        """What a play over streamed columns reports as it goes."""
        upper = min(self.upper, now.upper)
        return Scan(self.lower, upper, len(self.groups), len(self.columns), self.steps + step)

    def _products(self) -> Products:
        if self.phi is None:
            return Streamed.of(self.ledger, self.candidates.take(self.columns))
        return Held(self.phi)

    def _begin(self, ball: Ball) -> None:
        """Begin with even weights (which every ball has), in the units of both players.

        The best response to the first weights of the rows would put too much on too few.
        """
        S = self.S[self.columns]
        self.q = np.full(len(S), 1.0 / len(S))
        u = (S.T * self.q).T
        found = self.game.upper(self._products().scores(u), ball.squares(u, self.q))
        size = float(np.linalg.norm(found.scale * u))
        if size > 0.0:
            self.u, self.balance = found.scale * u, self.game.norm(self.a) / size

    def _local(self) -> Choices:
        """The mixtures of the groups in play, columns in the order in which they joined."""
        if isinstance(self.mixtures, Ball):
            return self.mixtures.among(self.groups)
        place = np.full(self.mixtures.n_groups, -1, dtype=np.intp)
        place[self.groups] = np.arange(len(self.groups))
        return Mixtures(place[self.mixtures.group[self.columns]], self.mixtures.size[self.groups])

    def _better(self) -> NDArray[np.intp]:
        """Groups that beat all in play (in a ball: those that would have weight), best first."""
        v, most = self.v.copy(), max(FIRST, len(self.groups) // 2)
        if isinstance(self.mixtures, Ball):
            support = np.flatnonzero(self.mixtures.response(v))
            if not len(self.groups):
                return np.argsort(-v, kind="stable")[: max(len(support), BALL_FIRST)]
            most = max(most, len(support))
            bar = self.mixtures.among(self.groups).threshold(v[self.groups])
        else:
            bar = float(v[self.groups].max(initial=0.0))
        v[self.groups] = -np.inf
        new = np.argsort(-v, kind="stable")[:most]
        return np.asarray(new[v[new] > bar])

    def _join(self) -> int | None:
        """How many groups joined."""
        new = self._better()
        columns = np.flatnonzero(np.isin(self.mixtures.group, new))
        width = len(self.columns) + len(columns)
        held = width * len(self.ledger) * self.ledger.source.schema.dtype.itemsize
        if self.phi is not None and held > FEATURE_BYTES:
            if not isinstance(self.mixtures, Ball):
                return None
            self.phi = None
        self.groups = np.concatenate([self.groups, new])
        self.columns = np.concatenate([self.columns, columns])
        if len(columns):
            if self.phi is not None:
                features = Features(self.candidates.take(columns))
                parts = self.ledger.source.reduce(Collect(features), hook=self.ledger.hook)
                added = np.concatenate([part for _, _, part in parts])
                if isinstance(self.mixtures, Ball):
                    added = centred(added, self.ledger.weight)
                self.phi = np.concatenate([self.phi, added], axis=1)
            self.u = np.concatenate([self.u, np.zeros((len(columns), *self.u.shape[1:]))])
            if isinstance(self.mixtures, Ball):
                self.q = np.concatenate([self.q, np.zeros(len(columns))])
        return len(new)

    def result(self, status: str) -> Equilibrium:
        u = np.zeros((self.candidates.n_features, *self.u.shape[1:]))
        u[self.columns] = self.u
        values = Values(self.lower, self.upper)
        v = self.v[self.mixtures.group]
        return Equilibrium(
            self.candidates, u, self._weights(u), v, self.leader, values, tuple(self.scans), status
        )

    def _weights(self, u: FloatArray) -> FloatArray:
        if not isinstance(self.mixtures, Ball):
            return self.mixtures.weights(u)
        if not len(self.columns):  # the first scan was enough
            return self.mixtures.response(self.v)
        q = np.zeros(len(u))
        q[self.columns] = self.q
        return q


def mixtures_of(candidates: FeatureMap, labels: Callable[[FeatureMap], Any] | None) -> Mixtures:
    """Every column for itself, or groups by their labels."""
    if labels is None:
        return Mixtures.of_columns(candidates.n_features)
    return Mixtures.of_labels(labels(candidates))


def scan_all(ledger: Ledger, candidates: FeatureMap, r: FloatArray) -> FloatArray:
    """S = sum_i w_i r_i phi(x_i), one pass."""
    return summed(ledger, candidates, r)


@dataclass(frozen=True, eq=False)
class Features:
    """phi of a block, dense."""

    fm: FeatureMap

    def __call__(self, block: Any) -> NDArray[Any]:
        phi: Any = self.fm(block.X)
        return np.asarray(phi.toarray() if sparse.issparse(phi) else phi)
