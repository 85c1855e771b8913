"""The game over finitely many columns: values, certified gaps, repeats, chains over indices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naive_finite_game as slow
from bochner import FeatureMap, LearnedFeatures
from bochner.families import Gaussian, Harmonics, Linear, Taylor
from bochner.learners import MarginSearch
from bochner.learners.margin.dynamics import Point, largest_singular_value, solve, values
from bochner.learners.margin.finite import equilibrium
from bochner.learners.margin.games import Hinge, Squared, SquaredHinge
from bochner.learners.margin.index_chains import IndexChains
from bochner.learners.margin.ledger import Ledger
from bochner.learners.margin.mixtures import Mixtures
from bochner.learners.margin.repeats import no_regret
from bochner.rows import Hook, MemorySource
from make import rng, rows

GAMES = (Hinge, SquaredHinge, Squared)


def sphere(n, d, seed=0):
    X = rows(n, d, seed)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def all_columns(family, d):
    n = family.n_available(d)
    return FeatureMap(family, family.draw(n, d, rng()), np.ones(n))


def problem(n=60, d=3, degree=3, kind=Hinge, C=1.0, seed=0, weight=None):
    """Labels that one product of coordinates decides, and all harmonics as candidates."""
    X = sphere(n, d, seed)
    y = (X[:, 0] * X[:, 1] > 0.1 * X[:, 2]).astype(np.float64)
    source = MemorySource(X, y, weight)
    ledger = Ledger.of(source, 0, Hook())
    targets = np.where(ledger.y == 1, 1.0, -1.0)
    game = kind(targets, ledger.weight, C)
    return ledger, game, all_columns(Harmonics(degree), d), X


def degrees(fm):
    return fm.projection.indices.degree


def bracket(game, phi, mixtures, found):
    """Both values recomputed from the definition in `mixtures`."""
    S = phi.T @ (game.weight * game.coefficients(found.a))
    lower = game.lower(found.a, float(mixtures.potential(S).max()))
    f, norm = phi @ found.u, mixtures.norm(found.u)
    grid = np.linspace(-3, 3, 2001)
    upper = min(0.5 * norm**2 + game.loss(f + b) for b in grid)
    return lower, upper


# --- mixtures ---


@pytest.mark.parametrize("labels", [np.arange(7), np.array([0, 1, 1, 2, 2, 2, 0]), np.zeros(7)])
def test_prox_is_the_slow_one_and_optimal(labels):
    mixtures = Mixtures.of_labels(labels)
    for tau in (1e-3, 0.3, 20.0):
        z = rows(7, 1, seed=4)[:, 0]
        u = mixtures.prox(z, tau)
        assert_allclose(u, slow.prox(z, mixtures.group, mixtures.size, tau), atol=1e-10)
        assert np.all(mixtures.prox(0 * z, tau) == 0)

        def value(u, tau=tau, z=z):
            return tau * mixtures.norm(u) ** 2 / 2 + np.sum((u - z) ** 2) / 2

        steps = 1e-4 * rows(200, 7, seed=5)
        assert min(value(u + step) for step in steps) >= value(u)


def test_the_norm_is_the_least_over_mixtures():
    labels = np.array([0, 1, 1, 2, 2, 2, 0])
    mixtures, u = Mixtures.of_labels(labels), rows(7, 1)[:, 0]
    weights = mixtures.weights(u)
    assert_allclose(weights.sum(), 1.0)
    assert_allclose(np.sum(u**2 / weights), mixtures.norm(u) ** 2)
    for q in rng().dirichlet(np.ones(3), 200):
        spread = (q / mixtures.size)[mixtures.group]
        assert np.sum(u**2 / spread) >= mixtures.norm(u) ** 2 - 1e-12
    columns, part = mixtures.take(np.array([2, 0]))
    assert_array_equal(columns, [0, 3, 4, 5, 6])
    assert_array_equal(part.group, [1, 0, 0, 0, 1])
    assert_array_equal(part.size, [3, 2])


# --- the dynamics ---


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_value_is_that_of_a_linear_program(C):
    ledger, game, fm, X = problem(n=40, degree=2, C=C)
    truth = slow.hinge_game(fm(X), game.y, game.weight, C)
    found = equilibrium(ledger, game, fm, gap=1e-4)
    assert found.status == "certified"
    assert found.values.lower <= truth * (1 + 1e-7)
    assert found.values.upper >= truth * (1 - 1e-7)
    assert found.gap <= 1e-4


@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_certified_gap_is_what_the_two_players_have(kind, grouped):
    ledger, game, fm, X = problem(kind=kind, degree=4)
    found = equilibrium(ledger, game, fm, degrees if grouped else None, gap=0.003)
    mixtures = Mixtures.of_labels(degrees(fm)) if grouped else Mixtures.of_columns(fm.n_features)
    assert found.status == "certified"
    lower, upper = bracket(game, fm(X), mixtures, found)
    assert lower >= found.values.lower * (1 - 1e-9)
    assert upper <= found.values.upper * (1 + 1e-3)  # its b is on a grid
    assert found.gap <= 0.003
    assert_allclose(found.weights.sum(), 1.0)
    lowers, uppers = ([getattr(scan, name) for scan in found.scans] for name in ("lower", "upper"))
    assert np.all(np.diff(lowers) >= 0)
    assert np.all(np.diff(uppers) <= 0)
    if grouped:  # a rotation-invariant kernel: one weight for all harmonics of a degree
        for degree in range(5):
            assert np.ptp(found.weights[degrees(fm) == degree]) < 1e-12


@pytest.mark.parametrize("kind", GAMES)
def test_a_row_of_weight_two_is_the_row_twice(kind):
    X = sphere(30, 3)
    y = (X[:, 0] > 0).astype(np.float64)
    w = rng(1).integers(0, 3, 30).astype(np.float64)
    fm = all_columns(Harmonics(3), 3)
    found = []
    for source in (
        MemorySource(X, y, w),
        MemorySource(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))),
    ):
        ledger = Ledger.of(source, 0, Hook())
        game = kind(np.where(ledger.y == 1, 1.0, -1.0), ledger.weight, 1.0)
        found.append(equilibrium(ledger, game, fm, gap=1e-3).values)
    a, b = found
    assert a.lower <= b.upper * (1 + 1e-9)
    assert b.lower <= a.upper * (1 + 1e-9)
    assert_allclose(a.upper, b.upper, rtol=2e-3)


def test_every_step_bound_holds():
    phi, w = rows(50, 8), rng().random(50)
    truth = np.linalg.norm(np.sqrt(w)[:, None] * phi, 2)
    assert truth <= largest_singular_value(phi, w) <= 1.2 * truth
    _, game, fm, X = problem(kind=Hinge)
    phi = fm(X)
    start = game.start()
    mixtures = Mixtures.of_columns(phi.shape[1])
    zero = np.zeros(phi.shape[1])
    point = Point(zero, np.zeros(len(X)), start, phi.T @ (game.y * start))
    before = values(game, mixtures, point)
    few, more = (
        solve(game, phi, mixtures, zero, start, 0.0, steps=steps).values for steps in (100, 1000)
    )
    assert before.gap > few.gap > more.gap >= 0
    assert more.gap < 1e-3 * more.upper


def test_candidates_of_any_family():
    X = rows(80, 3)
    y = (np.cos(2.0 * X[:, 0]) > 0.2).astype(np.float64)
    ledger = Ledger.of(MemorySource(X, y), 0, Hook())
    game = Hinge(np.where(y == 1, 1.0, -1.0), ledger.weight, 1.0)
    for family, n in ((Gaussian(1.0), 100), (Linear(), 3)):
        fm = FeatureMap(family, family.draw(n, 3, rng()), np.ones(n))
        assert equilibrium(ledger, game, fm, gap=0.01).status == "certified"


def test_streams_and_arrays_agree():
    ledger, game, fm, X = problem(n=50)
    y = ledger.y
    chunked = Ledger.of(MemorySource(X, y, block_bytes=200), 0, Hook())
    a, b = (equilibrium(each, game, fm, gap=0.01) for each in (ledger, chunked))
    assert_allclose(a.u, b.u, atol=1e-9)


# --- Algorithm 2, and chains ---


@pytest.mark.parametrize("kind", GAMES)
def test_repeats_become_heavier(kind):
    ledger, game, fm, _ = problem(kind=kind, degree=4)
    found = no_regret(ledger, game, fm, rounds=40, gap=0.0)
    counts = found.weights * 40
    assert_allclose(counts, np.round(counts), atol=1e-9)
    assert np.count_nonzero(counts) < 40
    assert counts.max() > 1
    truth = equilibrium(ledger, game, fm, gap=1e-3).values
    assert found.values.lower <= truth.upper
    assert found.values.upper >= truth.lower
    few = no_regret(ledger, game, fm, rounds=40, gap=0.0, most=3)
    assert np.count_nonzero(few.weights) <= 3
    assert few.status == "columns used up"
    invariant = no_regret(ledger, game, fm, degrees, rounds=20, gap=0.0)
    for degree in range(5):
        assert np.ptp(invariant.weights[degrees(fm) == degree]) < 1e-12


def test_chains_find_the_planted_harmonic():
    d, family = 6, Harmonics(5)
    X = sphere(400, d)
    planted = family.draw(family.n_available(d), d, rng()).take(np.array([300]))
    y = (FeatureMap(family, planted, np.ones(1))(X)[:, 0] > 0).astype(np.float64)
    ledger = Ledger.of(MemorySource(X, y), 0, Hook())
    game = Hinge(np.where(y == 1, 1.0, -1.0), ledger.weight, 1.0)
    start = FeatureMap(family, family.draw(16, d, rng(2)), np.ones(16))
    explore = IndexChains(ledger, family, 5, rng(3), chains=24, steps=60)
    r = game.coefficients(game.start())
    found = start
    for _ in range(6):
        found = explore(found, r)
    names = found.names
    assert len(set(names)) == len(names)
    assert planted.names()[0] in names
    again = IndexChains(ledger, family, 5, rng(3), chains=24, steps=60)(start, r)
    assert (
        again.names == IndexChains(ledger, family, 5, rng(3), chains=24, steps=60)(start, r).names
    )


def test_chains_visit_in_proportion_to_exp_beta_v():
    d, family = 3, Harmonics(2)
    X = sphere(60, d)
    ledger = Ledger.of(MemorySource(X, X[:, 0]), 0, Hook())
    chains = IndexChains(ledger, family, 2, rng(5), chains=400, steps=60)
    r = rows(60, 1, seed=6)[:, 0]
    every = all_columns(family, d).projection
    v = chains.potential(every, r)
    now = every.take(np.zeros(400, dtype=np.intp))
    value, unit = np.full(400, v[0]), float(v.mean())
    for _ in range(chains.steps):
        now, value = chains.walk(now, value, unit, r)[:2]
    names = list(every.names())
    share = np.bincount([names.index(name) for name in now.names()], minlength=len(v)) / 400
    truth = np.exp(v / unit)
    truth /= truth.sum()
    assert np.all(np.abs(share - truth) <= 5 * np.sqrt(truth * (1 - truth) / 400) + 0.01)


# --- the learner ---


def learned(X, y, learner, family, M="auto", **settings):
    return LearnedFeatures(family, learner, n_components=M, random_state=0, **settings).fit(X, y)


def test_marginsearch_scans_what_is_finite():
    _, _, fm, X = problem(n=200, degree=6)
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    found = learned(X, y, MarginSearch(gap=0.02), Harmonics(6), 5)
    chosen = found.selection_
    assert chosen.status == "certified"
    assert chosen.stats["gap"][0] <= 0.02
    assert found.feature_map_.n_features == 5
    assert found.feature_map_.names[0] == "Y[2;-2]"  # x_1 x_2
    assert len(chosen.scores) == len(chosen.weights) == fm.n_features
    assert_array_equal(chosen.support, np.flatnonzero(chosen.weights))
    assert_allclose(chosen.weights.sum(), 1.0)
    kept = chosen.weights[chosen.stats["columns"]]
    assert np.all(np.diff(kept) <= 0)
    assert_allclose(found.feature_map_.weights**2, kept / kept.sum())
    again = learned(X, y, MarginSearch(gap=0.02), Harmonics(6), 5)
    assert_array_equal(again.feature_map_.weights, found.feature_map_.weights)
    everything = learned(X, y, MarginSearch(gap=0.02), Harmonics(6))
    assert everything.feature_map_.n_features == np.count_nonzero(chosen.weights)


@pytest.mark.parametrize("dynamics", ["optimistic", "no_regret"])
@pytest.mark.parametrize("family", [Linear(), Gaussian(1.0), Taylor(2)], ids=repr)
def test_marginsearch_scans_any_candidates(dynamics, family):
    X = rows(120, 3)
    y = X[:, 0] + X[:, 1] > 0
    learner = MarginSearch(search="scan", dynamics=dynamics, rounds=30, per_round=1)
    found = learned(X, y, learner, family, 3)
    assert 1 <= found.feature_map_.n_features <= 3
    assert found.selection_.stats["lower"] <= found.selection_.stats["upper"]
    assert np.all(np.isfinite(found.transform(X)))


def test_more_classes_share_their_columns():
    X = sphere(300, 3)
    y = np.argmax(np.abs(X), axis=1)
    found = learned(X, y, MarginSearch(gap=0.05), Harmonics(4), 8).selection_
    assert len(found.stats["gap"]) == 3
    assert max(found.stats["gap"]) <= 0.05
    assert_allclose(found.weights.sum(), 1.0)
    amounts = learned(X, X[:, 0] * X[:, 1], MarginSearch(gap=0.05), Harmonics(4), 8)
    assert amounts.feature_map_.names[0] == "Y[2;-2]"


def test_invariant_weights_make_a_kernel_of_the_angle():
    X = sphere(200, 3)
    y = X[:, 2] > 0.3
    found = learned(X, y, MarginSearch(invariant=True), Harmonics(5), 16).feature_map_
    degree = degrees(found)
    assert found.n_features == sum(2 * d + 1 for d in set(degree.tolist()))
    Q = np.linalg.qr(rows(3, 3, seed=9))[0]  # a rotation, or a reflection
    assert_allclose(found.kernel(X @ Q), found.kernel(X), atol=1e-10)
    with pytest.raises(ValueError, match="whole degrees.*raise n_components=1"):
        learned(X, (X[:, 0] > 0), MarginSearch(invariant=True), Harmonics(5), 1)


def test_chains_where_there_are_too_many_to_scan():
    X = sphere(200, 30)
    y = X[:, 0] * X[:, 1] > 0
    learner = MarginSearch(rounds=3, chains=16, steps=10)
    found = learned(X, y, learner, Harmonics(4), 10)
    assert found.feature_map_.family.n_available(30) > 20_000
    assert found.selection_.weights is None
    assert found.selection_.status == "scans used up"
    assert 1 <= found.feature_map_.n_features <= 10
    assert len(set(found.feature_map_.names)) == found.feature_map_.n_features


def test_settings_of_a_scan_that_are_refused():
    X = sphere(20, 3)
    y = X[:, 0] > 0
    for learner, family, match in (
        (MarginSearch(invariant=True), Linear(), "Linear has none"),
        (MarginSearch(early_stop=True), Harmonics(2), "early_stop=...* is for a search of peaks"),
        (MarginSearch(start=1), Harmonics(2), "start=...* is for a search of peaks"),
        (MarginSearch(dynamics="fast"), Harmonics(2), "dynamics='fast'.*use one of"),
        (MarginSearch(search="all"), Harmonics(2), "search='all'.*use one of"),
        (MarginSearch(search="peaks"), Harmonics(2), "search='scan'"),
        (MarginSearch(gap=-1.0), Harmonics(2), "gap=-1.0.*number >= 0"),
        (MarginSearch(rounds=0), Harmonics(2), "rounds=0.*whole number"),
        (MarginSearch(), Harmonics(-1), "whole number, 0 or more"),
    ):
        with pytest.raises(ValueError, match=match):
            learned(X, y, learner, family)
    with pytest.raises(ValueError, match=r"length 2, expected 1.*normalise=True"):
        learned(2 * X, y, MarginSearch(), Harmonics(3))
    with pytest.raises(ValueError, match="at least two classes"):
        learned(X, np.zeros(20), MarginSearch(), Harmonics(3), task="classification")
