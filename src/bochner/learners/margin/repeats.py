"""Algorithm 2 over finitely many columns: best responses by scanning, repeats merged by scaling.

The row player moves by online gradient ascent; the kernel player answers with the best columns or
groups, found by one `project` over all of them. What is found again becomes heavier instead of
coming twice, so that the measure is that of how often each was found (Bullins et al. 2018, A.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...feature_map import FeatureMap
from .dynamics import Values
from .finite import Equilibrium, Explore, Scan, mixtures_of, scan_all
from .games import Game
from .ledger import Ledger
from .path import Play


def no_regret(
    ledger: Ledger,
    game: Game,
    candidates: FeatureMap,
    labels: Callable[[FeatureMap], Any] | None = None,
    *,
    gap: float = 0.01,
    rounds: int = 100,
    per_round: int = 1,
    most: int | None = None,
    explore: Explore | None = None,
    stop: Callable[[Scan], bool] | None = None,
) -> Equilibrium:
    """Rounds until the gap, the number of rounds, or ``most`` columns are reached."""
    table = _Rounds(ledger, game, candidates, labels, explore)
    status = "rounds used up"
    for _ in range(rounds):
        table.look()
        if not table.answer(per_round, most):
            status = "columns used up"
            break
        last = table.scans[-1]
        if last.gap <= gap * last.upper:
            status = "certified"
            break
        if stop is not None and stop(last):
            status = "stopped"
            break
    return table.result(status)


class _Rounds:
    """The candidates, how often each was found (by columns), and where the row player stands."""

    def __init__(
        self,
        ledger: Ledger,
        game: Game,
        candidates: FeatureMap,
        labels: Callable[[FeatureMap], Any] | None,
        explore: Explore | None,
    ) -> None:
        self.ledger, self.game, self.candidates = ledger, game, candidates
        self.labels, self.explore = labels, explore
        self.play = Play.begin(game)
        self.leader, self.upper = self.play.a, np.inf
        self.counts = self.u = self.S = np.zeros(candidates.n_features)
        self.mixtures = mixtures_of(candidates, labels)
        self.scans: list[Scan] = []

    def look(self) -> None:
        """The sums S of all candidates, perhaps of new ones."""
        r = self.game.coefficients(self.play.a)
        if self.explore is not None:
            self.candidates = self.explore(self.candidates, r)
            self.mixtures = mixtures_of(self.candidates, self.labels)
            new = (0, self.candidates.n_features - len(self.counts))
            self.counts, self.u = np.pad(self.counts, new), np.pad(self.u, new)
        self.S = scan_all(self.ledger, self.candidates, r)

    def answer(self, per_round: int, most: int | None) -> bool:
        """The best groups are played; False where that would be too many columns."""
        mixtures, play = self.mixtures, self.play
        v = mixtures.potential(self.S)
        best = np.argsort(-v, kind="stable")[:per_round]
        chosen = np.isin(mixtures.group, best)
        counts = self.counts + chosen
        if most is not None and self.scans and np.count_nonzero(counts) > most:
            return False
        self.counts, before, a = counts, play.lower, play.a
        T = (self.S / mixtures.size[mixtures.group])[chosen]
        f = self.ledger.scores(self.candidates.take(np.flatnonzero(chosen)), T)
        reached, _ = play.add(f, v[best], float(v.max()))
        self.leader = a if play.lower > before else self.leader
        self.upper = min(self.upper, reached.value)
        self.u = self.u.copy()
        self.u[chosen] += T
        columns = int(np.count_nonzero(counts))
        groups = len(np.unique(mixtures.group[counts > 0]))
        self.scans.append(Scan(play.lower, self.upper, groups, columns, len(self.scans) + 1))
        return True

    def result(self, status: str) -> Equilibrium:
        measure = self.counts / self.mixtures.size[self.mixtures.group]
        scores = self.mixtures.potential(self.S)[self.mixtures.group]
        values = Values(self.play.lower, self.upper)
        return Equilibrium(
            self.candidates,
            self.u / max(1, self.play.count),
            measure / measure.sum(),
            scores,
            self.leader,
            values,
            tuple(self.scans),
            status,
        )
