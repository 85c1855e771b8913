"""Columns that are no single linear form: explicit formulas, stacks, mixed groups."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naive
from bochner import ops, statistics
from bochner.families import ArcCosine, Gaussian, Laplace, Linear
from bochner.feature_map import FeatureMap
from bochner.linear import Logistic, Ridge
from bochner.rows import MemorySource
from make import LAYOUTS, rng, rows, thinned


class Powers(ops.Explicit):
    """x_j^p for p = 1 .. P, all j: enough columns to need several tiles."""

    tile_columns = 8

    def __init__(self, d, powers, scale=1.0, kept=None):
        self.d, self.powers, self._scale = d, powers, scale
        self.kept = np.arange(d * powers) if kept is None else kept

    n_inputs = property(lambda self: self.d)
    n_columns = property(lambda self: len(self.kept))
    atoms = property(lambda self: {"powers": self.kept})
    scale = property(lambda self: self._scale)

    def names(self):
        return tuple(f"x{m % self.d}^{1 + m // self.d}" for m in self.kept)

    def take(self, columns):
        return Powers(self.d, self.powers, self._scale, self.kept[columns])

    def scaled(self, factor):
        return Powers(self.d, self.powers, self._scale * factor, self.kept)

    def fill(self, X, columns, out):
        X = X if isinstance(X, np.ndarray) else X.toarray()
        for j, m in enumerate(self.kept[columns]):
            out[:, j] = X[:, m % self.d] ** (1 + m // self.d)


def powers(d):
    return Powers(d, 5, scale=0.7)


def stack(d):
    parts = {
        "pair": Gaussian(1.0, form="pair").draw(10, d, rng(1)),
        "phase": Laplace(2.0).draw(7, d, rng(2)).scaled(0.5),
        "columns": Linear().draw(d, d, rng(3)),
        "powers": powers(d),
    }
    return ops.Stack.of(parts)


def shuffled(d):
    whole = stack(d)
    return whole.take(rng(4).permutation(whole.n_columns))


def mixed(d):
    return ops.Mixed(Laplace(1.5).draw(33 * 20, d, rng(1)), rng(2).standard_normal((33, 20)))


def mixed_pairs(d):
    base = Gaussian(1.5, form="pair", sampling="structured").draw(9 * 6, d, rng(1))
    return ops.Mixed(base, rng(2).standard_normal((9, 6)))


KINDS = [powers, stack, shuffled, mixed, mixed_pairs]


def as_map(columns):
    weights = rng(9).uniform(0.5, 2.0, columns.n_columns)
    return FeatureMap(Gaussian(1.0), columns, weights)


def close(found, truth, eps):
    assert_allclose(found, truth, rtol=0, atol=eps * (1 + np.abs(truth).max(initial=0)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (40, 5), (700, 3)])
class TestOperations:
    def test_every_operation_is_the_definition(self, kind, n, d):
        fm, X = as_map(kind(d)), thinned(n, d).astype(np.float32).astype(np.float64)
        R, T, w = rows(n, 3, seed=1), rows(fm.n_features, 2, seed=2), rng(3).random(n)
        phi = naive.features(fm, X)
        for layout in LAYOUTS.values():
            given = layout(X)
            eps = 2e-4 if given.dtype == np.float32 else 1e-11
            assert fm(given).dtype == given.dtype
            close(fm(given), phi, eps)
            close(fm.project(given, R), phi.T @ R, eps * n)
            close(fm.gram(given, w), phi.T @ (w[:, None] * phi), eps * n)
            both = ops.gram_and_project(given, fm.projection, R, w)
            whole = fm.weights[:, None] * both[0] * fm.weights, fm.weights[:, None] * both[1]
            close(whole[0], phi.T @ (w[:, None] * phi), eps * n)
            close(whole[1], phi.T @ R, eps * n)
            close(fm.map_rows(given, T), phi @ T, eps * fm.n_features)
            assert_array_equal(naive.dense(given), X)

    def test_the_definition_is_column_by_column(self, kind, n, d):
        columns, X = kind(d), rows(n, d)
        whole = columns.define(X)
        order = rng(5).permutation(columns.n_columns)
        close(columns.take(order).define(X), whole[:, order], 1e-12)
        close(columns.take(np.array([0])).define(X), whole[:, :1], 1e-12)
        close(columns.scaled(3.0).define(X), 3.0 * whole, 1e-12)

    def test_heads_solve_on_them(self, kind, n, d):
        fm, X, y = as_map(kind(d)), rows(n, d), rng(1).integers(0, 2, n).astype(np.float64)
        if n < 40:
            pytest.skip("nothing to solve with one row")
        phi = naive.features(fm, X)
        plain = MemorySource(phi, y)
        for head in (Ridge(alpha=1.0), Logistic(alpha=1.0, tol=1e-9)):
            streamed = MemorySource(X, y, block_bytes=max(64, X.nbytes // 5))
            a, b = (
                head.fit(source, given, n_classes=2)
                for source, given in ((streamed, fm), (plain, None))
            )
            close(fm.map_rows(X, a.coef.T) + a.intercept, phi @ b.coef.T + b.intercept, 1e-5)

    def test_names_are_distinct_and_pickle_keeps_all(self, kind, n, d):
        fm, X = as_map(kind(d)), rows(n, d)
        assert len(set(fm.names)) == fm.n_features == len(fm.names)
        again = pickle.loads(pickle.dumps(fm))
        assert again.names == fm.names
        assert_array_equal(again(X), fm(X))


def test_a_stack_is_its_parts_in_any_order():
    d, X = 4, rows(30, 4)
    whole = stack(d)
    apart = np.concatenate([ops.features(X, part) for part in whole.parts], axis=1)
    assert_allclose(ops.features(X, whole), apart, atol=1e-12)
    order = rng(1).permutation(whole.n_columns)
    taken = whole.take(order).take(np.arange(5))
    assert_allclose(ops.features(X, taken), apart[:, order[:5]], atol=1e-12)
    assert [whole.names()[m] for m in (0, 1, 10, 17)] == [
        "pair:cos(w0)",
        "pair:sin(w0)",
        "phase:cos(w0)",
        "columns:x0",
    ]


def test_pull_of_a_stack_and_of_mixed_groups_is_finite_differences():
    d, X = 3, rows(12, 3)
    R = rows(12, 2, seed=1)
    parts = {
        "a": Gaussian(1.0).draw(5, d, rng(1)),
        "b": ArcCosine(order=1).draw(4, d, rng(2)),
    }
    both = ops.Stack.of(parts).take(rng(3).permutation(9))
    groups = ops.Mixed(Gaussian(1.0).draw(12, d, rng(1)), rows(3, 4, seed=2))
    for columns in (both, groups):
        T = rows(columns.n_columns, 2, seed=4)
        assert columns.differentiable
        found = ops.pull(X, columns, R, T)
        assert found.keys() == columns.atoms.keys()
        for name, gradient in found.items():
            for index in ((0,) * gradient.ndim, (-1,) * gradient.ndim):
                slope = difference(columns, name, index, X, R @ T.T)
                assert_allclose(gradient[index], slope, atol=1e-6)


def difference(columns, name, index, X, C, h=1e-6):
    """Central difference of sum_im C_im phi_m(x_i) by one number of the atoms."""

    def value(step):
        moved = pickle.loads(pickle.dumps(columns))
        array = atom(moved, name)
        array[index] += step
        return np.sum(C * moved.define(X))

    return (value(h) - value(-h)) / (2 * h)


def atom(columns, name):
    """The array itself behind an atom parameter."""
    if isinstance(columns, ops.Stack):
        label, _, name = name.partition(".")
        return atom(columns.parts[columns.labels.index(label)], name)
    if isinstance(columns, ops.Mixed):
        return columns.mix if name == "mix" else atom(columns.base, name)
    return columns.operator.matrix if name == "frequencies" else columns.offsets


def test_sums_add_to_what_is_given():
    X, R, columns = rows(20, 3), rows(20, 2), stack(3)
    out = np.ones((columns.n_columns, 2))
    assert ops.project(X, columns, R, out=out) is out
    assert_allclose(out, 1.0 + columns.define(X).T @ R, atol=1e-10)
    moving = ops.Stack.of({"a": Gaussian(1.0).draw(5, 3, rng(1))})
    T = rows(5, 2)
    total = ops.pull(X, moving, R, T)
    expected = {name: 2 * part for name, part in total.items()}
    ops.pull(X, moving, R, T, out=total)
    for name, part in total.items():
        assert_allclose(part, expected[name], atol=1e-12)


def test_a_pass_in_blocks_pulls_as_one_block_does():
    X, fm = rows(60, 3), as_map(mixed(3))
    R, T = rows(60, 2, seed=1), rows(fm.n_features, 2, seed=2)
    blocks = MemorySource(X, R, block_bytes=300)
    assert sum(1 for _ in blocks.blocks()) > 3
    found = statistics.pull(blocks, fm, statistics.targets, T)
    for name, truth in fm.pull(X, R, T).items():
        assert_allclose(found[name], truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [powers, stack])
def test_atoms_that_stay_put_say_so(kind):
    X, columns = rows(5, 3), kind(3)
    with pytest.raises(ValueError, match="derivative"):
        ops.pull(X, columns, rows(5, 1), rows(columns.n_columns, 1))
    with pytest.raises(ValueError, match="derivative"):
        ops.gram(X, columns, derivative=True)


def test_derivative_gram_of_a_stack():
    X = rows(15, 3)
    parts = {
        "a": Gaussian(1.0).draw(5, 3, rng(1)),
        "b": Laplace(1.0, form="pair").draw(4, 3, rng(2)),
    }
    both = ops.Stack.of(parts).take(np.array([8, 0, 3, 5, 7]))
    slope = np.concatenate(
        [naive.derivative(FeatureMap(None, p, np.ones(p.n_columns)), X) for p in both.parts],
        axis=1,
    )
    inverse = np.argsort(np.concatenate(both.where))
    slope = slope[:, inverse]
    assert_allclose(ops.gram(X, both, derivative=True), slope.T @ slope, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_shapes_are_refused(kind):
    columns = kind(3)
    with pytest.raises(ValueError, match="drawn for 3"):
        ops.features(rows(4, 2), columns)
    with pytest.raises(ValueError, match="expected \\(4, C\\)"):
        ops.project(rows(4, 3), columns, rows(5, 1))
    with pytest.raises(ValueError, match=f"expected \\({columns.n_columns}, C\\)"):
        ops.map_rows(rows(4, 3), columns, rows(1, 1))


def test_mixed_never_holds_rows_by_base_columns():
    """20,000 rows x 12,800 base columns would be 1 GB in float32."""
    import tracemalloc

    base = Gaussian(1.0).draw(200 * 64, 4, rng(1))
    columns = ops.Mixed(base, np.ones((200, 64)) / 64)
    X = rows(20_000, 4).astype(np.float32)
    ops.features(X[:10], columns)
    tracemalloc.start()
    for call in (
        lambda: ops.features(X, columns),
        lambda: ops.project(X, columns, X[:, :1]),
        lambda: ops.map_rows(X, columns, np.ones((200, 1))),
    ):
        call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6
