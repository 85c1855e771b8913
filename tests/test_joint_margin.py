"""Problem (9): certified gaps against slow truths, laws of rows, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naive_finite_game as simplex
import naive_joint as slow
from bochner import FeatureMap, KernelClassifier, LearnedFeatures
from bochner.families import ArcCosine, Gaussian, Linear
from bochner.learners import Alignment, Chain, JointMargin, as_learner
from bochner.learners.alignment import solve
from bochner.learners.margin import finite
from bochner.learners.margin.balls import Ball
from bochner.learners.margin.games import Hinge
from bochner.learners.margin.ledger import Ledger
from bochner.learners.margin.products import Held, Streamed, centred
from bochner.learners.margin.shared import Shared
from bochner.rows import Hook, MemorySource
from make import rng, rows

EXACT = {"tol": 1e-5, "rounds": 1000, "steps": 200_000}


def divergence(q, k):
    return np.mean((len(q) * q) ** k) - 1


def rho_of(radius, N, k):
    return radius * (N ** (k - 1) - 1)


# --- values ---


def problem(n=16, N=5, K=1, seed=0, weighted=True):
    X = rows(n, 2, seed)
    y = (X[:, 0] * X[:, 1] > 0.2 * X[:, 0]).astype(np.float64)
    if K > 1:
        y = np.floor(3 * (np.argsort(np.argsort(X[:, 0])) / n))
    w = 1.0 + rng(seed).integers(0, 3, n) if weighted else np.ones(n)
    fm = FeatureMap(Gaussian(0.7), Gaussian(0.7).draw(N, 2, rng(seed)), np.ones(N))
    ledger = Ledger.of(MemorySource(X, y, w), 0, Hook())
    Y = np.where(y[:, None] == (np.arange(K) if K > 1 else [1]), 1.0, -1.0)
    return ledger, Y, fm, X


def game_of(Y, w, C):
    return Hinge(Y[:, 0], w, C) if Y.shape[1] == 1 else Shared(Y, w, C)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize(("k", "radius"), [(2.0, 0.05), (2.0, 0.3), (1.5, 0.1), (3.0, 0.02)])
def test_the_value_is_that_of_the_whole_program(K, k, radius):
    ledger, Y, fm, X = problem(K=K)
    rho, C = rho_of(radius, 5, k), 2.0
    truth = slow.joint_value(fm(X), Y, ledger.weight, C, rho, k)
    game = game_of(Y, ledger.weight, C)
    found = finite.equilibrium(ledger, game, fm, gap=1e-6, scans=500, ball=Ball(5, rho, k))
    assert found.status == "certified"
    assert found.values.lower <= truth * (1 + 1e-6)
    assert found.values.upper >= truth * (1 - 1e-6)
    assert found.gap <= 1e-6


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("radius", [0.0, 0.02, 0.2, 1.0])
def test_the_certificate_bounds_what_the_measure_lacks(K, radius):
    """J(q), the SVM's own value at the weights returned, is between the two values."""
    ledger, Y, fm, X = problem(n=40, N=30, K=K)
    w, C, rho = ledger.weight, 1.0, rho_of(radius, 30, 2)
    game = game_of(Y, w, C)
    for gap in (0.3, 0.003):
        found = finite.equilibrium(ledger, game, fm, gap=gap, ball=Ball(30, rho))
        q, (lower, upper) = found.weights, (found.values.lower, found.values.upper)
        assert found.status == "certified"
        assert found.gap <= gap
        assert_allclose(q.sum(), 1.0)
        assert divergence(q, 2) <= rho * (1 + 1e-9) + 1e-12
        J = sum(slow.svm_value(fm(X), y, w, C, q) for y in Y.T)
        assert lower * (1 - 1e-9) <= J <= upper * (1 + 1e-9)
        a = found.a.reshape(len(X), -1)
        again = slow.dual_value(fm(X), Y, w, a, lambda v: solve(v, rho).stats["value"])
        assert again >= lower * (1 - 1e-9)
        assert np.all((a >= 0) & (a <= C))
        assert_allclose((w[:, None] * Y * a).sum(axis=0), 0.0, atol=1e-9)


