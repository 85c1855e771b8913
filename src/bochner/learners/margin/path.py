"""What a search leaves behind: the record of its rounds, and what is needed to go on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray
from .games import Game, Upper


@dataclass(frozen=True)
class Round:
    """One round of one game.

    n_frequencies: found so far, in all games; v: the largest potential reached, as a share of
    (sum w |r|)^2; lower, upper: values that bracket the game so far (see `games`), the lower one as
    far as the best response is among the new and the earlier frequencies; gradient: the norm that
    the step was scaled by (zero where a leader is followed); reduced: steps of chains taken back.
    """

    game: int
    n_frequencies: int
    v: float
    lower: float
    upper: float
    margin: float
    gradient: float
    reduced: int

    @property
    def gap(self) -> float:
        """The measured duality gap."""
        return self.upper - self.lower


@dataclass(eq=False)
class Play:
    """Where one game stands: its weights and the running sums of its mixture."""

    game: Game
    a: FloatArray
    f: FloatArray  # sum over its frequencies of <phi(x_i), S>
    V: float = 0.0  # sum over its frequencies of |S|^2
    count: float = 0.0
    t: int = 0
    lower: float = 0.0
    scores: FloatArray | None = None  # of the leader, where it is followed

    @classmethod
    def begin(cls, game: Game) -> Play:
        return cls(game, game.start(), np.zeros(len(game.y)))

    def copy(self) -> Play:
        """A play that may go on by itself."""
        return replace(self, a=self.a.copy(), f=self.f.copy())

    def lead(self, a: FloatArray, scores: FloatArray, best: float, upper: float) -> None:
        """A round after which the weights are a, those of a leader with these scores."""
        self._bracket(self.game.lower(self.a, best), upper)
        self.a, self.scores = a, scores
        self.t += 1

    def _bracket(self, lower: float, upper: float) -> None:
        """The best lower value; one above the upper value came of a peak that was missed."""
        self.lower = max(self.lower, lower)
        if self.lower > upper:
            self.lower = min(lower, upper)

    def add(
        self, f: FloatArray, v: FloatArray, best: float, times: Any = 1.0
    ) -> tuple[Upper, float]:
        """A round with frequencies of potential v and the sum f of their scores: move on.

        ``best`` is the largest potential known, these and earlier frequencies taken together;
        ``times`` says how often each of them is played in the round, in f as well.
        """
        times = np.broadcast_to(times, v.shape)
        lower = self.game.lower(self.a, best)
        self.f += f
        self.V += float(times @ v)
        self.count += float(times.sum())
        self.t += 1
        upper = self.game.upper(self.f / self.count, self.V / self.count)
        self._bracket(lower, upper.value)
        self.a, size = self.game.ascend(self.a, f / float(times.sum()), self.t)
        return upper, size


@dataclass(frozen=True, eq=False)
class Path:
    """Frequencies in the order found, and the rounds that found them.

    Any smaller number is free: ``feature_map.truncate(2 * m)`` is the map of the first m pairs.
    ``order`` holds which frequency each turn played: one that comes back is as much heavier.
    ``rows`` tells the rows of the search from others (the key and digest of their hashes).
    ``plays`` is where the games stand, for a search that goes on (``MarginSearch(start=...)``).
    """

    frequencies: FloatArray
    angles: FloatArray
    rounds: tuple[Round, ...]
    scale: float
    order: NDArray[np.intp]
    rows: tuple[int, str]
    plays: tuple[Play, ...] = field(default=(), repr=False)

    def counts(self, turns: int | None = None) -> FloatArray:
        """How often each frequency was played, in the first so many turns."""
        return np.bincount(self.order[:turns], minlength=len(self.frequencies)).astype(np.float64)

    def figures(self, name: str) -> Any:
        """One figure of all rounds: "gap", "v", "margin", ..."""
        return np.array([getattr(found, name) for found in self.rounds])
