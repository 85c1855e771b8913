"""The fast CPU path against the definition, for every activation, operator, dtype and layout.

Tolerances are norm-wise: an error in z of eps |x| |w| moves a feature by at most its slope times
that, so the bound grows with the arguments (a Cauchy frequency makes them 1e4).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from bochner import ops
from bochner.ops import Columns, Dense, Projection, Structured, reference

ACTIVATIONS = ["cos", "pair", "step", "relu", "relu2", "identity"]
SMOOTH = [a for a in ACTIVATIONS if a != "step"]
OPERATORS = ["dense", "structured", "structured-some", "columns"]
DTYPES = [np.float32, np.float64]


def make_operator(kind, d, n_forms, rng, dtype):
    if kind == "dense":
        return Dense(rng.standard_normal((n_forms, d)).astype(dtype))
    if kind == "columns":
        return Columns(d, rng.integers(0, d, n_forms))
    p = 1 << max(0, int(d - 1).bit_length())
    blocks = -(-n_forms // p) + (kind == "structured-some")
    signs = rng.choice(np.array([-1, 1], np.int8), (blocks, 3, p))
    radii = np.sqrt(d) * rng.uniform(0.5, 1.5, blocks * p).astype(dtype)
    if kind == "structured":
        return Structured(d, signs, radii)
    return Structured(d, signs, radii, rng.permutation(blocks * p)[:n_forms])


def make(activation, operator="dense", d=7, n_forms=33, dtype=np.float64, seed=0, offsets=True):
    rng = np.random.default_rng(seed)
    op = make_operator(operator, d, n_forms, rng, dtype)
    b = rng.uniform(0, 2 * np.pi, op.n_forms).astype(dtype) if offsets else None
    return Projection(op, activation, scale=0.7, offsets=b)


def make_rows(n, d, dtype=np.float64, seed=1):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def thin(n, columns, seed=2):
    return np.random.default_rng(seed).standard_normal((n, columns))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def slack(X, p, dtype):
    """Bound on the error of one feature: eps (|x| |w| + |b|), times slope and sizes; and of a step
    the share of rows that such an error can flip."""
    W = np.asarray(p.operator.to_matrix(), np.float64)
    z = np.linalg.norm(dense(X).astype(np.float64), axis=1).max(initial=0)
    z = z * np.linalg.norm(W, axis=1).max(initial=0)
    z += 0 if p.offsets is None else np.abs(p.offsets).max(initial=0)
    slope = 2 * z + 1 if p.activation == "relu2" else 1.0
    return 8 * np.finfo(dtype).eps * (z + 1) * slope * p.scale


def assert_close(ours, truth, weight, X, p, dtype):
    """|ours - truth| <= slack * weight, where weight is the sum of absolute coefficients."""
    assert ours.shape == truth.shape
    error = np.abs(ours - truth).max(initial=0)
    assert error <= slack(X, p, dtype) * weight, (error, slack(X, p, dtype) * weight)


def away_from_zero(X, p):
    """Rows of X where no form is within rounding of a step's jump."""
    z = reference._forms(X, p)
    return X[np.abs(z).min(axis=1, initial=1) > 1e-4]


def check_all(X, p, dtype, columns):
    """Every operation against the definition."""
    n, eps = X.shape[0], np.finfo(dtype).eps
    R, T = thin(n, columns), thin(p.n_columns, columns, 3)
    phi = reference.features(X, p)
    got = ops.features(X, p)
    assert got.dtype == dtype
    assert_close(got, phi, 1.0, X, p, dtype)
    size = np.abs(phi).max(initial=0) + 1
    r1, t1 = np.abs(R).sum(axis=0).max(initial=0), np.abs(T).sum(axis=0).max(initial=0)

    projected = ops.project(X, p, R)
    assert projected.dtype == np.float64
    assert_close(projected, reference.project(X, p, R), r1 + size * r1, X, p, dtype)

    mapped = ops.map_rows(X, p, T)
    assert mapped.dtype == dtype
    assert_close(mapped, reference.map_rows(X, p, T), t1 + size * t1, X, p, dtype)

    w = np.abs(R[:, 0])
    for weights in (None, w, R[:, 0]):
        G = ops.gram(X, p, weights)
        assert_close(G, reference.gram(X, p, weights), 4 * size * size * (n + w.sum()), X, p, dtype)
        assert np.array_equal(G, G.T)
    if p.activation == "step":
        return
    slope = reference._derivative(reference._forms(X, p), p)
    steep = np.abs(slope).max(initial=0) + 1
    G = ops.gram(X, p, w, derivative=True)
    truth = reference.gram(X, p, w, derivative=True)
    assert_close(G, truth, 4 * steep * steep * (n + 1), X, p, dtype)

    pulled, truth = ops.pull(X, p, R, T), reference.pull(X, p, R, T)
    x1 = np.abs(dense(X)).max(initial=1) + 1
    weight = 4 * steep * np.abs(R @ T.T).sum(axis=0).max(initial=0)
    assert set(pulled) == {"frequencies", "offsets"}
    assert_close(pulled["offsets"], truth["offsets"], weight, X, p, dtype)
    assert_close(pulled["frequencies"], truth["frequencies"], weight * x1, X, p, dtype)
    assert eps > 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("columns", [1, 3])
def test_agrees_with_the_definition(activation, operator, dtype, columns):
    p = make(activation, operator, dtype=dtype)
    X = make_rows(57, 7, dtype)
    if activation in ("step", "relu"):
        X = away_from_zero(X, p)
    check_all(X, p, dtype, columns)
    check_all(sparse.csr_array(X * (np.abs(X) > 0.5)), p, dtype, columns)


@pytest.mark.parametrize("activation", ["cos", "pair"])
@pytest.mark.parametrize("operator", ["dense", "structured", "structured-some"])
@pytest.mark.parametrize(
    ("n", "d", "n_forms"),
    [(1, 1, 1), (1, 7, 300), (15, 1, 17), (15, 3, 257), (255, 5, 256), (1025, 2, 33)]
    + [(300, 130, 270), (0, 3, 5)],
)
def test_awkward_shapes(activation, operator, n, d, n_forms):
    p = make(activation, operator, d, n_forms, np.float32)
    check_all(make_rows(n, d, np.float32), p, np.float32, 1)
    check_all(make_rows(n, d, np.float32), p, np.float32, 2)
