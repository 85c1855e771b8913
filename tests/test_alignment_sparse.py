"""Alignment over the columns of wide sparse rows: memory, names, and what stays sparse."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline

from bochner import KGramEncoder, LearnedFeatures, scan
from bochner.families import Gaussian, Linear
from bochner.learners import Alignment
from bochner.learners.alignment.held_out import PENALTIES, ridge
from make import rng


def wide(n=400, d=30_000, planted=7):
    """Rows of few entries, labels that a single column carries."""
    X = sparse.random(n, d, 0.002, "csr", np.float32, random_state=0)
    y = rng(1).integers(0, 2, n)
    X = X.tolil()
    X[:, planted] = y[:, None].astype(np.float32)
    return X.tocsr(), y


def weighted_ridge(P, Q, Y, share, penalty):
    """Slow truth: centred by the weights, the system with a row and column for each column of P."""
    mean = share @ P
    A = (P - mean).T @ (share[:, None] * (P - mean))
    b = (P - mean).T @ (share[:, None] * Y)
    return (Q - mean) @ np.linalg.solve(A + penalty * np.trace(A) * np.eye(len(A)), b)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("columns", [5, 60])
def test_both_systems_are_the_same_ridge(columns, form):
    P = rng(0).standard_normal((30, columns)) * (rng(1).random((30, columns)) < 0.5)
    Q, Y = P[::-1][:8] + 0.0, rng(2).standard_normal((30, 2))
    share = rng(3).random(30)
    share /= share.sum()
    Y = Y - share @ Y
    for penalty, found in zip(PENALTIES, ridge(form(P), form(Q), Y, share), strict=True):
        assert_allclose(found, weighted_ridge(P, Q, Y, share, penalty), rtol=1e-6, atol=1e-8)


def test_a_radius_for_all_columns_is_judged_in_little_memory():
    """30,000 columns: a dense Gram matrix of them would take 3.6 GB."""
    X, y = wide()
    tracemalloc.start()
    features = LearnedFeatures(Linear(), Alignment("auto"), random_state=0).fit(X, y)
    Z = features.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert sparse.issparse(Z)
    assert features.selection_.table(top=1)["column"][0] == 7
    assert np.isfinite(features.selection_.stats["errors"]).all()


def test_columns_of_sparse_rows_stay_sparse():
    X, y = wide(d=500)
    features = LearnedFeatures(Linear(), Alignment(0.01), 400, 100, random_state=0).fit(X, y)
    fm, dense = features.feature_map_, features.transform(X.toarray())
    for form in ("csr", "csc"):
        Z = features.transform(X.asformat(form))
        assert sparse.issparse(Z)
        assert Z.dtype == np.float32
        assert_array_equal(Z.toarray(), dense)
    assert_allclose(dense, X.toarray()[:, fm.input_columns] * fm.weights, rtol=1e-6)
    streamed = list(features.transform(scan(lambda: iter([X[:150], X[150:]]))))
    assert [Z.shape[0] for Z in streamed] == [150, 250]
    assert_array_equal(sparse.vstack(streamed).toarray(), dense)
    gaussian = LearnedFeatures(Gaussian(1.0), n_components=10, random_state=0).fit(X)
    assert isinstance(gaussian.transform(X), np.ndarray)
    assert gaussian.feature_map_.input_columns is None
    pytest.importorskip("pandas")
    table = features.set_output(transform="pandas").transform(X)
    assert_array_equal(table.to_numpy(), dense)


def test_columns_keep_their_names():
    grams = KGramEncoder(k=(1, 2))
    letters = rng(0).choice(list("ACGT"), (200, 12))
    y = np.where(letters[:, 5] == "G", "yes", "no")
    features = LearnedFeatures(Linear(), Alignment(0.2), random_state=0)
    line = make_pipeline(grams, features).fit(letters, y)
    names = line.get_feature_names_out()
    assert names[0] == "G@5"
    assert_array_equal(names, grams.names_of(line[-1].feature_map_.input_columns))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng(1).standard_normal((200, 3)), columns=["age", "height", "weight"])
    features.set_params(n_components=3).fit(frame, y)
    assert sorted(features.get_feature_names_out()) == ["age", "height", "weight"]