def test_a_larger_ball_has_a_smaller_value():
    ledger, Y, fm, _ = problem(n=60, N=40)
    game = game_of(Y, ledger.weight, 1.0)
    found = [
        finite.equilibrium(ledger, game, fm, gap=1e-3, ball=Ball(40, rho_of(radius, 40, 2)))
        for radius in (0.0, 0.01, 0.03, 0.1)
    ]
    for smaller, larger in itertools.pairwise(found):
        assert larger.values.upper < smaller.values.lower


def test_radius_one_is_the_game_over_the_simplex():
    ledger, Y, fm, X = problem(n=30, N=20)
    game = game_of(Y, ledger.weight, 1.0)
    truth = simplex.hinge_game(fm(X), Y[:, 0], ledger.weight, 1.0)
    found = finite.equilibrium(ledger, game, fm, gap=1e-4, ball=Ball(20, 19.0))
    same = finite.equilibrium(ledger, game, fm, gap=1e-4)
    for one in (found, same):
        assert one.values.lower <= truth * (1 + 1e-7)
        assert one.values.upper >= truth * (1 - 1e-7)
        assert one.gap <= 1e-4


@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_columns_join_as_they_are_needed(radius):
    ledger, Y, fm, _ = problem(n=60, N=400)
    game = game_of(Y, ledger.weight, 5.0)
    found = finite.equilibrium(ledger, game, fm, gap=0.003, ball=Ball(400, rho_of(radius, 400, 2)))
    assert found.status == "certified"
    columns = [scan.n_columns for scan in found.scans]
    assert 0 == columns[0] < columns[1] < columns[-1] < 400
    assert np.all(np.diff(columns) >= 0)
    for name, sign in (("lower", 1), ("upper", -1)):
        assert np.all(sign * np.diff([getattr(scan, name) for scan in found.scans]) >= 0)


def test_products_less_the_means():
    ledger, _, fm, X = problem(n=30, N=8)
    w = ledger.weight
    held, streamed = Held(centred(fm(X), w)), Streamed.of(ledger, fm)
    for width in ((), (3,)):
        u, r = rng().normal(size=(8, *width)), rng().normal(size=(30, *width))
        assert_allclose(held.scores(u), streamed.scores(u), atol=1e-12)
        assert_allclose(held.sums(r, w), streamed.sums(r, w), atol=1e-12)
    assert_allclose(held.scores(u).T @ w, 0.0, atol=1e-12)


# --- laws ---


def data(n=90, classes=2, seed=0):
    X = rows(n, 3, seed)
    return X, np.floor(classes * np.argsort(np.argsort(X[:, 0] * X[:, 1])) / n).astype(int)


def fitted(X, y, learner=None, N=30, family=None, M=None, **fit):
    learner = JointMargin(1.0, 0.1, use="weight", **EXACT) if learner is None else learner
    features = LearnedFeatures(family or Gaussian(1.0), learner, N, M or N, random_state=0)
    return features.set_params(task="classification").fit(X, y, **fit)


@pytest.mark.parametrize("classes", [2, 3])
def test_order_weights_and_chunks(classes):
    X, y = data(classes=classes)
    w = rng(1).integers(1, 3, len(X)).astype(np.float64)
    mixed = rng(2).permutation(len(X))
    one = fitted(X, y, sample_weight=w).selection_
    assert one.status == "certified"
    twice = np.repeat(np.arange(len(X)), w.astype(int))
    for other in (
        fitted(X[mixed], y[mixed], sample_weight=w[mixed]),
        fitted(X[twice], y[twice]),
    ):
        found = other.selection_
        assert found.stats["lower"] <= one.stats["upper"]
        assert one.stats["lower"] <= found.stats["upper"]
        assert_allclose(found.weights, one.weights, atol=3e-3)


