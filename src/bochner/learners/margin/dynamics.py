"""Optimistic dynamics of a game over finitely many columns, with a measured gap.

Both players move by proximal steps; the row player answers not the coefficients u_k but where they
are going, 2 u_k - u_{k-1} (Chambolle & Pock 2011: a primal-dual method; Daskalakis et al. 2015 call
such play optimistic). Its averages have a gap of O(1/k), as with Nesterov's excessive gap, where
regret gives O(1/sqrt k). Here

    a     <- proj_K(a + sigma grad_a F(a, 2 u_k - u_{k-1}))
    u_k+1 <- prox(u_k + tau S(a)),         tau sigma |phi|^2 <= 1 (the largest singular value)

1. Averages start anew from the better of average and last point each time the gap has shrunk enough
   (Applegate et al. 2021): on games that are piecewise linear or quadratic this makes convergence
   linear in practice, and it rebalances the lengths of the two steps.
2. The gap is the difference of the players' values (`games`), never the theory's. Scores and sums
   of an average are averages themselves, so measuring costs no product with the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ops import FloatArray, single_threaded_blas
from .games import Game
from .mixtures import Mixtures

#: Steps between two measurements of the gap.
MEASURED = 20
#: A gap this much smaller than at the last restart is enough; after so long a part of all steps,
#: any progress is.
ENOUGH, LONG = 0.3, 0.4


@dataclass(frozen=True, eq=False)
class Point:
    """Where both players stand: u and a, with f = phi u and S = sum_i w_i r_i phi(x_i)."""

    u: FloatArray
    f: FloatArray
    a: FloatArray
    S: FloatArray

    def __add__(self, other: Point) -> Point:
        return Point(self.u + other.u, self.f + other.f, self.a + other.a, self.S + other.S)

    def over(self, k: int) -> Point:
        return Point(self.u / k, self.f / k, self.a / k, self.S / k)


@dataclass(frozen=True)
class Values:
    """What the players guarantee: the value of the game is between."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return self.upper - self.lower


def values(game: Game, mixtures: Mixtures, at: Point) -> Values:
    """Both values at one point."""
    upper = game.upper(at.f, mixtures.norm(at.u) ** 2).value
    top = float(mixtures.potential(at.S).max(initial=0.0))
    return Values(game.lower(at.a, top), upper)


@dataclass(frozen=True, eq=False)
class Solved:
    """The point with the best upper value, the best lower one, and how many steps it took."""

    point: Point
    a: FloatArray
    values: Values
    steps: int
    balance: float


def solve(
    game: Game,
    phi: FloatArray,
    mixtures: Mixtures,
    u: FloatArray,
    a: FloatArray,
    target: float,
    *,
    balance: float = 1.0,
    steps: int = 5000,
) -> Solved:
    """Play on columns in memory until the gap is at most ``target`` (or steps are used up)."""
    with single_threaded_blas():  # products with one vector: bound by memory, not by arithmetic
        play = _Play(game, phi, mixtures, _point(game, phi, u, a), balance)
        for step in range(1, steps + 1):
            play.step()
            if step % MEASURED == 0 or step == steps:
                play.measure(step)
                if play.best.gap <= target:
                    break
    return Solved(play.leader, play.weights, play.best, step, play.balance)


def _point(game: Game, phi: FloatArray, u: FloatArray, a: FloatArray) -> Point:
    return Point(u, _scores(phi, u), a, _sums(game, phi, a))


def _scores(phi: FloatArray, u: FloatArray) -> FloatArray:
    return np.asarray(phi @ u.astype(phi.dtype), dtype=np.float64)


def _sums(game: Game, phi: FloatArray, a: FloatArray) -> FloatArray:
    r = game.weight * game.coefficients(a)
    return np.asarray(phi.T @ r.astype(phi.dtype), dtype=np.float64)


class _Play:
    """One run of the dynamics."""

    def __init__(
        self, game: Game, phi: FloatArray, mixtures: Mixtures, start: Point, balance: float
    ) -> None:
        self.game, self.phi, self.mixtures = game, phi, mixtures
        self.size = largest_singular_value(phi, game.weight)
        self.now = self.leader = self.origin = start
        self.weights, self.balance = start.a, balance
        self.ahead = start.f
        self.total, self.count, self.begun = start.over(1), 0, 0
        self.best = self.at_restart = values(game, mixtures, start)

    def step(self) -> None:
        sigma, tau = self.balance / self.size, 1.0 / (self.balance * self.size)
        now, game = self.now, self.game
        if game.concavity > 0.0:  # the proximal step of -|a|^2 / (2C), written with its gradient
            sigma = sigma / (1.0 + sigma / game.C)
        a = game.project(now.a + sigma * game.gradient(now.a, self.ahead))
        S = _sums(game, self.phi, a)
        u = self.mixtures.prox(now.u + tau * S, tau)
        f = _scores(self.phi, u)
        self.ahead = 2.0 * f - now.f
        self.now = Point(u, f, a, S)
        self.total = self.now if self.count == 0 else self.total + self.now
        self.count += 1

    def measure(self, step: int) -> None:
        found = {}
        for name, point in (("last", self.now), ("average", self.total.over(self.count))):
            value = values(self.game, self.mixtures, point)
            found[name] = (value, point)
            self._keep(value, point)
        value, point = min(found.values(), key=lambda pair: pair[0].gap)
        shrunk = value.gap <= ENOUGH * self.at_restart.gap
        stale = step - self.begun >= LONG * step and value.gap < self.at_restart.gap
        if shrunk or stale:
            self._restart(point, value, step)

    def _keep(self, value: Values, point: Point) -> None:
        """Lower and upper value are the best so far, each with who reached it."""
        if value.upper < self.best.upper:
            self.leader = point
        if value.lower > self.best.lower:
            self.weights = point.a
        self.best = Values(max(self.best.lower, value.lower), min(self.best.upper, value.upper))

    def _restart(self, point: Point, value: Values, step: int) -> None:
        moved_u = float(np.linalg.norm(point.u - self.origin.u))
        moved_a = self.game.norm(point.a - self.origin.a)
        if moved_u > 0.0 and moved_a > 0.0:
            self.balance = float(np.sqrt(self.balance * moved_a / moved_u))
        self.now = self.origin = point
        self.ahead, self.count = point.f, 0
        self.begun, self.at_restart = step, value


def largest_singular_value(phi: FloatArray, weight: FloatArray, rounds: int = 30) -> float:
    """|sqrt(w) phi|, and a little more for what the power iteration on phi' w phi may lack."""
    x = np.ones(phi.shape[1]) + np.arange(phi.shape[1]) % 7 / 7.0  # no column is orthogonal to it
    before = 0.0
    for _ in range(rounds):
        x /= max(float(np.linalg.norm(x)), 1e-300)
        r = weight * _scores(phi, x)
        x = np.asarray(phi.T @ r.astype(phi.dtype), dtype=np.float64)
        size = float(np.linalg.norm(x))
        if size <= before * (1.0 + 1e-2):
            break
        before = size
    return float(np.sqrt(1.1 * max(size, 1e-300)))
