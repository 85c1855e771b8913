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
from bochner.ops.tiles import Rows

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
        both = ops.gram_and_project(X, p, R, weights)
        assert np.array_equal(both[0], G)
        assert both[1].dtype == np.float64
        assert_close(both[1], reference.project(X, p, R), r1 + size * r1, X, p, dtype)
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


@pytest.mark.parametrize("activation", ["cos", "pair", "relu"])
def test_tall_tiles_of_pull(activation):
    """From 256 columns on a tile of pull has twice as many rows."""
    p, X = make(activation, "dense", 260, 9, np.float32), make_rows(2100, 260, np.float32)
    for columns in (1, 2):
        R, T = thin(2100, columns), thin(p.n_columns, columns, 3)
        pulled, truth = ops.pull(X, p, R, T), reference.pull(X, p, R, T)
        for name, part in pulled.items():
            assert np.abs(part - truth[name]).max() <= 1e-5 * np.linalg.norm(truth[name])


@pytest.mark.parametrize("d", [1, 255, 300, 513])
def test_products_of_the_rows_themselves(d):
    """One tile up to 512 columns, several above; rows of several chunks."""
    p = Projection(Columns(d, np.arange(d)), "identity")
    X, w = make_rows(2500, d, np.float32), np.abs(thin(2500, 1)[:, 0])
    for weights in (None, w, -w):
        G = ops.gram(X, p, weights)
        truth = reference.gram(X, p, weights)
        assert np.abs(G - truth).max() <= 2e-6 * np.abs(truth).max()
        np.testing.assert_array_equal(G, G.T)
        R = thin(2500, 3)
        both, sums = ops.gram_and_project(X, p, R, weights), reference.project(X, p, R)
        np.testing.assert_array_equal(both[0], G)
        assert np.abs(both[1] - sums).max() <= 2e-6 * np.abs(X).T.dot(np.abs(R)).max()


