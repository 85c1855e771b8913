"""Follow the leader: the weights of the rows answer the average of all frequencies so far.

On a strongly concave game the weights

    a_T+1 = argmax over a in K of  (1/T) sum_t F(a, phi_t)

have a regret of O(log T) (Hazan, Agarwal & Kale 2007), the rate that Bullins et al. state for the
l2-SVM. They are the dual solution of the head on the columns there are: a = C [1 - y f]_+ for the
l2-SVM, C (y - f) for ridge regression. Online gradient ascent reweighs the rows by what the last
frequencies alone say; the leader by what all of them together leave unexplained.

1. The head is fitted on all distinct rows, or on as many as fit into `BYTES` with their columns;
   its scores are then taken for all rows in one pass, and weights and values are those of all.
2. Within a round the leader is followed on the sample, along one frequency at a time: with
   g = <phi, S> the scores move by s g, where s = v / (T v + sum C w g^2 over the active rows) is
   the Newton step of the head's objective for the weight 1/T of the new frequency.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import ops
from ...feature_map import FeatureMap
from ...linear import Ridge
from ...ops import Dense, FloatArray, Projection
from ...rows import MemorySource
from .games import Game, Squared, Upper
from .l2_svm import l2_svm
from .ledger import Ledger
from .search import Sample

#: Memory for the rows that the head is fitted on, and their columns; what a sparse row counts for.
BYTES, SPARSE, MOST = 2**29, 128, 2**31


@dataclass(eq=False)
class Columns:
    """cos and sin of the frequencies so far at distinct rows, as many as fit."""

    ledger: Ledger
    rows: NDArray[np.intp]  # where each first stands among all rows
    X: Any
    place: NDArray[np.intp] | None  # of each row of the ledger; None where not all are here
    Z: FloatArray

    @classmethod
    def of(cls, ledger: Ledger, n_columns: int, seed: int) -> Columns:
        """Room for so many columns."""
        schema = ledger.source.schema
        dtype, width = schema.dtype, min(schema.n_features, SPARSE if schema.sparse else MOST)
        most = max(1, BYTES // (dtype.itemsize * (n_columns + width)))
        rows = ledger.choose(np.ones(len(ledger)), most, seed)
        place = None
        groups = np.unique(ledger.group[ledger.weight > 0])
        if len(rows) == len(groups):
            at = np.zeros(len(ledger.keys), dtype=np.intp)
            at[ledger.group[rows]] = np.arange(len(rows))
            place = at[ledger.group]
        X = ledger.rows(rows)
        return cls(ledger, rows, X, place, np.empty((len(rows), 0), dtype))

    def add(self, W: FloatArray) -> None:
        """Columns of more frequencies."""
        if len(W):
            more = ops.features(self.X, Projection(Dense(W), "pair"))
            self.Z = np.concatenate([self.Z, more], axis=1)


@dataclass(eq=False)
class Leader:
    """The head of one game on the columns so far, fitted anew from where it was."""

    game: Game
    columns: Columns
    theta: FloatArray = field(default_factory=lambda: np.zeros(0))  # of unweighted columns
    b: float = 0.0

    def follow(self, fm: FeatureMap, times: FloatArray) -> tuple[FloatArray, FloatArray, Upper]:
        """The weights, the scores of all rows and the value where frequencies count so often."""
        s = np.repeat(np.sqrt(times / times.sum()), 2)
        theta, self.b = self._fitted(s)
        self.theta = s * theta
        f = self._scores(fm)
        length = float(np.linalg.norm(theta))
        value = 0.5 * length**2 + self.game.loss(f)
        margin = 1.0 / length if length > 0 else np.inf
        return self.game.answer(f), f, Upper(value, 1.0, self.b, margin)

    def _fitted(self, s: FloatArray) -> tuple[FloatArray, float]:
        """The minimum of |theta|^2 / 2 + loss on columns times s."""
        game, columns = self.game, self.columns
        Z = columns.Z * s.astype(columns.Z.dtype)
        C = np.broadcast_to(game.C, game.y.shape)
        w = columns.ledger.joint(C, columns.rows)
        w *= (game.weight @ C) / w.sum()
        y = game.y[columns.rows]
        if isinstance(game, Squared):
            model = Ridge(1.0).fit(MemorySource(Z, y, w), None)
            return model.coef[0], float(model.intercept[0])
        start = np.zeros(len(s))
        start[: len(self.theta)] = self.theta / s[: len(self.theta)]
        found = l2_svm(Z, y, w, start, self.b)
        return found.theta, found.b

    def _scores(self, fm: FeatureMap) -> FloatArray:
        columns = self.columns
        if columns.place is None:
            return columns.ledger.scores(fm, self.theta) + self.b
        here = columns.Z @ self.theta.astype(columns.Z.dtype)
        return np.asarray(here.astype(np.float64)[columns.place] + self.b)


def followed(
    game: Game,
    f: FloatArray,
    sample: Sample,
    W: FloatArray,
    count: int,
    turns: int,
    share: float,
    again: bool,
) -> list[int]:
    """Which of the frequencies W to take, each the best response to the leader after the last.

    ``f`` are the scores of all rows, ``turns`` the frequencies so far; sums over the sample are
    this ``share`` of those over all rows, S as well, so that v counts for that much more beside g.
    """
    few = Game.take(game, sample.rows)
    few, f = type(game)(few.y, sample.weight, few.C), f[sample.rows].copy()
    phi = sample.waves(W)
    taken: list[int] = []
    for j in range(count if again else min(count, len(W))):
        r = few.weight * few.coefficients(few.answer(f))
        S = np.asarray(phi.T @ r.astype(phi.dtype), dtype=np.float64)
        v = S[0::2] ** 2 + S[1::2] ** 2
        if not again:
            v[taken] = -np.inf
        best = int(np.argmax(v))
        taken.append(best)
        g = phi[:, 2 * best : 2 * best + 2] @ S[2 * best : 2 * best + 2]
        bent = float(few.bend(f) @ g**2) + share * (turns + j + 1) * v[best]
        f += (v[best] / bent if bent > 0 else 0.0) * g
    return taken
