"""Length scales read off the rows: their documented meaning, and who must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import naive
from bochner.families import ArcCosine, Cauchy, Gaussian, Laplace, Matern
from bochner.families.bandwidth import RULES, weighted_median
from bochner.rows import MemorySource, draw_sample
from make import LAYOUTS, rng, rows, thinned


def length(rule, X, weight=None, family=Gaussian, block_bytes=2**20, size=20_000, **settings):
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    source = MemorySource(X, weight=weight, block_bytes=block_bytes)
    resolved = family(rule, **settings).resolve(draw_sample(source, size, seed=3))
    return resolved.bandwidth


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_rules_mean_what_the_documentation_says(norm):
    X, metric = rows(90, 3), {"l2": "euclidean", "l1": "manhattan"}[norm]
    settings = {"family": Laplace, "norm": norm}
    assert_allclose(length("median", X, **settings), naive.median_distance(X, metric))
    assert_allclose(length("neighbours", X, **settings), naive.neighbour_distance(X, 50, metric))
    assert_allclose(length("scale", X, **settings), np.sqrt(3 * X.var() / 2))


def test_few_rows_have_their_farthest_neighbour():
    X = rows(7, 2)
    assert_allclose(length("neighbours", X), naive.neighbour_distance(X))


@pytest.mark.parametrize("rule", RULES)
def test_a_weighted_row_is_a_repeated_row(rule):
    X, w = rows(40, 3), rng(1).integers(0, 5, 40)
    again = np.repeat(X, w, axis=0)
    assert_allclose(length(rule, X, w), length(rule, again))
    shuffled = again[rng(2).permutation(len(again))]
    assert_allclose(length(rule, shuffled), length(rule, again))
    slow = {
        "median": naive.median_distance,
        "neighbours": naive.neighbour_distance,
        "scale": lambda X: np.sqrt(3 * X.var() / 2),
    }[rule]
    assert_allclose(length(rule, X, w), slow(naive.repeated(X, w)))


@pytest.mark.parametrize("rule", RULES)
def test_layout_order_and_blocks_change_nothing(rule):
    X = thinned(60, 5)
    expected = length(rule, X)
    for name, layout in LAYOUTS.items():
        rtol = 1e-6 if "32" in name else 1e-12
        assert_allclose(length(rule, layout(X)), expected, rtol=rtol)
        assert_allclose(length(rule, layout(X), block_bytes=200), expected, rtol=rtol)
    assert_allclose(length(rule, X[::-1]), expected)


@pytest.mark.parametrize("rule", RULES)
def test_scale_of_weights_offset_and_unit(rule):
    X, w = rows(80, 3), rng(1).random(80)
    w /= w.sum()
    assert_allclose(length(rule, X, w), length(rule, X, w / 1000))
    assert_allclose(length(rule, 5 * X), 5 * length(rule, X))
    assert_allclose(length(rule, X + 1e6), length(rule, X), rtol=1e-6)
    equal = np.full(80, 1 / 80)
    assert_allclose(length(rule, X, equal), length(rule, X))


def test_a_sample_of_many_rows_speaks_for_all():
    X = rows(4000, 2)
    whole = naive.median_distance(X[:400])
    assert_allclose(length("median", X), whole, rtol=0.05)
    near = length("neighbours", X)
    tree = np.sort(np.linalg.norm(X[:300, None] - X, axis=2), axis=1)
    assert_allclose(near, tree[:, 50].mean(), rtol=0.1)


def test_scale_is_that_of_scikit_learn():
    X, y = rows(50, 4) * [1, 2, 3, 4], rng(1).integers(0, 2, 50)
    gamma = SVC(gamma="scale").fit(X, y)._gamma
    h = length("scale", X)
    assert_allclose(1 / (2 * h**2), gamma, rtol=1e-12)
    assert_allclose(Gaussian(h).exact_kernel(X), rbf_kernel(X, gamma=gamma), rtol=1e-9)


# --- rows without a length ---


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["C", "CSR", "float32"])
def test_equal_rows_have_no_length(rule, kind):
    for value in (0.0, 0.1, 1e9 + 0.1):
        X = LAYOUTS[kind](np.full((30, 4), value))
        with pytest.raises(ValueError, match=r"came out as 0.*n_samples=30.*bandwidth=1.0"):
            length(rule, X)
        assert length(2.5, X) == 2.5


@pytest.mark.parametrize("rule", ["median", "neighbours"])
def test_one_row_has_no_neighbour(rule):
    with pytest.raises(ValueError, match="only one row \\(n_samples=1\\)"):
        length(rule, rows(1, 4))
    assert length(1.0, rows(1, 4)) == 1.0


def test_two_rows_and_constant_columns():
    X = np.array([[0.0, 7.0], [3.0, 7.0]])
    assert length("median", X) == length("neighbours", X) == 3.0


# --- settings ---


@pytest.mark.parametrize("family", [Gaussian, Laplace, Cauchy, Matern])
def test_resolving_leaves_the_family_alone(family):
    sample = draw_sample(MemorySource(rows(20, 3)), 100, seed=0)
    asked = family(bandwidth="median", form="pair")
    resolved = asked.resolve(sample)
    assert asked.bandwidth == "median"
    assert asked.needs_sample
    assert not resolved.needs_sample
    assert resolved.get_params() == asked.get_params() | {"bandwidth": resolved.bandwidth}
    assert isinstance(resolved.bandwidth, float)
    assert not ArcCosine().needs_sample


def test_unresolved_rules_are_not_drawn_from():
    for use in (lambda f: f.draw(4, 3, rng()), lambda f: f.exact_kernel(rows(2, 3))):
        with pytest.raises(ValueError, match="'median' has to be resolved.*give a number"):
            use(Gaussian())
    with pytest.raises(ValueError, match="needs a sample"):
        Gaussian().resolve(None)


@pytest.mark.parametrize(
    ("given_value", "error", "advice"),
    [
        ("medain", ValueError, "'medain' is not a known rule.*'median'"),
        (0.0, ValueError, "positive and finite"),
        (-1.0, ValueError, "positive and finite, got -1.0"),
        (np.nan, ValueError, "positive and finite"),
        (np.inf, ValueError, "positive and finite"),
        ([1.0, 0.0, 2.0], ValueError, "positive and finite"),
        ([1.0, 2.0], ValueError, "3 columns: give one number, or an array of 3"),
        (np.ones((3, 1)), ValueError, "shape"),
        (None, TypeError, "a number, an array or a string, got NoneType"),
        (True, TypeError, "got bool"),
        (["a", "b", "c"], TypeError, "got list"),
        ({}, TypeError, "got dict"),
    ],
)
def test_bandwidths_that_are_refused(given_value, error, advice):
    family = Gaussian(given_value)
    with pytest.raises(error, match=advice):
        family.check(3)
    sample = draw_sample(MemorySource(rows(5, 3)), 10, seed=0)
    for use in (lambda: family.draw(4, 3, rng()), lambda: family.exact_kernel(rows(2, 3))):
        with pytest.raises(error, match=advice):
            use()
    if isinstance(given_value, str):
        with pytest.raises(error, match=advice):
            family.resolve(sample)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12))
def test_weighted_median_is_the_median_of_repeated_values(pairs):
    values, weights = np.array(pairs, dtype=np.float64).T
    assert weighted_median(values, weights) == np.median(np.repeat(values, weights.astype(int)))
