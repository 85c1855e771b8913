"""Several games with one kernel player: each class against the rest, the measure q shared.

    min over q, max over a_1, ..., a_K of  sum_c F(a_c, q)

The row players do not see each other, and the kernel player's loss is linear in v_m = sum_c S_mc^2.
So a point, its gradient, its projection and the losses of its scores are those of the K games, one
column each; only what q loses is a sum over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...ops import FloatArray
from .games import Game, Hinge, Upper


@dataclass(frozen=True, eq=False)
class Shared(Game):
    """K games of hinge losses on the same rows; y is n x K."""

    @cached_property
    def games(self) -> list[Hinge]:
        return [Hinge(y, self.weight, self.C) for y in self.y.T]

    def _columns(self, parts: Any) -> FloatArray:
        return np.stack(list(parts), axis=1)

    def project(self, a: FloatArray) -> FloatArray:
        return self._columns(game.project(x) for game, x in zip(self.games, a.T, strict=True))

    def coefficients(self, a: FloatArray) -> FloatArray:
        return np.asarray(self.y * a)

    def gradient(self, a: FloatArray, f: FloatArray) -> FloatArray:
        return 1.0 - self.y * f

    def loss(self, f: FloatArray) -> float:
        return sum(game.loss(x) for game, x in zip(self.games, f.T, strict=True))

    def best_line(self, f: FloatArray, V: float) -> tuple[float, float]:
        raise TypeError("each game has a line of its own: use upper()")

    def start(self) -> FloatArray:
        return self._columns(game.start() for game in self.games)

    def linear(self, a: FloatArray) -> float:
        return float(self.weight @ a.sum(axis=1))

    def norm(self, a: FloatArray) -> float:
        return float(np.sqrt(self.weight @ (a**2).sum(axis=1)))

    def upper(self, f: FloatArray, V: Any) -> Upper:
        """The sum of the games' values, each at its own scale and shift."""
        found = [
            game.upper(x, float(v))
            for game, x, v in zip(self.games, f.T, np.asarray(V), strict=True)
        ]
        length = float(np.sqrt(sum((one.scale**2 * v for one, v in zip(found, V, strict=True)))))
        return Upper(
            float(sum(one.value for one in found)),
            np.array([one.scale for one in found]),
            np.array([one.shift for one in found]),
            1.0 / length if length > 0 else np.inf,
        )
