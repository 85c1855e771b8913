"""The games: gradients, weak duality, convergence to the solution of a support vector machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from bochner.learners.margin.games import Hinge, Squared, SquaredHinge
from make import rng, rows

GAMES = {"hinge": Hinge, "squared hinge": SquaredHinge, "squared": Squared}


def game(name, n=40, C=0.7, seed=0, weight=None):
    generator = rng(seed)
    y = generator.standard_normal(n)
    if name != "squared":
        y = np.where(y > 0.3, 1.0, -1.0)
    return GAMES[name](y, np.ones(n) if weight is None else weight, C)


def value(g, a, S2):
    """F(a, omega) with v = |S|^2."""
    return g.linear(a) - 0.5 * g.square(a) - 0.5 * S2


def solve(g, phi):
    """max over a of F for one feature set with kernel phi phi', by a general solver."""
    K = phi @ phi.T
    A = g.coefficients(np.ones(len(g.y)))
    Q = A[:, None] * K * A * g.weight * g.weight[:, None]

    def minus(a):
        Qa = Q @ a
        return 0.5 * a @ Qa - g.linear(a) + 0.5 * g.square(a), Qa - g.weight * g.gradient(a, 0 * a)

    bounds = {"Hinge": (0, g.C), "SquaredHinge": (0, None), "Squared": (None, None)}
    constraint = {"type": "eq", "fun": lambda a: g.weight @ (A * a), "jac": lambda a: g.weight * A}
    found = optimize.minimize(
        minus, g.start(), jac=True, bounds=[bounds[type(g).__name__]] * len(g.y),
        constraints=[constraint], method="SLSQP", options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    return found.x, -found.fun


@pytest.mark.parametrize("name", GAMES)
def test_gradient(name):
    g, phi = game(name), rows(40, 2)
    a = g.project(rng(1).random(40))

    def F(a):
        S = phi.T @ g.coefficients(a)
        return value(g, a, S @ S)

    f = phi @ (phi.T @ g.coefficients(a))
    numeric = [(F(a + e) - F(a - e)) / 2e-5 for e in 1e-5 * np.eye(40)]
    assert_allclose(g.gradient(a, f), numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("C", [0.05, 0.7, 20.0])
def test_weak_duality_and_no_gap_at_the_solution(name, C):
    g, phi = game(name, C=C), rows(40, 3) / 3
    best, top = solve(g, phi)
    for a in (g.start(), g.project(rng(1).random(40)), best):
        S = phi.T @ g.coefficients(a)
        upper = g.upper(phi @ S, S @ S)
        assert upper.value >= top - 1e-7 * (1 + abs(top))
        assert g.lower(a, S @ S) <= top + 1e-7 * (1 + abs(top))
    assert upper.value == pytest.approx(top, rel=2e-3, abs=1e-6)
    assert g.lower(best, S @ S) == pytest.approx(top, rel=1e-5)


@pytest.mark.parametrize("name", GAMES)
def test_upper_finds_the_best_scale_and_shift(name):
    g = game(name)
    f = rows(40, 1)[:, 0] + 0.3 * g.y
    found = g.upper(f, 2.0)

    def P(x):
        return x[0] ** 2 + g.loss(x[0] * f + x[1])

    around = optimize.minimize(P, [found.scale, found.shift], method="Nelder-Mead").fun
    assert found.value <= around + 1e-3 * abs(around)
    assert found.margin == pytest.approx(1 / (abs(found.scale) * np.sqrt(2.0)))


@pytest.mark.parametrize("name", GAMES)
def test_ascent_against_a_fixed_feature_reaches_its_value(name):
    g, phi = game(name), rows(40, 3) / 3
    _, top = solve(g, phi)
    a, best = g.start(), -np.inf
    for t in range(1, 400):
        S = phi.T @ g.coefficients(a)
        best = max(best, g.lower(a, S @ S))
        a, _ = g.ascend(a, phi @ S, t)
    assert best == pytest.approx(top, rel=0.02)


@pytest.mark.parametrize("name", GAMES)
def test_a_row_of_weight_two_is_the_row_twice(name):
    w = rng(3).integers(1, 4, 40).astype(float)
    copies = np.repeat(np.arange(40), w.astype(int))
    one, many = game(name, weight=w), game(name)
    many = type(one)(one.y[copies], np.ones(len(copies)), one.C)
    f, a, b = rows(40, 1)[:, 0], one.start(), many.start()
    assert_allclose(a[copies], b, atol=1e-12)
    for t in (1, 2, 3):
        a, _ = one.ascend(a, f, t)
        b, _ = many.ascend(b, f[copies], t)
        assert_allclose(a[copies], b, atol=1e-10)
    assert one.lower(a, 2.0) == pytest.approx(many.lower(b, 2.0))
    assert one.upper(f, 2.0).value == pytest.approx(many.upper(f[copies], 2.0).value)
