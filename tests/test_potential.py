"""The Fourier potential: value and gradient against sums row by row, on every kind of source."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
import naive_margin
from bochner import ops, statistics
from bochner.ops import Dense, Projection, reference
from bochner.rows import MemorySource
from make import LAYOUTS, rng, rows, thinned


class Times:
    """The targets as coefficients."""

    def __call__(self, block):
        return block.y[:, None]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("activation", ["pair", "cos", "relu"])
def test_moments_are_sums_over_rows(layout, activation):
    X, W, r = LAYOUTS[layout](thinned(600, 5)), rows(70, 5, seed=1), rng(2).standard_normal(600)
    p = Projection(Dense(W), activation, 1.5, rng(3).random(70))
    sums, products = ops.moments(X, p, r)
    phi = reference.features(X, p)
    exact = naive.dense(X)
    single = X.dtype == np.float32
    assert_allclose(sums, phi.T @ r, atol=1e-3 if single else 1e-9)
    assert_allclose(products, phi.T @ (r[:, None] * exact), atol=1e-3 if single else 1e-9)


def test_value_and_gradient_row_by_row():
    X, r, W = rows(25, 3), rng(1).standard_normal(25), rows(4, 3, seed=2)
    found = statistics.potential(MemorySource(X, r), W, Times())
    for f, w in enumerate(W):
        assert found.value[f] == pytest.approx(naive_margin.potential(X, r, w))
        expected = naive_margin.slope(lambda w: naive_margin.potential(X, r, w), w)
        assert_allclose(found.gradient[f], expected, rtol=1e-6, atol=1e-6)


def test_blocks_and_weights():
    X, r, W = rows(60, 3), rng(1).standard_normal(60), rows(5, 3, seed=2)
    w = rng(3).integers(0, 3, 60)
    twice = MemorySource(np.repeat(X, w, axis=0), np.repeat(r, w))
    whole = statistics.potential(twice, W, Times())
    parts = statistics.potential(MemorySource(X, r, w * 1.0, block_bytes=100), W, Times())
    assert_allclose(parts.value, whole.value, rtol=1e-10)
    assert_allclose(parts.gradient, whole.gradient, rtol=1e-9, atol=1e-9)


def test_it_is_project_and_pull():
    X, r, W = rows(60, 3), rng(1).standard_normal((60, 1)), rows(5, 3, seed=2)
    p = Projection(Dense(W), "pair")
    s = ops.project(X, p, r)
    found = statistics.potential(MemorySource(X, r[:, 0]), W, Times())
    assert_allclose(found.value, (s.reshape(5, 2) ** 2).sum(axis=1), rtol=1e-10)
    assert_allclose(found.gradient, ops.pull(X, p, r, 2 * s)["frequencies"], rtol=1e-8, atol=1e-9)
