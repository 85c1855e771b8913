"""Certificates of the margin game: the corrections, coverage, and what is vacuous."""

import math

import numpy as np
import pytest

from bochner.certificates import (
    margin_game_gap,
    margin_generalisation,
    potential_sample_size,
)
from bochner.learners.margin.games import Hinge
from make import rng, rows


def theory_game(n, C, T, seed=0):
    """The game on a finite set of frequencies with the steps of the theory; its true gap."""
    X, W = rows(n, 1, seed), rng(seed + 1).uniform(-3, 3, (25, 1))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    phi = np.stack([np.cos(X @ W.T), np.sin(X @ W.T)], axis=2)  # n x F x 2
    game, played = Hinge(y, np.ones(n), C), np.zeros(len(W))
    a, D, G = game.start(), C * np.sqrt(n), (1 + C * n) * np.sqrt(n)
    for t in range(1, T + 1):
        S = np.einsum("i,ifk->fk", y * a, phi)
        best = int(np.argmax((S**2).sum(axis=1)))
        played[best] += 1
        f = phi[:, best] @ S[best]
        a = game.project(a + D / (G * np.sqrt(t)) * game.gradient(a, f))
    return game, phi, played / T


def svm_value(game, phi, measure, rounds=3000):
    """max_a F(a, measure), from below, by projected gradient ascent."""
    Q = np.einsum("f,ifk->ifk", np.sqrt(measure), phi).reshape(len(phi), -1)
    a, L = game.start(), np.linalg.norm(Q, 2) ** 2
    for _ in range(rounds):
        a = game.project(a + (1.0 - game.y * (Q @ (Q.T @ (game.y * a)))) / L)
    return a.sum() - 0.5 * np.sum((Q.T @ (game.y * a)) ** 2)


@pytest.mark.parametrize(("n", "C", "T"), [(12, 0.05, 50), (12, 0.5, 400), (30, 0.02, 200)])
def test_the_corrected_gap_covers_the_game(n, C, T):
    game, phi, mean = theory_game(n, C, T)
    value = svm_value(game, phi, mean)
    least = min(svm_value(game, phi, m, 500) for m in np.eye(phi.shape[1])[:25])
    gap = value - min(least, value)
    assert gap <= margin_game_gap(n, T, C).bound


def test_the_printed_gradient_bound_is_too_small():
    n, C = 50, 1.0
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    game = Hinge(y, np.ones(n), C)
    a = np.full(n, C)  # rows where exp(i w.x) is y: the inner product is sum a = C n
    g = game.gradient(a, y * (y @ (y * a)))
    assert game.norm(g) > (1 + 2 * C) * math.sqrt(n)
    assert game.norm(g) <= (1 + C * n) * math.sqrt(n)


def test_gap_figures():
    found = margin_game_gap(100, 10_000, 0.1, error=0.5)
    assert found.bound == pytest.approx(0.25 + 3 * 10 * 11 / (2 * 100))
    assert margin_game_gap(100, 10_000, 0.1, printed=True).bound == pytest.approx(
        3 * (0.1 + 0.02) * 100 / 400
    )
    assert not margin_game_gap(100, 10_000, 0.1, printed=True).holds
    T = found.details["rounds until not vacuous"]
    assert margin_game_gap(100, math.ceil(T) + 1, 0.1).vacuous is False
    assert margin_game_gap(100, math.floor(T) - 1, 0.1).vacuous is True
    assert margin_game_gap(12_000, 5_000, 1.0).vacuous


@pytest.mark.parametrize("uniform", [True, False])
def test_generalisation_covers(uniform):
    """Over draws of the rows: classifiers of norm one from the best of many frequencies."""
    n, omega, failures = 4000, 2.0, 0
    for seed in range(10):
        generator = rng(seed)
        x = generator.uniform(-1, 1, 2 * n)
        y = np.where(generator.random(2 * n) < 0.5 + 0.4 * np.sign(x), 1.0, -1.0)
        best = max(
            generator.uniform(-omega, omega, 50),
            key=lambda w: abs(np.sum(y[:n] * np.exp(1j * w * x[:n]))),
        )
        S = np.sum(y[:n] * np.exp(-1j * best * x[:n]))
        f = (np.exp(1j * best * x) * S / abs(S)).real
        share = float(np.mean(y[:n] * f[:n] <= 0.2))
        certificate = margin_generalisation(
            n, omega, 1.0, 0.2, 0.1, empirical=share, uniform=uniform
        )
        failures += np.mean(y[n:] * f[n:] <= 0) > certificate.bound
    assert failures == 0


def test_generalisation_figures():
    safe, printed = (margin_generalisation(10**6, 0.0, 1.0, 0.5, printed=p) for p in (False, True))
    assert printed.complexity == 0.0
    assert safe.complexity == pytest.approx(4 / 0.5 / 1000)
    assert safe.holds
    assert not printed.holds
    one = margin_generalisation(10**6, 2.0, 3.0, 0.5, 0.05, mass=4.0, uniform=False)
    expected = 2 * 19 * math.sqrt(4e-6) / 0.5 + 3 * math.sqrt(math.log(40) / 1e6)
    assert one.bound == pytest.approx(expected)
    assert one.bound < margin_generalisation(10**6, 2.0, 3.0, 0.5, 0.05, mass=4.0).bound
    assert margin_generalisation(100, 2.0, 3.0, 0.5).vacuous


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
@pytest.mark.parametrize("omega", [0.0, 4.0])
def test_the_sample_size_solves_its_inequality(epsilon, omega):
    found = potential_sample_size(epsilon, 3, omega, 2.0, 0.1)

    def enough(n):
        log_term = 3 * math.log(1 + 16 * 2.0 * omega / epsilon) + math.log(20)
        return n * epsilon > 2 and n >= 32 * (epsilon - 2 / n) ** -2 * log_term

    n = found.details["rows"]
    assert enough(n)
    assert not enough(n - 1)


def test_the_sample_size_covers():
    found = potential_sample_size(0.6, 1, 2.0, 1.0, 0.1)
    n, W = found.details["rows"], np.linspace(-2, 2, 41)
    for seed in range(10):
        x = rng(seed).uniform(-1, 1, n)
        y = np.where(x > 0, 1.0, -1.0)
        v = np.abs(np.exp(1j * np.outer(W, x)) @ y / n) ** 2
        ideal = ((1 - np.cos(W)) / np.where(W == 0, 1, W)) ** 2  # |int_0^1 sin(w x) dx|^2
        assert np.abs(v - ideal).max() <= found.bound


REFUSED = [
    (margin_game_gap, {"n": 1, "T": 5}, "two rows"),
    (margin_game_gap, {"n": 9, "T": 0}, "one round"),
    (margin_game_gap, {"n": 9, "T": 5, "C": 0.0}, "C must be > 0"),
    (margin_generalisation, {"n": 9, "omega": 1.0, "radius": 1.0, "theta": 0.0}, "theta"),
    (
        margin_generalisation,
        {"n": 9, "omega": 1.0, "radius": 1.0, "theta": 0.1, "empirical": 2.0},
        "share of rows",
    ),
    (potential_sample_size, {"epsilon": 0.0, "d": 2, "omega": 1.0, "radius": 1.0}, "epsilon"),
]


@pytest.mark.parametrize(("bound", "arguments", "message"), REFUSED)
def test_refusals(bound, arguments, message):
    with pytest.raises(ValueError, match=message):
        bound(**arguments)
