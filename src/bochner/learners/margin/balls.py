"""The kernel player's choices in a divergence ball: problem (9) of Sinha & Duchi 2016.

With q in  P = {q in the simplex, mean((N q)^k) - 1 <= rho}  the game min_q max_a F(a, q) is again a
minimum over coefficients u of the columns, now with q beside them (for more games at once, which
share q, u and S have a column for each and |.| is over these):

    min over q in P, u, b of  sum_m |u_m|^2 / (2 q_m) + sum_i w_i loss(y_i, phi(x_i)'u + b)
    max over a in K of        d(a) - max over q in P of q'v / 2,        v_m = |S_m|^2

as  u_m^2 / (2 q_m) = max over s of u_m s - q_m s^2 / 2. So the best response of q to weights a is
problem (4) with scores v, which `alignment.solve` answers exactly; rho = N^(k-1) - 1 is the simplex
and rho = 0 the support vector machine of the base kernel.

1. A ball on some of the columns is a ball: on n of N columns, the others at zero, the constraint is
   that of radius (n / N)^(k-1) (1 + rho) - 1. A column outside is better than those in play where
   its v is above the threshold eta of the best response among these.
2. The proximal step in u, with q minimised out: u = z q / (q + tau), `quotients`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray
from ..alignment import solve
from .quotients import Found, least_quotients


@dataclass(frozen=True, eq=False)
class Ball:
    """N columns, each for itself, with the radius rho and the order k of their measure."""

    n_groups: int
    rho: float
    order: float = 2.0
    _last: list[Found] = field(default_factory=list, repr=False)

    @property
    def group(self) -> NDArray[np.intp]:
        """Each column is a group."""
        return np.arange(self.n_groups)

    def among(self, groups: NDArray[np.intp]) -> Ball:
        """The ball where only some columns are in play."""
        n, N, k = len(groups), self.n_groups, self.order
        rho = np.expm1((k - 1.0) * np.log(n / N) + np.log1p(self.rho))
        return Ball(n, max(0.0, float(rho)), k)

    def potential(self, S: FloatArray) -> FloatArray:
        """v_m = |S_m|^2."""
        return np.asarray(S**2 if S.ndim == 1 else np.einsum("mc,mc->m", S, S))

    def largest(self, v: FloatArray) -> float:
        """max over q of q'v."""
        return float(solve(v, self.rho, self.order).stats["value"])

    def response(self, v: FloatArray) -> FloatArray:
        """The q that attains it."""
        weights = solve(v, self.rho, self.order).weights
        assert weights is not None
        return weights

    def threshold(self, v: FloatArray) -> float:
        """eta of the best response: a column outside with more than this would have weight."""
        return float(solve(v, self.rho, self.order).stats["eta"])

    def squares(self, u: FloatArray, q: FloatArray) -> FloatArray:
        """sum_m u_m^2 / q_m, one number a game; u is zero where q is."""
        on = q > 0.0
        return np.asarray((u[on].T ** 2 / q[on]).sum(axis=-1))

    def step(self, z: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        """argmin over u and q of tau sum_m |u_m|^2 / (2 q_m) + |u - z|^2 / 2."""
        n = self.n_groups
        sizes = np.sqrt(self.potential(z))
        start = self._last[0] if self._last else None
        found = least_quotients(sizes, n * tau, self.rho, self.order, start)
        self._last[:] = [found]
        p = found.p
        return np.asarray((z.T * (p / (p + n * tau))).T), p / n