def layouts(X):
    """The same rows, as memory may hold them."""
    frozen = X.copy()
    frozen.flags.writeable = False
    wide = np.repeat(X, 2, axis=1)
    tall = np.repeat(X, 2, axis=0)
    shifted = np.zeros(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    shifted[:] = X
    return {
        "read-only": frozen,
        "F-order": np.asfortranarray(X),
        "columns strided": wide[:, ::2],
        "rows strided": tall[::2],
        "reversed": X[::-1].copy()[::-1],
        "unaligned": shifted,
        "other byte order": X.astype(X.dtype.newbyteorder()),
    }


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("layout", layouts(np.zeros((1, 1))))
def test_any_memory_layout_gives_the_same(layout, operator):
    X = make_rows(300, 7, np.float32)
    p = make("cos", operator, dtype=np.float32)
    R, T = thin(300, 1), thin(p.n_columns, 1)
    Y = layouts(X)[layout]
    before = Y.copy()
    for ours, plain in [
        (ops.features(Y, p), ops.features(X, p)),
        (ops.project(Y, p, R), ops.project(X, p, R)),
        (ops.map_rows(Y, p, T), ops.map_rows(X, p, T)),
        (ops.gram(Y, p), ops.gram(X, p)),
        (ops.pull(Y, p, R, T)["frequencies"], ops.pull(X, p, R, T)["frequencies"]),
        (ops.fold(Y, p, lambda f, at: f.T @ R[at], np.add), ops.project(X, p, R)),
    ]:
        np.testing.assert_allclose(ours, plain, rtol=0, atol=2e-5 * np.abs(plain).max())
    np.testing.assert_array_equal(Y, before)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("activation", ["cos", "relu", "identity"])
def test_sparse_rows_with_either_index_and_empty_rows(container, index_dtype, activation):
    X = make_rows(40, 30)
    X[np.abs(X) < 1.2] = 0
    X[[0, 7, 39]] = 0
    S = container(X)
    S.indices, S.indptr = S.indices.astype(index_dtype), S.indptr.astype(index_dtype)
    for operator in OPERATORS:
        check_all(S, make(activation, operator, 30, 21), np.float64, 2)


@pytest.mark.parametrize("activation", ["cos", "pair"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_of_ten_thousand_lose_what_rounding_of_the_product_loses(activation, dtype):
    rng = np.random.default_rng(0)
    W = np.clip(rng.standard_cauchy((64, 5)) * 100, -1e4, 1e4).astype(dtype)
    p = Projection(Dense(W), activation, 1.0, rng.uniform(0, 6, 64).astype(dtype))
    X = make_rows(128, 5, dtype)
    assert np.abs(reference._forms(X, p)).max() > 1e4
    check_all(X, p, dtype, 1)


def test_float32_error_of_a_projection_is_below_1e_5():
    p = make("cos", d=32, n_forms=256, dtype=np.float32)
    X, R = make_rows(8192, 32, np.float32), thin(8192, 1)
    truth = reference.project(X, p, R)
    assert np.linalg.norm(ops.project(X, p, R) - truth) <= 1e-5 * np.linalg.norm(truth)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("activation", ["cos", "pair", "identity"])
def test_whole_equals_chunked(activation, operator):
    p = make(activation, operator, d=5, n_forms=70)
    X, R, T = make_rows(900, 5), thin(900, 2), thin(p.n_columns, 2)
    parts = [slice(0, 1), slice(1, 400), slice(400, 400), slice(400, 900)]
    project, gram, pull = None, None, None
    for at in parts:
        project = ops.project(X[at], p, R[at], out=project)
        gram = ops.gram(X[at], p, R[at, 0], out=gram)
        pull = ops.pull(X[at], p, R[at], T, out=pull)
    whole = ops.pull(X, p, R, T)
    for ours, truth in [
        (project, ops.project(X, p, R)),
        (gram, ops.gram(X, p, R[:, 0])),
        (pull["frequencies"], whole["frequencies"]),
        (pull["offsets"], whole["offsets"]),
        (np.concatenate([ops.map_rows(X[at], p, T) for at in parts]), ops.map_rows(X, p, T)),
    ]:
        np.testing.assert_allclose(ours, truth, rtol=0, atol=1e-12 * np.abs(truth).max())


def test_out_is_the_array_returned():
    p, X, R = make("cos"), make_rows(9, 7), thin(9, 1)
    out, G, F = np.ones((33, 1)), np.ones((33, 33)), np.empty((9, 33))
    assert ops.project(X, p, R, out=out) is out
    assert ops.gram(X, p, out=G) is G
    assert ops.features(X, p, out=F) is F
    np.testing.assert_allclose(out, 1 + reference.project(X, p, R), atol=1e-13)
    np.testing.assert_allclose(G, 1 + reference.gram(X, p), atol=1e-13)
    pulled = {"frequencies": np.ones((33, 7)), "offsets": np.ones(33)}
    given = pulled["frequencies"]
    assert ops.pull(X, p, R, R[:1].repeat(33, 0), out=pulled) is pulled
    assert pulled["frequencies"] is given


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_bits_for_any_number_of_threads(operator, dtype):
    p = make("cos", operator, d=20, n_forms=600, dtype=dtype)
    X, R, T = make_rows(3000, 20, dtype), thin(3000, 1), thin(p.n_columns, 1)
    for call in (
        lambda k: ops.features(X, p, threads=k),
        lambda k: ops.project(X, p, R, threads=k),
        lambda k: ops.pull(X, p, R, T, threads=k)["frequencies"],
        lambda k: ops.map_rows(X, p, T, threads=k),
        lambda k: ops.gram(X, p, threads=k),
        lambda k: ops.fold(X, p, lambda f, at: f.sum(axis=0), np.add, threads=k),
    ):
        np.testing.assert_array_equal(call(1), call(2))
        np.testing.assert_array_equal(call(2), call(7))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("kind", ["rows themselves", "pair"])
def test_fold_shows_every_row_once_in_order(kind, scaled):
    X = make_rows(1000, 6, np.float32)
    p = make("pair", d=6, n_forms=9, dtype=np.float32)
    if kind == "rows themselves":
        p = Projection(Columns(6, np.arange(6)), "identity")
    scale = np.linspace(1, 2, p.n_columns) if scaled else None
    parts = ops.fold(
        X,
        p,
        lambda phi, at: [(at, phi.copy(), phi.base is X)],
        lambda a, b: a + b,
        column_scale=scale,
        chunk_bytes=4000,
    )
    assert [at.start for at, _, _ in parts[1:]] == [at.stop for at, _, _ in parts[:-1]]
    assert parts[0][0].start == 0
    assert parts[-1][0].stop == 1000
    assert all(phi.nbytes <= 8000 for _, phi, _ in parts)
    assert all(no_copy for _, _, no_copy in parts) == (kind == "rows themselves" and not scaled)
    whole = np.concatenate([phi for _, phi, _ in parts])
    truth = reference.features(X, p) * (1 if scale is None else scale)
    np.testing.assert_allclose(whole, truth, atol=2e-5)
    np.testing.assert_allclose(ops.features(X, p, column_scale=scale), truth, atol=2e-5)


@pytest.mark.parametrize("p", [make("cos", d=6), Projection(Columns(6, np.arange(6)), "identity")])
def test_fold_of_no_rows_visits_none(p):
    shape = ops.fold(np.zeros((0, 6)), p, lambda phi, at: phi.shape, lambda a, b: a)
    assert shape == (0, p.n_columns)


def test_only_what_blas_cannot_read_is_copied():
    """NumPy multiplies other layouts without BLAS, many times slower: rows are copied by tiles."""
    X, at = make_rows(64, 8), slice(3, 40)
    views = [X, np.asfortranarray(X), X[:, 2:6], np.repeat(X, 2, axis=0)[::2]]
    copies = [np.repeat(X, 2, axis=1)[:, ::2], X[:, ::-1], np.broadcast_to(X[:1], X.shape)]
    for Y in views:
        assert np.shares_memory(Rows.of(Y).dense(at), Y)
    for Y in copies:
        tile = Rows.of(Y).dense(at)
        assert tile.flags.c_contiguous
        assert not np.shares_memory(tile, Y)


def test_features_of_the_rows_themselves_are_the_rows():
    X = make_rows(50, 6, np.float32)
    p = Projection(Columns(6, np.arange(6)), "identity")
    np.testing.assert_array_equal(ops.features(X, p), X)
    np.testing.assert_array_equal(ops.features(sparse.csr_array(X), p), X)
    np.testing.assert_allclose(ops.features(X, p, column_scale=np.full(6, 2.0)), 2 * X)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda X, p, R, T: ops.project(X[:, :5], p, R), "5 columns.*drawn for 7"),
        (lambda X, p, R, T: ops.project(X[0], p, R), "reshape"),
        (lambda X, p, R, T: ops.project(X, p, R[:4]), r"R has shape \(4, 2\).*row of X"),
        (lambda X, p, R, T: ops.map_rows(X, p, T[:4]), "T has shape.*column of the features"),
        (lambda X, p, R, T: ops.pull(X, p, R, T[:, :1]), "R has 2 column"),
        (lambda X, p, R, T: ops.gram(X, p, R[:, 0][:3]), "one weight per row"),
        (lambda X, p, R, T: ops.project(X, p, R, out=np.zeros((3, 2))), "expected a writeable"),
        (lambda X, p, R, T: ops.gram(X, p, out=np.zeros((33, 33), np.float32)), "float64"),
        (lambda X, p, R, T: ops.features(X, p, out=np.zeros((9, 32))), "expected a writeable"),
        (lambda X, p, R, T: ops.features(X, p, column_scale=T[:3, 0]), "one per feature"),
        (lambda X, p, R, T: ops.project(X, p, R, threads=0), "threads=0"),
        (lambda X, p, R, T: ops.pull(X, make("step"), R, T), "no useful derivative.*order=1"),
        (lambda X, p, R, T: ops.gram(X, make("step"), derivative=True), "no useful derivative"),
    ],
)
def test_refusals_advise(call, advice):
    p = make("cos")
    with pytest.raises(ValueError, match=advice):
        call(make_rows(9, 7), p, thin(9, 2), thin(33, 2))