@pytest.mark.parametrize("K", [1, 3])
def test_chunks_are_the_whole(K):
    ledger, Y, fm, X = problem(n=50, N=20, K=K)
    chunked = Ledger.of(MemorySource(X, ledger.y, ledger.weight, block_bytes=200), 0, Hook())
    game, ball = game_of(Y, ledger.weight, 1.0), Ball(20, 2.0)
    a, b = (finite.equilibrium(each, game, fm, gap=0.01, ball=ball) for each in (ledger, chunked))
    assert_allclose(a.weights, b.weights, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_dask_is_memory(classes):
    array = pytest.importorskip("dask.array")
    X, y = data(classes=classes)
    learner = JointMargin(1.0, 0.1, use="weight")
    whole = fitted(X, y, learner).selection_
    parts = fitted(array.from_array(X, (20, 3)), array.from_array(y, 20), learner).selection_
    assert_allclose(parts.weights, whole.weights, atol=1e-8)
    assert_allclose(parts.stats["upper"], whole.stats["upper"], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_columns_that_do_not_fit_are_streamed(classes, monkeypatch):
    X, y = data(classes=classes)
    learner = JointMargin(1.0, 0.1, use="weight")
    held = fitted(X, y, learner).selection_
    monkeypatch.setattr(finite, "FEATURE_BYTES", 0)
    streamed = fitted(X, y, learner).selection_
    assert_allclose(streamed.weights, held.weights, atol=1e-6)
    assert streamed.status == "certified"


# --- the learner ---


def test_radius_zero_is_the_svm_of_the_base_kernel():
    X, y = data()
    found = fitted(X, y, JointMargin(2.0, 0.0, tol=1e-6, use="weight"))
    chosen = found.selection_
    assert_allclose(chosen.weights, 1 / 30, rtol=1e-12)
    phi = found.feature_map_(X) * np.sqrt(30)  # its weights are sqrt(q)
    truth = slow.svm_value(phi, 2.0 * y - 1, np.ones(len(X)), 2.0, np.full(30, 1 / 30))
    assert chosen.stats["lower"] <= truth * (1 + 1e-8)
    assert chosen.stats["upper"] >= truth * (1 - 1e-8)


def test_what_is_told_of_a_fit():
    X, y = data(200)
    found = fitted(X, y, JointMargin(1.0, 0.05, use="weight"), N=100)
    chosen, stats = found.selection_, found.selection_.stats
    assert chosen.status == "certified"
    assert stats["gap"] <= 0.01
    assert_allclose(stats["gap"], 1 - stats["lower"] / stats["upper"])
    assert len(chosen.scores) == len(chosen.weights) == 100
    assert_array_equal(chosen.support, np.flatnonzero(chosen.weights))
    assert stats["nnz"] == len(chosen.support)
    assert_allclose(stats["rho"], 0.05 * 99)
    assert_allclose(stats["divergence"], divergence(chosen.weights, 2))
    assert_allclose(stats["effective"], 1 / np.sum(chosen.weights**2))
    assert len(chosen.path) == stats["rounds"]
    assert chosen.path[-1].steps == stats["steps"]
    kept = chosen.weights[stats["columns"]]
    assert np.all(np.diff(kept) <= 0)
    assert_allclose(found.feature_map_.weights**2, kept / kept.sum())
    settings = JointMargin(1.0, 0.05, use="weight").get_params()
    assert found.learner.get_params() == settings


@pytest.mark.parametrize("use", ["auto", "sample", "weight", "support", "top"])
def test_fewer_columns_than_the_support(use):
    X, y = data(200)
    learner = JointMargin(1.0, 0.05, use=use)
    found = fitted(X, y, learner, N=100, M=7)
    chosen = found.selection_
    assert chosen.stats["nnz"] > 7
    assert 1 <= found.feature_map_.n_features <= 7
    assert chosen.stats["use"] == ("sample" if use == "auto" else use)
    again = fitted(X, y, learner, N=100, M=7)
    assert_array_equal(found.feature_map_(X), again.feature_map_(X))


def test_class_weights_are_factors_on_C():
    X, y = data()
    even, uneven, whole = (
        fitted(X, y, JointMargin(C, 0.1, tol=1e-3, class_weight=factors)).selection_.stats
        for C, factors in ((1.0, None), (1.0, {1: 3.0}), (3.0, None))
    )
    assert even["upper"] < uneven["lower"]
    assert uneven["upper"] < whole["lower"]
    y[:30] = 0
    total = np.bincount(y)
    factors = dict(enumerate(len(y) / 2 / total))
    balanced, told = (
        fitted(X, y, JointMargin(1.0, 0.1, class_weight=weight)).selection_
        for weight in ("balanced", factors)
    )
    assert_array_equal(balanced.weights, told.weights)


def test_any_candidates():
    X, y = data(120)
    for family, N in ((Linear(), 3), (ArcCosine(1), 40)):
        found = fitted(X, y, JointMargin(1.0, 0.3), N=N, family=family)
        assert found.selection_.status == "certified"
    sparse = pytest.importorskip("scipy.sparse")
    dense = fitted(X, y, JointMargin(1.0, 0.3), N=3, family=Linear()).selection_
    thin = fitted(sparse.csr_array(X), y, JointMargin(1.0, 0.3), N=3, family=Linear()).selection_
    assert_allclose(thin.weights, dense.weights, atol=1e-8)


def test_in_a_chain_and_in_a_classifier():
    X, y = data(300)
    assert isinstance(as_learner("joint_margin"), JointMargin)
    chain = Chain([Alignment(0.05), JointMargin(1.0, 0.2)])
    found = fitted(X, y, chain, N=200, M=20)
    assert found.feature_map_.n_features <= 20
    model = KernelClassifier(learner="joint_margin", n_candidates=200, n_components=40)
    model = model.set_params(random_state=0).fit(X[:200], y[:200])
    plain = KernelClassifier(learner="uniform", n_components=40, random_state=0)
    plain = plain.fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) >= plain.score(X[200:], y[200:]) - 0.05


def test_rounds_and_steps_end_a_fit_and_say_so():
    X, y = data()
    short = fitted(X, y, JointMargin(5.0, 0.1, tol=1e-9, steps=7)).selection_
    assert short.status == "steps used up"
    assert short.stats["steps"] == 7
    few = fitted(X, y, JointMargin(5.0, 0.1, tol=1e-9, rounds=2)).selection_
    assert few.status == "scans used up"
    assert few.stats["rounds"] == 2
    for found in (short, few):
        assert 0 < found.stats["lower"] < found.stats["upper"]
        assert found.stats["gap"] > 1e-9
        assert_allclose(found.weights.sum(), 1.0)


# --- bad input ---


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"C": 0.0}, r"C=0.0.*above zero"),
        ({"C": -1}, r"C=-1.*above zero"),
        ({"C": np.inf}, r"C=inf.*above zero"),
        ({"C": "big"}, r"C='big'.*above zero"),
        ({"radius": -0.1}, r"radius=-0.1.*in \[0, 1\]"),
        ({"radius": 1.5}, r"radius=1.5.*in \[0, 1\]"),
        ({"radius": "auto"}, r"radius='auto'.*in \[0, 1\]"),
        ({"order": 1.0}, r"order=1.0.*above 1"),
        ({"order": 0.5}, r"order=0.5.*above 1"),
        ({"order": 400}, r"order=400.*overflows for 30 candidates"),
        ({"tol": -0.1}, r"tol=-0.1"),
        ({"tol": 1}, r"tol=1.*in \[0, 1\)"),
        ({"rounds": 0}, r"rounds=0.*whole number"),
        ({"steps": 2.5}, r"steps=2.5.*whole number"),
        ({"use": "all"}, r"use='all'"),
        ({"class_weight": "even"}, r"JointMargin.*class_weight='even'"),
        ({"class_weight": {0: -1.0}}, "numbers above zero"),
    ],
)
def test_settings_that_are_refused(settings, match):
    X, y = data(30)
    with pytest.raises(ValueError, match=match):
        fitted(X, y, JointMargin(**settings))


def test_targets_that_are_refused():
    X, y = data(30)
    features = LearnedFeatures(Gaussian(1.0), JointMargin(), 30, 10, random_state=0)
    with pytest.raises(ValueError, match="JointMargin needs rows of at least two classes"):
        features.set_params(task="classification").fit(X, np.zeros(30, int))
    with pytest.raises(ValueError, match="JointMargin learns from classes.*Alignment"):
        features.set_params(task="regression").fit(X, X[:, 0])
    weight = (y == 0).astype(np.float64)
    with pytest.raises(ValueError, match="needs rows of at least two classes"):
        features.set_params(task="classification").fit(X, y, sample_weight=weight)
