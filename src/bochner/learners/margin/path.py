"""What a search leaves behind: the record of its rounds, and what is needed to go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ops import FloatArray
from .games import Game, Upper


@dataclass(frozen=True)
class Round:
    """One round of one game.

    n_frequencies: found so far, in all games; v: the largest potential reached, as a share of
    (sum w |r|)^2; lower, upper: values that bracket the game so far (see `games`), the lower one as
    far as the best response is among the new and the earlier frequencies; gradient: the norm that
    the step was scaled by; reduced: steps of chains that were taken back.
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
    count: int = 0
    t: int = 0
    lower: float = 0.0

    @classmethod
    def begin(cls, game: Game) -> Play:
        return cls(game, game.start(), np.zeros(len(game.y)))

    def copy(self) -> Play:
        """A play that may go on by itself."""
        return Play(self.game, self.a.copy(), self.f.copy(), self.V, self.count, self.t, self.lower)

    def add(self, f: FloatArray, v: FloatArray, best: float) -> tuple[Upper, float]:
        """A round with frequencies of potential v and the sum f of their scores: move on.

        ``best`` is the largest potential known, these and earlier frequencies taken together.
        """
        self.lower = max(self.lower, self.game.lower(self.a, best))
        self.f += f
        self.V += float(v.sum())
        self.count += len(v)
        self.t += 1
        upper = self.game.upper(self.f / self.count, self.V / self.count)
        self.a, size = self.game.ascend(self.a, f / len(v), self.t)
        return upper, size


@dataclass(frozen=True, eq=False)
class Path:
    """Frequencies in the order found, and the rounds that found them.

    Any smaller number is free: ``feature_map.truncate(2 * m)`` is the map of the first m pairs.
    ``plays`` is where the games stand, for a search that goes on (``MarginSearch(start=...)``).
    """

    frequencies: FloatArray
    angles: FloatArray
    rounds: tuple[Round, ...]
    scale: float
    plays: tuple[Play, ...] = field(default=(), repr=False)

    def figures(self, name: str) -> Any:
        """One figure of all rounds: "gap", "v", "margin", ..."""
        return np.array([getattr(found, name) for found in self.rounds])
