"""Lemma 1 and Theorem 2 of Shahrampour & Tarokh 2018: against draws, and what they refuse."""

import math

import numpy as np
import pytest

from bochner import LearnedFeatures
from bochner import certificates as c
from bochner.learners import Greedy
from make import rng, rows


@pytest.mark.parametrize("P", [1, 2, 3, 20])
def test_rademacher_covers_the_complexity(P):
    """(C / N) E max_p (sigma' K_p sigma)^(1/2), by Monte Carlo, with sup K_p(x, x) = B^2."""
    n, C, B = 60, 1.7, 0.8
    X = rows(n, 2)
    widths = np.geomspace(0.02, 3.0, P)
    square = ((X[:, None] - X) ** 2).sum(axis=2)
    kernels = [B**2 * np.exp(-square / (2 * s**2)) for s in widths]
    signs = rng(1).choice([-1.0, 1.0], size=(2000, n))
    values = [np.einsum("ti,ij,tj->t", signs, K, signs) for K in kernels]
    measured = C / n * np.sqrt(np.maximum(np.max(values, axis=0), 0.0)).mean()
    found = c.greedy_rademacher(n, P, C, feature_bound=B)
    assert measured <= found.bound
    assert found.bound == pytest.approx(B * C * math.sqrt(3 * max(1, math.ceil(math.log(P))) / n))
    assert found.bound > 0  # as printed it would vanish at P = 1


def test_the_approximation_term_covers_greedy_steps():
    """The gap to the best model on three columns, after every step of a correlated problem."""
    X = rows(200, 12) @ (np.eye(12) + 0.5 * rng(4).standard_normal((12, 12)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, :3] @ np.array([2.0, -1.5, 1.0]) + 0.3 * rng(2).standard_normal(200)
    y -= y.mean()
    model = LearnedFeatures("linear", Greedy(), n_components=12, task="regression").fit(X, y)
    best = float(np.linalg.lstsq(X[:, :3], y, rcond=None)[1][0]) / 200
    mu, gamma = 2.0 * float(np.linalg.eigvalsh(X.T @ X / 200)[0]), 2.0
    for M, risk in enumerate(model.selection_.path.risks, start=1):
        epsilon = math.log(3.0) / math.log(M) + 1e-9 if M > 3 else 0.5  # so that s = 3
        found = c.greedy_excess_risk(
            200,
            1,
            M,
            3.0,
            smoothness=gamma,
            strong_convexity=mu,
            initial_risk=float(y @ y / 200) - best,
            epsilon=epsilon,
        )
        if M > 3:
            assert found.details["s"] == 3
            assert risk - best <= found.details["approximation"]


def test_terms_by_hand():
    found = c.greedy_excess_risk(
        10_000, 3, 100, 2.0, smoothness=0.26, strong_convexity=0.1, tail=0.01, delta=0.1
    )
    radius = 2.0 * math.sqrt(3 * 2 / 10_000)
    chance = 4 * 2.0 * math.sqrt(math.log(20) / 20_000)
    assert found.details["s"] == 10
    assert found.details["estimation"] == pytest.approx(2 * radius + chance)
    assert found.details["approximation"] == pytest.approx(math.log(2) * math.exp(-100 / 30))
    assert found.details["spectral"] == pytest.approx(0.01)
    assert found.bound == pytest.approx(sum(found.details[k] for k in list(found.details)[4:]))
    assert found.holds


def test_without_the_tail_the_bound_is_infinite_and_says_so():
    found = c.greedy_excess_risk(1000, 1, 20, 1.0, smoothness=1.0, strong_convexity=0.5)
    assert math.isinf(found.bound)
    assert found.vacuous
    assert "spectral term is unknown" in str(found)
    assert found.details["estimation"] < math.inf


def test_unbounded_kernels_break_it():
    assert not c.greedy_rademacher(10, 1, 1.0, feature_bound=math.inf).holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"strong_convexity": 0.0}, "add a penalty"),
        ({"smoothness": 0.01}, "smoothness"),
        ({"smoothness": math.inf}, "finite"),
        ({"epsilon": 1.0}, "below 1"),
        ({"epsilon": 0.0}, "between 0 and 1"),
        ({"n_steps": 0}, "one feature at least"),
        ({"n_kernels": 0}, "one kernel at least"),
        ({"tail": -1.0}, "norm of coefficients"),
        ({"delta": 1.0}, "delta"),
        ({"feature_bound": 0.0}, "normalised kernels"),
    ],
)
def test_bad_input(change, said):
    given = {"n": 100, "n_kernels": 2, "n_steps": 5, "norm": 1.0}
    given |= {"smoothness": 1.0, "strong_convexity": 0.1}
    with pytest.raises((ValueError, TypeError), match=said):
        c.greedy_excess_risk(**(given | change))
