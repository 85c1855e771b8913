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

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ...ops import FloatArray, single_threaded_blas
from .balls import Ball
from .games import Game
from .mixtures import Mixtures
from .products import Held, Products

#: What the kernel player may choose among.
Choices: TypeAlias = "Mixtures | Ball"

#: Steps between two measurements of the gap.
MEASURED = 20
#: The measure where the coefficients say it already.
IMPLIED: FloatArray = np.zeros(0)
#: A gap this much smaller than at the last restart is enough; after so long a part of all steps,
#: any progress is.
ENOUGH, LONG = 0.3, 0.4


@dataclass(frozen=True, eq=False)
class Point:
    """Where both players stand: u and a, with f = phi u and S = sum_i w_i r_i phi(x_i).

    q is the measure that goes with u, where it is chosen beside it (`balls`).
    """

    u: FloatArray
    f: FloatArray
    a: FloatArray
    S: FloatArray
    q: FloatArray = field(default_factory=lambda: IMPLIED)

    def __add__(self, other: Point) -> Point:
        return Point(
            self.u + other.u,
            self.f + other.f,
            self.a + other.a,
            self.S + other.S,
            self.q + other.q,
        )

    def over(self, k: int) -> Point:
        return Point(self.u / k, self.f / k, self.a / k, self.S / k, self.q / k)


@dataclass(frozen=True)
class Values:
    """What the players guarantee: the value of the game is between."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return self.upper - self.lower


def values(game: Game, mixtures: Choices, at: Point) -> Values:
    """Both values at one point."""
    upper = game.upper(at.f, mixtures.squares(at.u, at.q)).value
    top = mixtures.largest(mixtures.potential(at.S))
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
    phi: FloatArray | Products,
    mixtures: Choices,
    u: FloatArray,
    a: FloatArray,
    target: float,
    *,
    q: FloatArray = IMPLIED,
    balance: float = 1.0,
    steps: int = 5000,
    stop: Callable[[Values, int], bool] | None = None,
) -> Solved:
    """Play until the gap is at most ``target`` (or steps are used up, or ``stop`` says so)."""
    play = Dynamics.begin(game, phi, mixtures, u, a, q, balance)
    return play.run(target, steps, stop)


def _point(
    game: Game, phi: Products, u: FloatArray, a: FloatArray, q: FloatArray = IMPLIED
) -> Point:
    return Point(u, phi.scores(u), a, phi.sums(game.coefficients(a), game.weight), q)


class Dynamics:
    """One run of the dynamics, which may go on."""

    def __init__(
        self, game: Game, phi: Products, mixtures: Choices, start: Point, balance: float
    ) -> None:
        self.game, self.phi, self.mixtures = game, phi, mixtures
        self.size = largest_singular_value(phi, game.weight)
        self.now = self.leader = self.origin = start
        self.weights, self.balance = start.a, balance
        self.ahead = start.f
        self.total, self.count, self.begun = start.over(1), 0, 0
        self.best = self.at_restart = values(game, mixtures, start)
        self.steps = 0

    @classmethod
    def begin(
        cls,
        game: Game,
        phi: FloatArray | Products,
        mixtures: Choices,
        u: FloatArray,
        a: FloatArray,
        q: FloatArray = IMPLIED,
        balance: float = 1.0,
    ) -> Dynamics:
        """From coefficients u (with the measure q) and weights a."""
        columns = phi if isinstance(phi, Products) else Held(phi)
        return cls(game, columns, mixtures, _point(game, columns, u, a, q), balance)

    def run(
        self, target: float, steps: int, stop: Callable[[Values, int], bool] | None = None
    ) -> Solved:
        """So many steps at most; fewer where the gap or ``stop`` says so."""
        end, before = self.steps + steps, self.steps
        # in memory a product with one vector is bound by memory, not by arithmetic
        with single_threaded_blas() if isinstance(self.phi, Held) else nullcontext():
            while self.steps < end:
                self.step()
                self.steps += 1
                if self.steps % MEASURED == 0 or self.steps == end:
                    self.measure(self.steps)
                    done = self.best.gap <= target
                    if done or (stop is not None and stop(self.best, self.steps - before)):
                        break
        taken = self.steps - before
        return Solved(self.leader, self.weights, self.best, taken, self.balance)

    def step(self) -> None:
        sigma, tau = self.balance / self.size, 1.0 / (self.balance * self.size)
        now, game = self.now, self.game
        if game.concavity > 0.0:  # the proximal step of -|a|^2 / (2C), written with its gradient
            sigma = sigma / (1.0 + sigma / game.C)
        a = game.project(now.a + sigma * game.gradient(now.a, self.ahead))
        S = self.phi.sums(game.coefficients(a), game.weight)
        u, q = self.mixtures.step(now.u + tau * S, tau)
        f = self.phi.scores(u)
        self.ahead = 2.0 * f - now.f
        self.now = Point(u, f, a, S, q)
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


def largest_singular_value(
    phi: FloatArray | Products, weight: FloatArray, rounds: int = 30
) -> float:
    """|sqrt(w) phi|, and a little more for what the power iteration on phi' w phi may lack."""
    columns = phi if isinstance(phi, Products) else Held(phi)
    M = columns.n_columns
    x = np.ones(M) + np.arange(M) % 7 / 7.0  # no column is orthogonal to it
    before = 0.0
    for _ in range(rounds):
        x /= max(float(np.linalg.norm(x)), 1e-300)
        x = columns.sums(columns.scores(x), weight)
        size = float(np.linalg.norm(x))
        if size <= before * (1.0 + 1e-2):
            break
        before = size
    return float(np.sqrt(1.1 * max(size, 1e-300)))
