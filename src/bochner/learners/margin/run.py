"""One search of peaks: its games, in turn, until enough frequencies are found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import statistics
from ...families.fourier import FourierFamily
from ...feature_map import FeatureMap
from ...ops import Dense, FloatArray, Projection
from ...rows import RowSource
from ..base import Request, Selection
from .games import Upper
from .judge import Judge
from .leader import Columns, Leader, followed
from .ledger import Ledger, state_as_coefficients
from .path import Path, Play, Round
from .peaks import Peaks
from .search import APART, POLISH, Sample, Search, distinct, nearest, responses
from .start import climb_of, fourier, path_of, typical_distance
from .targets import follows_leader, games_of

if TYPE_CHECKING:
    from .learner import MarginSearch


@dataclass(eq=False)
class Run:
    """One search."""

    learner: MarginSearch
    family: FourierFamily
    search: Search
    plays: list[Play]
    scale: float
    reached: dict[float, float]
    frequencies: FloatArray
    angles: FloatArray
    order: NDArray[np.intp]
    rounds: list[Round]
    judge: Judge | None
    columns: Columns | None = None  # where leaders are followed
    leaders: dict[int, Leader] = field(default_factory=dict)

    @classmethod
    def begin(cls, learner: MarginSearch, source: RowSource, request: Request) -> Run:
        """Read what is known of the rows, set up the games, find the scale."""
        family, hook, rng = fourier(request.family), request.hook, request.rng
        hook.at("margin game: targets")
        seeds = [int(seed) for seed in rng.integers(2**62, size=2)]
        path = path_of(learner.start)
        ledger = Ledger.of(source, path.rows[0] if path else seeds[0], hook)
        L = typical_distance(source, seeds[1], request)
        how = climb_of(learner, L)
        search = Search(ledger, family, L, how, learner.chains, learner.rows, rng, hook)
        games = games_of(learner, request, ledger, follows_leader(learner))
        dtype, d = source.schema.dtype, source.n_features
        run = cls(
            learner, family, search, [Play.begin(game) for game in games], 1.0, {},
            np.empty((0, d), dtype), np.empty(0), np.empty(0, dtype=np.intp), [], None,
        )  # fmt: skip
        if follows_leader(learner):
            count = request.n_components // family.columns_per_atom
            run.columns = Columns.of(ledger, 2 * count, seeds[1])
        if learner.early_stop:
            run.judge = Judge.of(source, request, seeds[1])
        hook.at("margin game")
        if path is not None:
            run._resume(path)
        elif isinstance(learner.init_scale, str):
            r = run.plays[0].game.coefficients(run.plays[0].a)
            run.scale, run.reached = search.best_scale(r)
        else:
            run.scale = float(learner.init_scale)
        return run

    def _resume(self, path: Path) -> None:
        if not self._fits(path):
            raise ValueError(
                "MarginSearch(start=...) must be the selection_ of an earlier MarginSearch on the "
                "same rows, in the same order, with the same targets and weights, C, loss and "
                "dynamics; these are others."
            )
        self.plays = [play.copy() for play in path.plays]
        self.frequencies, self.angles = path.frequencies, path.angles
        self.rounds, self.scale, self.order = list(path.rounds), path.scale, path.order

    def _fits(self, path: Path) -> bool:
        """Was the path found on these rows, in these games, by the same dynamics?"""
        led = [play.scores is not None for play in path.plays if play.t]
        return (
            path.rows == self.search.ledger.digest
            and len(self.plays) == len(path.plays)
            and all(leads == (self.columns is not None) for leads in led)
            and all(a.game.same(b.game) for a, b in zip(self.plays, path.plays, strict=True))
        )

    def play(self) -> None:
        """One round of the game whose turn it is."""
        index = len(self.rounds) % len(self.plays)
        play, search = self.plays[index], self.search
        r = play.game.coefficients(play.a)
        if not np.any(r):
            r = play.game.coefficients(play.game.start())
        sample = search.sample(r)
        found = search.peaks(sample, self.scale)
        known = sample.largest(self.frequencies)
        turns = self._turns(play, sample, found, r)
        at, times = np.unique(turns, return_counts=True)
        waves = FeatureMap(
            self.family, Projection(Dense(self.frequencies[at]), "pair"), np.ones(2 * len(at))
        )
        S = statistics.project(
            search.ledger.source, waves, state_as_coefficients,
            hook=search.hook, row_state=search.ledger.state(r),
        )[:, 0]  # fmt: skip
        v = S[0::2] ** 2 + S[1::2] ** 2
        mass = float(search.ledger.weight @ np.abs(r))
        best = max(float(v.max()), mass**2 * known)
        self._record(turns, at, S)
        if self.columns is None:
            f = search.ledger.scores(waves, np.repeat(times, 2) * S)
            upper, size = play.add(f, v, best, times)
        else:
            upper, size = self._follow(index, best), 0.0
        self.rounds.append(
            Round(
                index,
                len(self.frequencies),
                float(v.max()) / mass**2,
                play.lower,
                upper.value,
                upper.margin,
                size,
                found.reduced,
            )
        )

    def _turns(self, play: Play, sample: Sample, found: Peaks, r: FloatArray) -> NDArray[np.intp]:
        """The frequencies that this round plays, by their number; new ones join the others."""
        before, again = len(self.frequencies), self.learner.repeats
        known = self.frequencies[: before if again else 0]
        peaks = self._apart(found.frequencies[np.argsort(-found.value, kind="stable")])
        W = np.concatenate([known, peaks])
        taken = self._taken(play, sample, W, r)
        number = {i: i for i in taken if i < len(known)}
        fresh = [i for i in dict.fromkeys(taken) if i >= len(known)]
        new = W[fresh]
        if self.learner.polish and fresh:
            new = self.search.polished(new, r, POLISH).frequencies
        if not again:
            new = self._apart(new)
            self.frequencies = np.concatenate([self.frequencies, new])
            return np.arange(before, before + len(new))
        for i, w in zip(fresh, new, strict=True):
            number[i] = self._numbered(w)
        return np.array([number[i] for i in taken], dtype=np.intp)

    def _follow(self, index: int, best: float) -> Upper:
        """The leader of one game after a round."""
        assert self.columns is not None
        if index not in self.leaders:
            self.leaders[index] = Leader(self.plays[index].game, self.columns)
        self.columns.add(self.frequencies[self.columns.Z.shape[1] // 2 :])
        waves = Projection(Dense(self.frequencies), "pair")
        fm = FeatureMap(self.family, waves, np.ones(waves.n_columns))
        times = np.bincount(self.order, minlength=len(self.frequencies)).astype(np.float64)
        a, scores, upper = self.leaders[index].follow(fm, times)
        self.plays[index].lead(a, scores, best, upper.value)
        return upper

    def _taken(self, play: Play, sample: Sample, W: FloatArray, r: FloatArray) -> list[int]:
        """Which of these frequencies the round plays."""
        count, again = self.learner.per_round, self.learner.repeats
        if self.columns is None:
            return responses(play.game, play.a, sample, W, count, play.t + 1, again)
        share = sample.mass / float(self.search.ledger.weight @ np.abs(r))
        f = np.zeros(len(r)) if play.scores is None else play.scores
        return followed(play.game, f, sample, W, count, len(self.order), share, again)

    def _numbered(self, w: FloatArray) -> int:
        """The number of a frequency; of the one found before that it is a twin of."""
        at, gap = nearest(w[None], self.frequencies)
        if gap[0] < APART / self.search.L:
            return int(at[0])
        self.frequencies = np.concatenate([self.frequencies, w[None]])
        return len(self.frequencies) - 1

    def _record(self, turns: NDArray[np.intp], at: NDArray[np.intp], S: FloatArray) -> None:
        """Which frequencies were played, and the phases of those that are new."""
        before = len(self.angles)
        self.order = np.concatenate([self.order, turns])
        self.angles = np.concatenate([self.angles, np.zeros(len(self.frequencies) - before)])
        new = at >= before
        self.angles[at[new]] = np.arctan2(S[1::2], S[0::2])[new]

    def _apart(self, W: FloatArray) -> FloatArray:
        """Those of W that are new; with less and less between them where none are."""
        far = APART / self.search.L
        for least in (far, far / 10.0, 0.0):
            kept = distinct(W, self.frequencies, least)
            if len(kept) or self.learner.repeats:
                break
        return W[kept]

    def projection(self, count: int) -> Projection:
        """The first frequencies found, as columns of the family's form."""
        W, scale = Dense(self.frequencies[:count]), self.family.bound
        if self.family.columns_per_atom == 2:
            return Projection(W, "pair", scale)
        return Projection(W, "cos", scale, -self.angles[:count])

    def result(self, status: str, wanted: int) -> tuple[FeatureMap, Selection]:
        times = np.bincount(self.order[:wanted])
        projection, k = self.projection(len(times)), self.family.columns_per_atom
        weights = np.repeat(np.sqrt(times / (k * times.sum())), k)
        fm = FeatureMap(self.family, projection, weights)
        last = {found.game: found for found in self.rounds}
        stats = {
            "gap": [last[k].gap for k in sorted(last)],
            "margin": [last[k].margin for k in sorted(last)],
            "scale": self.scale,
            "reached": self.reached,
            "rounds": len(self.rounds),
            "reduced": sum(found.reduced for found in self.rounds),
            "L": self.search.L,
        }
        path = Path(
            self.frequencies,
            self.angles,
            tuple(self.rounds),
            self.scale,
            self.order,
            self.search.ledger.digest,
            tuple(self.plays),
        )
        return fm, Selection(status, stats=stats, path=path)
