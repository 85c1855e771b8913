"""Ridge: the minimiser, the route to it, the path and exact leave-one-out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model

import naive_linear as naive
from bochner import FeatureMap
from bochner.families import Gaussian
from bochner.linear import Ridge, closed_form
from bochner.rows import MemorySource
from make import rng, rows


def problem(n=80, d=6, k=2, seed=0):
    X = rows(n, d, seed) + 0.5
    Y = X @ rows(d, k, seed + 1) + 2.0 + rows(n, k, seed + 2)
    return X, Y, rng(seed + 3).uniform(0.2, 3.0, n)


def fit(head, X, Y, w=None, fm=None, **source):
    return head.fit(MemorySource(X, Y, w, **source), fm)


@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.7, 1e3])
def test_is_the_minimiser(solver, fit_intercept, alpha):
    X, Y, w = problem()
    model = fit(Ridge(alpha, solver=solver, fit_intercept=fit_intercept), X, Y, w)
    coef, intercept = naive.ridge(X, Y, w, alpha, fit_intercept=fit_intercept)
    assert model.status == "optimal"
    assert model.stats["solver"] == solver
    assert_allclose(model.coef, coef, rtol=1e-10, atol=1e-12)
    assert_allclose(model.intercept, intercept, rtol=1e-10, atol=1e-12)


def test_agrees_with_scikit_learn_one_alpha_a_target():
    X, Y, w = problem()
    alphas = np.array([0.1, 50.0])
    model = fit(Ridge(alphas), X, Y, w)
    other = linear_model.Ridge(alphas).fit(X, Y, w)
    assert_allclose(model.coef, other.coef_, rtol=1e-9)
    assert_allclose(model.intercept, other.intercept_, rtol=1e-9)
    assert_allclose(model.decision(None, X), other.predict(X), rtol=1e-9)


def test_of_a_feature_map_is_that_of_its_features():
    X, Y, w = problem()
    fm = FeatureMap.uniform(Gaussian(2.0), 16, X.shape[1], rng(5))
    model, plain = fit(Ridge(0.1), X, Y, w, fm), fit(Ridge(0.1), fm(X), Y, w)
    assert_allclose(model.coef, plain.coef, rtol=1e-6, atol=1e-8)
    assert_allclose(model.decision(fm, X), plain.decision(None, fm(X)), rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_is_exact_for_rows_with_copies(fit_intercept):
    X, Y, _ = problem(n=14, d=3, k=1)
    copies = rng(9).integers(1, 4, len(X))
    head = Ridge(0.5, alphas=[0.01, 0.5, 20.0], fit_intercept=fit_intercept)
    path = fit(head, X, Y, copies.astype(float)).path
    for alpha, found in zip(path.alphas, path.loo[:, 0], strict=True):
        truth = naive.leave_one_out(X, Y[:, 0], copies, alpha, fit_intercept=fit_intercept)
        assert_allclose(found, truth, rtol=1e-9)


def test_leave_one_out_of_light_rows_leaves_the_whole_row_out():
    X, Y, _ = problem(n=12, d=2, k=1)
    w = rng(4).uniform(0.1, 1.0, len(X))
    path = fit(Ridge(1.0, alphas=[1.0]), X, Y, w).path
    errors = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        coef, b = naive.ridge(X[rest], Y[rest], w[rest], 1.0)
        errors.append(Y[i, 0] - X[i] @ coef[0] - b[0])
    assert_allclose(path.loo[0, 0], w @ np.square(errors) / w.sum(), rtol=1e-9)


@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_path_agrees_with_scikit_learn(solver):
    X, Y, _ = problem(n=60, d=8, k=1)
    model = fit(Ridge("auto", solver=solver), X, Y[:, 0])
    path = model.path
    other = linear_model.RidgeCV(path.alphas, store_cv_results=True).fit(X, Y[:, 0])
    assert_allclose(path.loo[:, 0], other.cv_results_.reshape(60, -1).mean(axis=0), rtol=1e-6)
    assert path.best == other.alpha_ == model.stats["alpha"]
    for coef, intercept, alpha in zip(path.coefs, path.intercepts, path.alphas, strict=True):
        one = linear_model.Ridge(alpha).fit(X, Y)
        assert_allclose(coef[0], np.ravel(one.coef_), rtol=1e-6, atol=1e-9)
        assert_allclose(intercept, one.intercept_, rtol=1e-6, atol=1e-9)


def test_auto_does_not_depend_on_the_unit_of_a_target():
    X, Y, _ = problem(n=50, d=20, k=2)
    Y[:, 1] = rng(4).standard_normal(50)  # wants far more of a penalty than the other one
    first = fit(Ridge("auto"), X, Y)
    scaled = fit(Ridge("auto"), X, Y * [1.0, 1e4])
    assert first.stats["alpha"] == scaled.stats["alpha"]
    alone = [fit(Ridge("auto"), X, y).stats["alpha"] for y in Y.T]
    assert alone[0] < first.stats["alpha"] < alone[1]
    assert_allclose(scaled.coef, first.coef * [[1.0], [1e4]], rtol=1e-8)


# Routes.


def hard(condition, n=120, d=8):
    """Rows whose singular values reach from 1 to 1 / condition."""
    U, V = (np.linalg.qr(rows(m, d, 7))[0] for m in (n, d))
    X = U * np.logspace(0, -np.log10(condition), d) @ V.T
    return X, X @ rows(d, 1, 8) + 1e-3 * rows(n, 1, 9)


def test_gram_fails_where_the_triangle_does_not():
    X, Y = hard(1e9)
    ones = np.ones(len(X))
    coef, intercept = naive.ridge(X, Y, ones, 0.0)
    truth = X @ coef[0] + intercept[0]
    auto, gram = fit(Ridge(0.0), X, Y), fit(Ridge(0.0, solver="gram"), X, Y)
    assert auto.stats["solver"] == "qr"
    assert gram.status != "optimal"
    least = naive.ridge_objective(X, Y, ones, 0.0, coef, intercept)

    def excess(model):
        return naive.ridge_objective(X, Y, ones, 0.0, model.coef, model.intercept) / least - 1

    assert abs(excess(auto)) < 1e-8
    assert excess(gram) > 1e-4
    assert_allclose(auto.decision(None, X)[:, 0], truth, rtol=0, atol=1e-9)
    # Its error is about condition * eps, where that of the products is condition^2 * eps.
    assert_allclose(auto.coef, coef, rtol=0, atol=1e-5 * np.abs(coef).max())
    assert np.abs(gram.coef - coef).max() > 0.1 * np.abs(coef).max()


def test_float32_products_are_refined(monkeypatch):
    monkeypatch.setattr(closed_form, "PRECISE_WORK", 0.0)
    X, Y = hard(100.0)
    X = (100 * X).astype(np.float32)
    model = fit(Ridge(1e-2), X, Y)
    coef, _ = naive.ridge(X, Y, np.ones(len(X)), 1e-2)
    assert model.stats["solver"] == "gram"
    assert model.stats["refinements"] >= 1
    assert_allclose(model.coef, coef, rtol=1e-9, atol=1e-10 * np.abs(coef).max())
    monkeypatch.setattr(closed_form.Rows, "_refined", lambda self, point, *_: (point, 0.0, 0))
    rough = fit(Ridge(1e-2), X, Y)
    assert np.abs(rough.coef - coef).max() > 100 * np.abs(model.coef - coef).max()


def test_gap_of_a_quadratic_is_its_distance_from_the_optimum():
    X, Y, w = problem()
    design = closed_form.Design.of(MemorySource(X, Y, w), None)
    ask = closed_form.Rows(MemorySource(X, Y, w), design, True, None)
    alphas = np.array([0.5, 0.5])
    system = closed_form.Cholesky(ask.sums(ask.routes("gram")[0]), 0.5)
    point = rows(2, 7, 3)
    change, gap = closed_form.newton_step(
        ask._residuals(point, alphas).gradient, system, alphas, True
    )

    def value(T):
        return naive.ridge_objective(X, Y, w, alphas, T[:, :-1], T[:, -1])

    assert_allclose(gap, value(point) - value(point - change), rtol=1e-10)
    coef, intercept = naive.ridge(X, Y, w, 0.5)
    assert_allclose(point - change, np.column_stack([coef, intercept]), rtol=1e-9)


def test_a_large_mean_does_not_cancel():
    X, Y, w = problem()
    for mean in (1e4, 1e8):
        shifted = X + mean
        model = fit(Ridge(1.0), shifted, Y + 10 * mean, w)
        coef = naive.ridge(shifted, Y + 10 * mean, w, 1.0)[0]
        assert model.status == "optimal"
        assert_allclose(model.coef, coef, rtol=0, atol=1e-14 * mean * np.abs(coef).max() + 1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_more_features_than_rows(n):
    X, Y, w = problem(n=n, d=12, k=1)
    model = fit(Ridge(0.3), X, Y, w)
    coef, _ = naive.ridge(X, Y, w, 0.3)
    assert model.stats["solver"] == "qr"
    assert_allclose(model.coef, coef, rtol=1e-9, atol=1e-10)
    least = fit(Ridge(0.0), X, Y, w)
    assert least.status == "minimum_norm"
    assert_allclose(least.decision(None, X), Y, atol=1e-8)
    centred = X - w @ X / w.sum()
    truth = np.linalg.pinv(centred, rcond=1e-10) @ (Y - w @ Y / w.sum())
    assert_allclose(least.coef, truth.T, atol=1e-8)


@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
def test_dependent_columns_have_a_minimum_norm_solution(solver):
    X, Y, w = problem(k=1)
    X = np.column_stack([X, X[:, 0], np.zeros(len(X)), np.full(len(X), 7.0)])
    model = fit(Ridge(0.0, solver=solver), X, Y, w)
    root = np.sqrt(w)[:, None]
    truth = np.linalg.pinv(root * (X - w @ X / w.sum()), rcond=1e-10) @ (
        root * (Y - w @ Y / w.sum())
    )
    assert model.status == "minimum_norm"
    assert_allclose(model.coef, truth.T, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 1.0, "auto"])
def test_constant_features_and_targets(alpha):
    model = fit(Ridge(alpha), np.full((9, 3), 2.0), np.full(9, 5.0))
    assert_allclose(model.decision(None, np.full((2, 3), 2.0)), 5.0)
    assert_allclose(model.coef, 0.0, atol=1e-12)
