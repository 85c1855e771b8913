"""Laws of every head: weights are copies, order and blocks do not matter, sums merge, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from bochner import FeatureMap
from bochner.families import Gaussian
from bochner.linear import (
    LinearModel,
    Logistic,
    Ridge,
    SquaredHinge,
    as_head,
    closed_form,
    probabilities,
    sigmoid,
    softmax,
)
from bochner.linear.design import Design
from bochner.linear.losses import Multinomial
from bochner.linear.moments import FactorSum, MomentSum
from bochner.linear.risk import DiagonalSum, HessianSum, RiskSum
from bochner.linear.spectrum import LeaveOneOutSum, Spectrum
from bochner.linear.survey import SurveySum
from bochner.rows import MemorySource
from bochner.rows.reduce import fold_partition
from make import rng, rows, thinned

HEADS = [
    Ridge(0.5),
    Ridge(0.5, solver="qr"),
    Ridge("auto"),
    Logistic(0.5),
    Logistic(0.5, solver="lbfgs"),
    SquaredHinge(0.5),
]
heads = pytest.mark.parametrize("head", HEADS, ids=repr)


def problem(n=120, d=5, K=3):
    X = thinned(n, d) + 0.1
    y = (2 * X @ rows(d, K, 1) + rng(2).gumbel(size=(n, K))).argmax(axis=1)
    return X, y, rng(3).integers(0, 4, n).astype(float)


def fit(head, X, y, w=None, fm=None, **source):
    return head.fit(MemorySource(X, y, w, **source), fm)


def same(a: LinearModel, b: LinearModel, atol=1e-6):
    assert_allclose(a.coef, b.coef, atol=atol)
    assert_allclose(a.intercept, b.intercept, atol=atol)


@heads
@pytest.mark.parametrize("mapped", [False, True])
def test_a_weight_is_a_number_of_copies(head, mapped):
    X, y, w = problem()
    fm = FeatureMap.uniform(Gaussian(2.0), 8, X.shape[1], rng(4)) if mapped else None
    at = np.repeat(np.arange(len(y)), w.astype(int))
    weighted, copies = fit(head, X, y, w, fm), fit(head, X[at], y[at], None, fm)
    same(weighted, copies)
    same(weighted, fit(head, X[w > 0], y[w > 0], w[w > 0], fm))
    assert weighted.stats["n_rows"] == np.count_nonzero(w)


@heads
def test_order_and_blocks_do_not_matter(head):
    X, y, w = problem()
    whole, order = fit(head, X, y, w), rng(6).permutation(len(y))
    same(whole, fit(head, X[order], y[order], w[order]))
    same(whole, fit(head, X, y, w, block_bytes=500))


@heads
def test_same_bits_again_and_nothing_is_changed(head):
    X, y, w = problem()
    for a in (X, y, w):
        a.flags.writeable = False
    before = repr(head)
    first, again = fit(head, X, y, w), fit(clone(head), X, y, w)
    assert_array_equal(first.coef, again.coef)
    assert_array_equal(first.intercept, again.intercept)
    assert repr(head) == before


@heads
def test_sparse_rows_are_dense_rows(head):
    X = thinned(120, 5)
    y, w = problem()[1:]
    dense = fit(head, X, y, w)
    same(dense, fit(head, sparse.csr_array(X), y, w))
    same(dense, fit(head, sparse.csr_matrix(X), y, w, block_bytes=500))
    assert_allclose(dense.decision(None, sparse.csr_array(X)), dense.decision(None, X), atol=1e-9)


@heads
def test_float32_is_float64(head):
    X, y, w = problem()
    X = X.astype(np.float32)
    same(fit(head, X, y, w), fit(head, X.astype(np.float64), y, w), atol=2e-5)


@heads
def test_a_fit_or_a_model_survives_pickling(head):
    X, y, w = problem()
    model = fit(pickle.loads(pickle.dumps(head)), X, y, w)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.coef, fit(head, X, y, w).coef)
    source = MemorySource(X, block_bytes=200)
    assert_allclose(model.scores(source, None), model.decision(None, X))


def sums():
    X, y, w = problem()
    fm = FeatureMap.uniform(Gaussian(2.0), 6, X.shape[1], rng(4))
    design = Design.of(MemorySource(X), fm)
    T, loss = rows(3, 7, 8), Multinomial(3)
    spectrum = Spectrum.of_normal(MemorySource(X, y, w).reduce(MomentSum(design, True)), 1e-16)
    return [
        MomentSum(design, True),
        MomentSum(design, False, precise=True),
        FactorSum(design, True),
        RiskSum(design, loss, T),
        HessianSum(design, loss, T, [(0, 0), (0, 2)]),
        DiagonalSum(design, loss, T),
        LeaveOneOutSum(design, spectrum, np.array([0.1, 1.0]), True),
        SurveySum(50, len(y), 3),
    ]


def figures(result):
    """Every array of a result; of a triangle its products, which alone are determined."""
    if isinstance(result, np.ndarray):
        return [result]
    found = dict(vars(result))
    if "phi" in found:
        B = np.concatenate([found.pop("phi"), found.pop("Y")], axis=1)
        found["products"] = B.T @ B
    if "sample" in found:
        sample = found.pop("sample")
        order = np.lexsort(sample.X.T)
        found |= {"X": sample.X[order], "y": sample.y[order], "w": sample.weight[order]}
    return [np.asarray(value) for value in found.values()]


@pytest.mark.parametrize("row_sum", sums(), ids=lambda s: type(s).__name__)
def test_whole_is_chunked_is_merged_is_pickled(row_sum):
    X, y, w = problem()
    whole = figures(MemorySource(X, y, w).reduce(row_sum))
    source = MemorySource(X, y, w, block_bytes=800)
    blocks = list(source.blocks(0))
    assert len(blocks) > 4
    sent = pickle.loads(pickle.dumps(row_sum))
    parts = [pickle.loads(pickle.dumps(fold_partition(sent, iter([b])))) for b in blocks]
    left, right = sent.start(), sent.start()
    for part in parts[:3]:
        left = sent.merge(left, part)
    for part in parts[3:]:
        right = sent.merge(right, part)
    merged = figures(sent.finalise(sent.merge(left, right)))
    for a, b, c in zip(whole, figures(source.reduce(row_sum)), merged, strict=True):
        assert_allclose(b, a, rtol=1e-9, atol=1e-9)
        assert_allclose(c, a, rtol=1e-9, atol=1e-9)


def test_targets_far_from_zero_keep_their_digits(monkeypatch):
    monkeypatch.setattr(closed_form, "PRECISE_WORK", 0.0)
    X = rows(500, 3).astype(np.float32)
    y = X.astype(np.float64) @ [1.0, 2.0, 3.0] + 1e7
    model = fit(Ridge(1e-9), X, y)
    assert_allclose(model.coef[0], [1.0, 2.0, 3.0], atol=1e-5)


def test_a_sample_stands_for_all_rows_of_positive_weight():
    X, y, w = problem()
    survey = MemorySource(X, y, w, block_bytes=800).reduce(SurveySum(30, len(y), None))
    sample = survey.sample
    assert (sample.n_rows, survey.n_rows) == (30, np.count_nonzero(w))
    assert_allclose(survey.class_weights, np.bincount(y, weights=w))
    assert np.all(sample.weight > 0)
    assert_allclose(sample.weight.sum(), w.sum())
    assert_allclose(survey.head(3).weight.sum(), w.sum())
    rest = MemorySource(X, y, w, block_bytes=8000).reduce(SurveySum(30, None, None))
    assert_array_equal(rest.sample.X, sample.X)


# Probabilities and names.


def test_probabilities_do_not_overflow():
    z = np.array([-1e4, -30.0, 0.0, 30.0, 1e4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        p, P = sigmoid(z), softmax(np.stack([z, -z, 0 * z], axis=1))
        both = probabilities(z[:, None])
    assert_allclose(p, [0.0, np.exp(-30) / (1 + np.exp(-30)), 0.5, 1 / (1 + np.exp(-30)), 1.0])
    assert_allclose(P.sum(axis=1), 1.0)
    assert_allclose(both, np.stack([1 - p, p], axis=1), atol=1e-15)
    assert both[3, 0] > 0


def test_heads_by_name():
    assert isinstance(as_head("ridge"), Ridge)
    assert isinstance(as_head("logistic"), Logistic)
    assert isinstance(as_head("squared_hinge"), SquaredHinge)
    assert as_head(HEADS[0]) is HEADS[0]


# Refusals say what to do.


@pytest.mark.parametrize(
    ("call", "error", "advice"),
    [
        (lambda: as_head("lasso"), ValueError, "choose one of"),
        (lambda: as_head(3), TypeError, "Ridge, Logistic or SquaredHinge"),
        (lambda: as_head(Ridge), TypeError, "give an instance"),
    ],
)
def test_names_that_are_refused(call, error, advice):
    with pytest.raises(error, match=advice):
        call()


X2, Y2 = rows(6, 2), np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("head", "X", "y", "w", "advice"),
    [
        (Logistic(0.0), X2, Y2, None, "no optimum"),
        (SquaredHinge(-1.0), X2, Y2, None, "above zero"),
        (Logistic(float("nan")), X2, Y2, None, "above zero"),
        (Logistic(solver="saga"), X2, Y2, None, '"newton"'),
        (Logistic(tol=0.0), X2, Y2, None, "tol > 0"),
        (Logistic(), X2, np.zeros(6, int), None, "at least two classes"),
        (Logistic(), X2, Y2, Y2.astype(float), "at least two classes"),
        (Logistic(), X2, Y2 * 2, None, "class 1 of 3"),
        (Logistic(), X2, Y2 + 0.5, None, "class indices"),
        (Logistic(), X2, -Y2, None, "class indices"),
        (Logistic(), X2, np.stack([Y2, Y2], axis=1), None, "one vector"),
        (Logistic(), X2, Y2, np.zeros(6), "positive weight"),
        (Logistic(), X2 * np.nan, Y2, None, "NaN or infinity"),
        (Logistic(), X2, None, None, "no targets"),
        (Ridge(-1.0), X2, Y2, None, "cannot be negative"),
        (Ridge("best"), X2, Y2, None, '"auto"'),
        (Ridge([1.0, 2.0]), X2, Y2, None, "one a target"),
        (Ridge(alphas=[]), X2, Y2, None, "finite numbers"),
        (Ridge(solver="svd"), X2, Y2, None, '"qr"'),
        (Ridge(), X2, Y2, np.zeros(6), "positive weight"),
        (Ridge(), X2, None, None, "no targets"),
    ],
)
def test_fits_that_are_refused(head, X, y, w, advice):
    with pytest.raises(ValueError, match=advice):
        fit(head, X, y, w)


def test_a_start_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="same features"):
        Logistic().fit(MemorySource(X2, Y2), None, start=LinearModel(np.zeros((1, 5)), np.zeros(1)))
