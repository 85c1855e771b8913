"""The games between weights of the rows and a measure over features.

    min over measures lambda, max over a in K of   F(a, lambda) = d(a) - 1/2 sum_t lambda_t v_t(a)

    v_t(a) = |sum_i w_i r_i phi_t(x_i)|^2        r = y a (classes -1, +1) or a (amounts)

    game            d(a)                         K                      head that it belongs to
    Hinge           sum a                        0 <= a <= C, y'a = 0   C sum [1 - y f]_+
    SquaredHinge    sum a - |a|^2 / (2C)         0 <= a, y'a = 0        C/2 sum [1 - y f]_+^2
    Squared         sum y a - |a|^2 / (2C)       sum a = 0              C/2 sum (y - f)^2

The game is the normalised one (the measure sums to one): line 8 of Algorithm 2 in Bullins et al.
uses a measure of mass two where its constraint says one. Every sum over rows carries the weights
w, and so do norms and projections: a row of weight two is the row twice.

Values that bracket the game, after any rounds t with weights a_t, features phi_t and sums
S_t = sum_i w_i r_i phi_t(x_i):

    lower   max over tau in [0, 1] of F(tau a, omega) at the best response omega to a
    upper   P(s, b) = s^2/2 mean |S_t|^2 + C sum_i w_i loss(y_i, s mean_t <phi_t(x_i), S_t> + b)

P is the head's objective at one vector of coefficients for the mixture of all rounds, so by weak
duality it is above max over a of F(a, mixture) for any s and b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...ops import FloatArray
from .dual_set import project_dual

#: Rows on which the scale and shift of the upper value are sought; it is measured on all of them.
SCALE_ROWS = 2000


@dataclass(frozen=True)
class Upper:
    """P(s, b) and where it was found; ``margin`` is 1 / |coefficients|."""

    value: float
    scale: Any  # of more games at once (`shared`) one each
    shift: Any
    margin: float


@dataclass(frozen=True, eq=False)
class Game(ABC):
    """One game: the targets y, the weights w and the box C of its rows (n each, or C a number)."""

    y: FloatArray
    weight: FloatArray
    C: Any

    @abstractmethod
    def project(self, a: FloatArray) -> FloatArray:
        """The closest point of K."""

    @abstractmethod
    def coefficients(self, a: FloatArray) -> FloatArray:
        """r."""

    @abstractmethod
    def gradient(self, a: FloatArray, f: FloatArray) -> FloatArray:
        """The gradient of F in a where f_i = <phi_t(x_i), S_t>."""

    @abstractmethod
    def loss(self, f: FloatArray) -> float:
        """The loss of all rows at scores f, times w and C."""

    def answer(self, f: FloatArray) -> FloatArray:
        """The weights behind the scores f of a head, a point of K.

        Of its optimum they are that but for rounding; a row without weight stays without, which a
        projection would not leave so.
        """
        raise NotImplementedError(f"{type(self).__name__} is not strongly concave")

    def bend(self, f: FloatArray) -> FloatArray:
        """The second derivative of the loss of each row by its score, times w and C."""
        raise NotImplementedError(f"{type(self).__name__} is not strongly concave")

    @abstractmethod
    def best_line(self, f: FloatArray, V: float) -> tuple[float, float]:
        """The s and b that (about) minimise V s^2 / 2 + loss(s f + b)."""

    @abstractmethod
    def start(self) -> FloatArray:
        """Where the weights begin."""

    @abstractmethod
    def linear(self, a: FloatArray) -> float:
        """The part of d(a) that is linear in a."""

    @property
    def concavity(self) -> float:
        """The modulus of strong concavity of F in a; zero for the hinge."""
        return 0.0

    @cached_property
    def diameter(self) -> float:
        """D, of K or of the part of it that matters."""
        return float(np.sqrt(self.weight @ np.broadcast_to(self.C**2, self.y.shape)))

    def norm(self, a: FloatArray) -> float:
        return float(np.sqrt(self.weight @ a**2))

    def square(self, a: FloatArray) -> float:
        """|a|^2 / C, where the game has it."""
        return 0.0

    def lower(self, a: FloatArray, v: float) -> float:
        """max over tau in [0, 1] of tau d(a) - tau^2 / 2 (v + |a|^2 / C)."""
        along, bent = self.linear(a), v + self.square(a)
        if along <= 0.0:
            return 0.0
        tau = min(1.0, along / bent) if bent > 0 else 1.0
        return tau * along - 0.5 * tau**2 * bent

    def upper(self, f: FloatArray, V: Any) -> Upper:
        """P at the s and b that are best on a sample of the rows."""
        few = self.take(slice(None, None, max(1, len(f) // SCALE_ROWS)))
        part = float(few.weight.sum() / self.weight.sum())
        s, b = few.best_line(f[:: max(1, len(f) // SCALE_ROWS)], part * V)
        value = 0.5 * s**2 * V + self.loss(s * f + b)
        flat = self.loss(np.full(len(f), b))
        if flat < value:
            s, value = 0.0, flat
        length = abs(s) * np.sqrt(V)
        return Upper(value, s, b, float(1.0 / length) if length > 0 else np.inf)

    def same(self, other: Game) -> bool:
        """Is the other the same game on the same targets and weights?"""
        pairs = ((self.y, other.y), (self.weight, other.weight), (self.C, other.C))
        return type(self) is type(other) and all(np.array_equal(a, b) for a, b in pairs)

    def take(self, rows: Any) -> Game:
        """The game on some rows."""
        C = self.C if np.ndim(self.C) == 0 else self.C[rows]
        return type(self)(self.y[rows], self.weight[rows], C)

    def ascend(self, a: FloatArray, f: FloatArray, t: int) -> tuple[FloatArray, float]:
        """Round t of online gradient ascent, and the norm of the gradient that it saw.

        The step is D / (|g| sqrt t), Zinkevich's with the measured norm in place of a bound;
        1 / (sigma t) of a strongly concave game where that is shorter.
        """
        g = self.gradient(a, f)
        size = self.norm(g)
        if size == 0.0:
            return a, size
        step = self.diameter / (size * np.sqrt(t))
        if self.concavity > 0.0:
            step = min(step, 1.0 / (self.concavity * t))
        return self.project(a + step * g), size


class _Classes(Game):
    """What the two games of classes -1 and +1 share."""

    def coefficients(self, a: FloatArray) -> FloatArray:
        return np.asarray(self.y * a)

    def linear(self, a: FloatArray) -> float:
        return float(self.weight @ a)

    def start(self) -> FloatArray:
        return self.project(np.broadcast_to(self.C, self.y.shape).astype(np.float64))


class Hinge(_Classes):
    """The l1-SVM."""

    def project(self, a: FloatArray) -> FloatArray:
        return project_dual(a, self.y, self.C, self.weight)

    def gradient(self, a: FloatArray, f: FloatArray) -> FloatArray:
        return 1.0 - self.y * f

    def loss(self, f: FloatArray) -> float:
        return float((self.weight * self.C) @ np.maximum(1.0 - self.y * f, 0.0))

    def best_line(self, f: FloatArray, V: float) -> tuple[float, float]:
        """Golden section in log s; the best b is the quantile of y - s f at the share of +1."""
        w = self.weight * self.C
        share = float(w[self.y > 0].sum() / w.sum())

        def at(log_s: float) -> tuple[float, float, float]:
            s = float(np.exp(log_s))
            b = _quantile(self.y - s * f, w, share)
            return 0.5 * s * s * V + self.loss(s * f + b), s, b

        size = float(np.abs(f).max(initial=0.0))
        if size == 0.0:
            return 0.0, _quantile(self.y, w, share)
        top = np.log(1e3 / size)
        _, s, b = _golden(at, top - np.log(1e9), top)
        return s, b


class SquaredHinge(_Classes):
    """The l2-SVM: strongly concave, so that the regret grows as log T only."""

    @property
    def concavity(self) -> float:
        return float(1.0 / np.max(self.C))

    def project(self, a: FloatArray) -> FloatArray:
        return project_dual(a, self.y, np.inf, self.weight)

    def gradient(self, a: FloatArray, f: FloatArray) -> FloatArray:
        return np.asarray(1.0 - self.y * f - a / self.C)

    def loss(self, f: FloatArray) -> float:
        return float(0.5 * (self.weight * self.C) @ np.maximum(1.0 - self.y * f, 0.0) ** 2)

    def answer(self, f: FloatArray) -> FloatArray:
        a = np.asarray(self.C * np.maximum(1.0 - self.y * f, 0.0))
        ours, others = (float(self.weight @ np.where(self.y == k, a, 0.0)) for k in (1.0, -1.0))
        if ours == 0.0 or others == 0.0:
            return np.zeros(len(a))
        return np.where(self.y > 0, min(1.0, others / ours), min(1.0, ours / others)) * a

    def bend(self, f: FloatArray) -> FloatArray:
        return np.asarray(self.weight * self.C * (self.y * f < 1.0))

    def square(self, a: FloatArray) -> float:
        return float(self.weight @ (a**2 / self.C))

    def best_line(self, f: FloatArray, V: float) -> tuple[float, float]:
        return _newton_line(self.y, f, self.weight * self.C, V, True)


class Squared(Game):
    """Ridge regression of amounts."""

    @property
    def concavity(self) -> float:
        return float(1.0 / np.max(self.C))

    @cached_property
    def diameter(self) -> float:
        """The weights are C times residuals, which start as the deviations of y."""
        return self.norm(self.start())

    def start(self) -> FloatArray:
        return self.project(self.C * self.y)

    def project(self, a: FloatArray) -> FloatArray:
        return np.asarray(a - (self.weight @ a) / self.weight.sum())

    def coefficients(self, a: FloatArray) -> FloatArray:
        return a

    def gradient(self, a: FloatArray, f: FloatArray) -> FloatArray:
        return np.asarray(self.y - f - a / self.C)

    def linear(self, a: FloatArray) -> float:
        return float(self.weight @ (self.y * a))

    def loss(self, f: FloatArray) -> float:
        return float(0.5 * (self.weight * self.C) @ (self.y - f) ** 2)

    def answer(self, f: FloatArray) -> FloatArray:
        return self.project(np.asarray(self.C * (self.y - f)))

    def bend(self, f: FloatArray) -> FloatArray:
        return np.asarray(self.weight * self.C * np.ones(len(f)))

    def square(self, a: FloatArray) -> float:
        return float(self.weight @ (a**2 / self.C))

    def best_line(self, f: FloatArray, V: float) -> tuple[float, float]:
        return _newton_line(self.y, f, self.weight * self.C, V, False)


def _quantile(x: FloatArray, w: FloatArray, share: float) -> float:
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(w[order])
    return float(x[order[min(len(x) - 1, int(np.searchsorted(reached, share * reached[-1])))]])


def _golden(f: Any, low: float, high: float, rounds: int = 40) -> Any:
    """Golden section for a convex function whose values are tuples that start with a number."""
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = f(a), f(b)
    for _ in range(rounds):
        if at_a[0] <= at_b[0]:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = f(b)
    return min(at_a, at_b, key=lambda found: found[0])


def _newton_line(
    y: FloatArray, f: FloatArray, c: FloatArray, V: float, one_sided: bool
) -> tuple[float, float]:
    """The s and b of V s^2 / 2 + sum c (y - s f - b)^2 / 2, of rows on the wrong side only if so.

    With classes 1 - y (s f + b) is y (y - s f - b); Newton steps repeat until no row changes side.
    """
    scale = float(np.abs(f).max(initial=0.0)) or 1.0
    u, V = f / scale, V / scale**2
    x, active = np.zeros(2), np.ones(len(y), dtype=bool)
    for _ in range(30):
        c_on, u_on = c[active], u[active]
        H = np.array([[V + c_on @ u_on**2, c_on @ u_on], [c_on @ u_on, c_on.sum()]])
        right = np.array([c_on @ (u_on * y[active]), c_on @ y[active]])
        x = np.linalg.lstsq(H, right, rcond=None)[0]
        now = y * (y - x[0] * u - x[1]) > 0 if one_sided else active
        if np.array_equal(now, active) or not now.any():
            break
        active = now
    return float(x[0] / scale), float(x[1])
