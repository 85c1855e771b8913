"""Logistic and squared hinge: optimality, the certificate, hard data, stopping and starting."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model, svm

import naive_linear as naive
from bochner import FeatureMap
from bochner.families import Gaussian
from bochner.linear import (
    LinearModel,
    Logistic,
    SquaredHinge,
    classifiers,
    descent,
    factor,
    probabilities,
)
from bochner.linear.design import Design
from bochner.linear.losses import BinaryLogistic, Multinomial, SquaredHingeLoss
from bochner.linear.risk import Problem
from bochner.rows import Checkpoint, Hook, MemorySource
from make import rng, rows

LOSSES = {Logistic: naive.logistic_loss, SquaredHinge: naive.hinge_loss}
OURS = {Logistic: (BinaryLogistic, Multinomial), SquaredHinge: (SquaredHingeLoss,) * 2}


def problem(n=300, d=5, K=2, seed=0):
    X = rows(n, d, seed)
    scores = 2 * X @ rows(d, K, seed + 1) + rng(seed + 2).gumbel(size=(n, K))
    return X, scores.argmax(axis=1), rng(seed + 3).uniform(0.2, 3.0, n)


def fit(head, X, y, w=None, fm=None, **more):
    return head.fit(MemorySource(X, y, w), fm, **more)


def value(head, X, y, w, coef, intercept):
    return naive.risk(LOSSES[type(head)], X, y, w, head.alpha, coef, intercept)


def heads(alpha):
    return [
        Logistic(alpha, solver="newton"),
        Logistic(alpha, solver="lbfgs"),
        SquaredHinge(alpha),
    ]


@pytest.fixture
def by_sample(monkeypatch):
    """Solve even small problems by the route of large ones, from a small sample."""
    monkeypatch.setattr(classifiers, "NEWTON_WORK", 0.0)
    monkeypatch.setattr(classifiers, "COUPLED_WORK", 0.0)
    monkeypatch.setattr(classifiers, "_sample_size", lambda n, D: 8 * D)


# The risk is what it says it is.


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("head", [Logistic, SquaredHinge])
def test_value_gradient_and_hessian_at_any_point(head, K):
    X, y, w = problem(n=40, d=3, K=K)
    loss = OURS[head][K > 2](*(() if head is Logistic and K == 2 else (max(K, 2) - (K == 2),)))
    source = MemorySource(X, y, w)
    task = Problem(source, Design.of(source, None), loss, 0.7)
    T = rows(*task.shape, seed=5)
    risk = task.evaluate(T)
    truth = (LOSSES[head], X, y, w, 0.7)
    assert_allclose(risk.value, naive.risk(*truth, T[:, :-1], T[:, -1]), rtol=1e-13)
    assert_allclose(risk.gradient, naive.slopes(*truth, T[:, :-1], T[:, -1]), atol=1e-5)
    h = 1e-6
    for c in range(len(T)):
        blocks = task.hessian(T, [(c, k) for k in range(len(T))] if loss.coupled else [(c, c)])
        for j in range(T.shape[1]):
            up, down = T.copy(), T.copy()
            up[c, j] += h
            down[c, j] -= h
            slope = (task.evaluate(up).gradient - task.evaluate(down).gradient) / (2 * h)
            found = blocks[:, j, :]
            assert_allclose(found, slope if loss.coupled else slope[[c]], atol=1e-4)


# The optimum.


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_gradient_vanishes_and_nothing_is_better(alpha, K):
    X, y, w = problem(K=K)
    for head in heads(alpha):
        model = fit(head, X, y, w)
        assert model.status == "optimal"
        objective = value(head, X, y, w, model.coef, model.intercept)
        assert_allclose(model.stats["objective"], objective, rtol=1e-12)
        slopes = naive.slopes(LOSSES[type(head)], X, y, w, alpha, model.coef, model.intercept)
        assert np.abs(slopes).max() < 2e-5 * w.sum() / 100
        start = np.column_stack([model.coef, model.intercept])
        best = naive.best_risk(LOSSES[type(head)], X, y, w, alpha, start)
        assert objective - best <= 1e-10 * objective
        assert objective - best <= model.gap + 1e-12 * objective


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_scikit_learn(K, fit_intercept):
    X, y, w = problem(K=K)
    model = fit(Logistic(0.5, fit_intercept=fit_intercept, tol=1e-14), X, y, w)
    other = linear_model.LogisticRegression(
        C=2.0, tol=1e-12, max_iter=10_000, fit_intercept=fit_intercept
    ).fit(X, y, w)
    assert_allclose(model.coef, other.coef_, atol=1e-5)
    assert_allclose(probabilities(model.decision(None, X)), other.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_squared_hinge_agrees_with_a_linear_svm(K):
    X, y, w = problem(K=K)
    model = fit(SquaredHinge(0.5, fit_intercept=False), X, y, w)
    other = svm.LinearSVC(C=2.0, tol=1e-10, max_iter=100_000, fit_intercept=False).fit(X, y, w)
    assert_allclose(model.coef, other.coef_, atol=1e-5)


@pytest.mark.parametrize("K", [2, 3])
def test_route_by_sample_reaches_the_newton_optimum(by_sample, K):
    X, y, w = problem(n=3000, d=20, K=K)
    for make in (Logistic, SquaredHinge):
        quick = fit(make(0.1), X, y, w)
        assert (quick.status, quick.stats["solver"]) == ("optimal", "lbfgs")
        assert quick.n_iter <= 40
        slow = fit(make(0.1), X, y, w, start=quick)
        assert quick.stats["objective"] <= slow.stats["objective"] * (1 + 1e-11)
        if make is Logistic:
            exact = fit(Logistic(0.1, solver="newton"), X, y, w)
            assert_allclose(quick.coef, exact.coef, atol=1e-5)


# The certificate.


@pytest.mark.parametrize("K", [2, 3])
def test_gap_bounds_the_distance_of_unfinished_fits(by_sample, K):
    X, y, w = problem(n=600, d=8, K=K)
    for make in (Logistic, SquaredHinge):
        best = fit(make(1.0, tol=1e-15), X, y, w).stats["objective"]
        for steps in (0, 1, 2, 4):
            model = fit(make(1.0, tol=1e-15, max_iter=steps), X, y, w)
            excess = model.stats["objective"] - best
            assert model.status == "max_iter"
            assert excess >= -1e-11 * best
            assert excess <= model.gap * (1 + 1e-6) + 1e-11 * best


def test_gap_is_the_difference_to_the_fenchel_dual():
    X, y, w = problem()
    source = MemorySource(X, y, w)
    task = Problem(source, Design.of(source, None), BinaryLogistic(), 0.7)
    at = descent.Iterate(T := rows(1, 6, seed=5), task.evaluate(T))
    at = descent.polished(task, at)
    s = naive.signs(y, 1)[:, 0]
    z = X @ at.point[0, :-1] + at.point[0, -1]
    p = 1 / (1 + np.exp(s * z))  # r = -s p, and l*(r) = p log p + (1 - p) log(1 - p)
    assert abs(w @ (s * p)) < 1e-8
    v = X.T @ (w * s * p)
    dual = -w @ (p * np.log(p) + (1 - p) * np.log1p(-p)) - v @ v / (2 * 0.7)
    assert_allclose(task.gap(at.risk), at.risk.value - dual, rtol=1e-9)


def test_polishing_matters_where_features_have_means():
    X, y, w = problem(n=600, d=8)
    X = X + 50.0
    best = fit(Logistic(1.0), X, y, w).stats["objective"]
    source = MemorySource(X, y, w)
    task = Problem(source, Design.of(source, None), BinaryLogistic(), 1.0)
    at = descent.Iterate(T := np.zeros((1, 9)), task.evaluate(T))
    assert np.abs(descent.polished(task, at).risk.gradient[:, -1]).max() < 1e-6
    assert at.risk.value - best <= task.gap(descent.polished(task, at).risk)


def test_gap_counts_an_intercept_that_is_off():
    X, y, w = problem()
    model = fit(Logistic(1.0), X, y, w)
    task = Problem(source := MemorySource(X, y, w), Design.of(source, None), BinaryLogistic(), 1.0)
    T = np.column_stack([model.coef, model.intercept + 0.01])
    centred = X - w @ X / w.sum()  # so that g_theta hardly notices
    task.source = MemorySource(centred, y, w)
    T[:, -1] += model.coef @ (w @ X / w.sum())
    risk = task.evaluate(T)
    assert risk.value - model.stats["objective"] <= 1.01 * task.gap(risk)
    risk.gradient[:, :-1] = 0.0
    assert task.gap(risk) > 0.9 * (risk.value - model.stats["objective"])


# Hard data.


@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-7])
def test_classes_that_a_hyperplane_separates(alpha):
    X = rows(200, 4)
    y = (X[:, 0] > 0).astype(int)
    for head in (Logistic(alpha), SquaredHinge(alpha)):
        model = fit(head, X, y)
        assert model.status == "optimal"
        assert np.isfinite(model.coef).all()
        assert np.mean((model.decision(None, X)[:, 0] > 0) == y) > (
            0.98 if alpha == 1e-2 else 0.999
        )


def test_slow_going_renews_the_coordinates(by_sample):
    X = rows(4000, 10)
    y = (X[:, 0] > 2.8).astype(int)
    model = fit(Logistic(1e-3), X, y)
    assert model.status == "optimal"
    assert descent.PATIENCE < model.n_iter < 3 * descent.PATIENCE


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_repeated_and_unlike_columns(dtype):
    X, y, w = problem(n=400)
    X = np.column_stack(
        [X, X[:, 0], np.zeros(400), np.full(400, 7.0), 1e6 * X[:, 1], 1e-6 * X[:, 2]]
    )
    for head in heads(0.1):
        model = fit(head, X.astype(dtype), y, w)
        assert model.status in ("optimal", "precision")
        assert_allclose(model.coef[:, 0], model.coef[:, 5], rtol=1e-2, atol=1e-3)
        assert_allclose(model.coef[:, 6], 0.0, atol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
def test_many_columns_fall_back_on_the_diagonal(by_sample, monkeypatch, K):
    X, y, w = problem(n=400, d=12, K=K)
    full = fit(Logistic(1.0), X, y, w)
    for budget, kind in ((2000, factor.Blocks), (100, factor.Diagonal)):
        monkeypatch.setattr(factor, "FACTOR_BYTES", budget)
        source = MemorySource(X, y, w)
        loss = BinaryLogistic() if K == 2 else Multinomial(K)
        task = Problem(source, Design.of(source, None), loss, 1.0)
        made = factor.sample_factor(task, np.zeros(task.shape))
        assert isinstance(made.inner if isinstance(made, factor.Centred) else made, kind)
        model = fit(Logistic(1.0), X, y, w)
        assert model.status == "optimal"
        assert_allclose(model.coef, full.coef, atol=1e-5)


def test_float32_rows_reach_the_float64_optimum():
    X, y, w = problem(n=2000, d=10)
    X = X.astype(np.float32)
    for head in heads(1.0):
        single, double = fit(head, X, y, w), fit(head, X.astype(np.float64), y, w)
        assert_allclose(single.coef, double.coef, atol=1e-5)
        objective = value(head, X, y, w, single.coef, single.intercept)
        assert objective <= double.stats["objective"] * (1 + 1e-10)


def test_of_a_feature_map_kept_or_made_anew(monkeypatch):
    X, y, w = problem()
    fm = FeatureMap.uniform(Gaussian(2.0), 16, X.shape[1], rng(5))
    for head in heads(0.1):
        kept = fit(head, X, y, w, fm)
        with monkeypatch.context() as patch:
            patch.setattr("bochner.linear.design.FEATURE_BYTES", 0)
            anew = fit(head, X, y, w, fm)
        assert_allclose(kept.coef, anew.coef, atol=1e-5)
        objective = value(head, fm(X), y, w, kept.coef, kept.intercept)
        assert_allclose(kept.stats["objective"], objective, rtol=1e-10)


# Stopping, checkpoints, starting.


def test_a_callback_stops_and_a_start_goes_on(by_sample, tmp_path):
    X, y, w = problem(n=3000, d=20)
    saved = Checkpoint(tmp_path / "fit.npz")
    seen = []

    def after_three(event):
        if event.unit == "steps":
            seen.append(event.info["objective"])
            return len(seen) > 3
        return None

    part = fit(Logistic(0.1), X, y, w, hook=Hook([saved, after_three]))
    assert part.status == "stopped"
    assert seen == sorted(seen, reverse=True)
    again = LinearModel.from_state(saved.load())
    assert_allclose(again.coef, part.coef)
    whole = fit(Logistic(0.1), X, y, w)
    rest = fit(Logistic(0.1), X, y, w, start=again)
    assert rest.n_iter < whole.n_iter
    assert_allclose(rest.coef, whole.coef, atol=1e-5)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_a_callback_may_stop_in_any_pass(by_sample, solver):
    X, y, w = problem(n=400)
    whole = []
    fit(Logistic(solver=solver), X, y, w, hook=Hook(lambda e: whole.append(e.unit)))
    steps = whole.index("steps")
    for at in range(steps + 1, len(whole)):
        count = []

        def stop(event, at=at, count=count):
            count.append(event)
            return len(count) > at

        model = fit(Logistic(solver=solver), X, y, w, hook=Hook(stop))
        assert model.status == "stopped" or model.stats["relative_gap"] < 1e-10
        assert len(count) <= len(whole)
        assert np.isfinite(model.coef).all()
