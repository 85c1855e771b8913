"""The proximal step of a divergence ball: optimal, by the exact solver of problem (4)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.learners.alignment import solve
from bochner.learners.margin.balls import Ball
from bochner.learners.margin.quotients import feasible, least_quotients
from make import rng, rows

ORDERS = (1.2, 1.5, 2.0, 3.0, 5.0)


def divergence(q, k):
    return np.mean((len(q) * q) ** k) - 1


def rho_of(radius, N, k):
    return radius * (N ** (k - 1) - 1)


@pytest.mark.parametrize("k", ORDERS)
@pytest.mark.parametrize("t", [1e-3, 1.0, 1e3])
def test_the_step_is_optimal(k, t):
    """A convex function is above its least value by at most the gap of its linear model, which the
    exact solver of problem (4) measures."""
    for seed, radius in enumerate((1e-6, 1e-3, 0.02, 0.2, 0.7, 1.0)):
        N = 40
        z = rows(N, 1, seed)[:, 0] * np.exp(rows(N, 1, seed + 9)[:, 0])
        rho = rho_of(radius, N, k)
        p = least_quotients(z, t, rho, k).p
        assert np.all(p >= 0)
        assert_allclose(p.mean(), 1.0, rtol=1e-12)
        assert np.mean(p**k) - 1 <= rho * (1 + 1e-9) + 1e-12
        slope = z**2 / (p + t) ** 2  # of minus the objective
        best = N * solve(slope, rho, k).stats["value"]
        value = np.sum(z**2 / (p + t))
        assert best - slope @ p <= 1e-7 * value


def test_a_good_start_changes_nothing():
    z, other = rows(50, 2, seed=3).T
    first = least_quotients(z, 30.0, 2.0)
    assert first.lam > 0
    again = least_quotients(z, 30.0, 2.0, start=least_quotients(other, 7.0, 2.0))
    assert_allclose(again.p, first.p, atol=1e-8)


def test_balls_with_nothing_to_choose():
    z = rows(6, 1)[:, 0]
    for p in (
        least_quotients(z, 1.0, 0.0).p,
        least_quotients(0 * z, 1.0, 2.0).p,
        least_quotients(z[:1], 1.0, 0.0).p,
    ):
        assert_array_equal(p, 1.0)
    tiny, huge = (least_quotients(s * z, 50.0, 1.0).p for s in (1e-200, 1e200))
    assert_allclose(tiny, huge)


def test_what_is_repaired_is_in_the_ball():
    p = rng().dirichlet(np.full(30, 0.1)) * 30
    p[p < 1e-3] = 0.0
    p /= p.mean()
    for k in ORDERS:
        rho = 0.9 * (np.mean(p**k) - 1)
        fixed = feasible(p, rho, k)
        assert np.mean(fixed**k) - 1 <= rho * (1 + 1e-12)
        assert_array_equal(fixed > 0, p > 0)
        assert_array_equal(feasible(fixed, rho * (1 + 1e-9), k), fixed / fixed.mean())


@pytest.mark.parametrize("k", [1.5, 2.0, 3.0])
def test_a_ball_on_some_columns_is_a_ball(k):
    N, some = 30, np.array([3, 8, 1, 20, 25, 6, 17])
    v = rng().random(N)
    ball = Ball(N, rho_of(0.3, N, k), k)
    inner = ball.among(some)
    q = np.zeros(N)
    q[some] = inner.response(v[some])
    assert divergence(q, k) <= ball.rho * (1 + 1e-9)
    assert inner.largest(v[some]) <= ball.largest(v)
    # with the support of the best response nothing is lost, and nothing outside is better
    support = np.flatnonzero(ball.response(v))
    among = ball.among(support)
    assert_allclose(among.largest(v[support]), ball.largest(v))
    outside = np.setdiff1d(np.arange(N), support)
    assert np.all(v[outside] <= among.threshold(v[support]) + 1e-12)
