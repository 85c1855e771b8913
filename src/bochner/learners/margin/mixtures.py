"""The kernel player's choices where features are finitely many: mixtures over columns or groups.

With every column for itself (rank-one kernels phi_m phi_m') or in groups of the same weight
(sum_{m in g} phi_m phi_m' / n_g: for harmonics of one degree a rotation-invariant kernel), the
game min_q max_a F(a, q) is a minimum over coefficients u of the columns, because

    min over q of  sum_g n_g |u_g|^2 / q_g  =  |u|^2,     |u| = sum_g sqrt(n_g) |u_g|_2,

attained at q_g = sqrt(n_g) |u_g|_2 / |u|. So the game is the l1-norm support vector machine

    min over u, b of  |u|^2 / 2 + sum_i w_i loss(y_i, phi(x_i)'u + b)                    (primal)
    max over a in K of  d(a) - max_g |S_g|^2 / (2 n_g),   S = sum_i w_i r_i phi(x_i)        (dual)

and a solution is sparse: the number of columns is found, not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Which group each of the columns belongs to, and how many columns each group has."""

    group: NDArray[np.intp]
    size: FloatArray

    @classmethod
    def of_columns(cls, n: int) -> Mixtures:
        """Every column for itself."""
        return cls(np.arange(n), np.ones(n))

    @classmethod
    def of_labels(cls, labels: Any) -> Mixtures:
        """Columns of the same label have the same weight."""
        _, group, size = np.unique(labels, return_inverse=True, return_counts=True)
        return cls(group.reshape(-1), size.astype(np.float64))

    @property
    def n_groups(self) -> int:
        return len(self.size)

    def take(self, groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], Mixtures]:
        """The columns of some groups, and the mixtures of these alone."""
        place = np.full(self.n_groups, -1, dtype=np.intp)
        place[groups] = np.arange(len(groups))
        columns = np.flatnonzero(place[self.group] >= 0)
        return columns, Mixtures(place[self.group[columns]], self.size[groups])

    def lengths(self, u: FloatArray) -> FloatArray:
        """|u_g|_2."""
        return np.sqrt(np.bincount(self.group, weights=u**2, minlength=self.n_groups))

    def norm(self, u: FloatArray) -> float:
        """|u|."""
        return float(np.sqrt(self.size) @ self.lengths(u))

    def potential(self, S: FloatArray) -> FloatArray:
        """v_g = |S_g|^2 / n_g, what the row player loses to each group."""
        return self.lengths(S) ** 2 / self.size

    def largest(self, v: FloatArray) -> float:
        """max over measures: all of it on the best group."""
        return float(v.max(initial=0.0))

    def squares(self, u: FloatArray, q: FloatArray) -> float:
        """|u|^2, whatever the measure."""
        return self.norm(u) ** 2

    def step(self, z: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        """The proximal step, and no measure: `weights` is what u implies."""
        return self.prox(z, tau), np.zeros(0)

    def weights(self, u: FloatArray) -> FloatArray:
        """The measure over columns, q_g / n_g, which sums to one."""
        norm = self.norm(u)
        if norm == 0.0:
            return np.full(len(u), 1.0 / max(1, len(u)))
        return np.asarray((self.lengths(u) / np.sqrt(self.size))[self.group] / norm)

    def prox(self, z: FloatArray, tau: float) -> FloatArray:
        """argmin over u of tau |u|^2 / 2 + |u - z|_2^2 / 2.

        Groups shrink to |z_g| - tau sqrt(n_g) s where that is above zero, with s = |u|: sorted by
        |z_g| / sqrt(n_g), s is the ratio of two running sums.
        """
        lengths, root = self.lengths(z), np.sqrt(self.size)
        order = np.argsort(-lengths / root, kind="stable")
        s = np.cumsum((root * lengths)[order]) / (1.0 + tau * np.cumsum(self.size[order]))
        active = np.flatnonzero((lengths / root)[order] > tau * s)
        norm = float(s[active[-1]]) if len(active) else 0.0
        left = np.maximum(lengths - tau * root * norm, 0.0)
        shrink = np.divide(left, lengths, out=np.zeros_like(left), where=lengths > 0)
        return np.asarray(z * shrink[self.group])
