"""The projection onto the dual set: optimality, laws, and the slow truth."""

import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import naive_margin as naive
from bochner.learners.margin import project_dual
from make import rng


def problem(n, seed=0, share=0.3, spread=2.0):
    generator = rng(seed)
    y = np.where(generator.random(n) < share, 1.0, -1.0)
    return spread * generator.standard_normal(n) + 0.5, y, generator.random(n) + 0.1


def violation(a, y, w=None):
    return abs(math.fsum(y * a if w is None else w * (y * a)))


def is_optimal(a, alpha, y, C, tolerance=1e-11):
    """KKT: alpha - mu y is in the box where a is inside it, beyond it where a is at a bound."""
    C = np.broadcast_to(C, a.shape)
    free = (a > 0) & (a < C)
    shift = y * (alpha - a)
    below = np.concatenate([shift[free], shift[(a >= C) & (y < 0)], shift[(a <= 0) & (y > 0)]])
    above = np.concatenate([shift[free], shift[(a >= C) & (y > 0)], shift[(a <= 0) & (y < 0)]])
    scale = 1.0 + np.abs(alpha).max()
    most, least = below.max(initial=-np.inf), above.min(initial=np.inf)
    return bool(most <= least + tolerance * scale)


@pytest.mark.parametrize("box", [1.0, 0.01, np.inf, "rows"])
@pytest.mark.parametrize("n", [1, 2, 7, 1000, 30_000, 300_000])
def test_kkt_and_constraints(n, box):
    alpha, y, each = problem(n, seed=n)
    C = each if isinstance(box, str) else box
    a = project_dual(alpha, y, C)
    assert np.all((a >= 0) & (a <= C))
    assert violation(a, y) <= 1e-12
    assert is_optimal(a, alpha, y, C)


def test_optimality_check_can_fail():
    alpha, y, _ = problem(50)
    a = project_dual(alpha, y)
    i, j = np.flatnonzero((a > 0.1) & (a < 0.9) & (y > 0))[:2]
    a[i], a[j] = a[i] + 1e-3, a[j] - 1e-3
    assert not is_optimal(a, alpha, y, 1.0)


@pytest.mark.parametrize("box", [1.0, np.inf, "rows"])
@pytest.mark.parametrize("seed", range(4))
def test_slow_truth(seed, box):
    alpha, y, each = problem(12, seed)
    y[:2] = 1.0, -1.0
    C = each if isinstance(box, str) else box
    w = rng(seed + 9).random(12) + 0.2
    assert_allclose(project_dual(alpha, y, C, w), naive.dykstra(alpha, y, C, w), atol=1e-7)


@pytest.mark.parametrize("n", [40, 20_000])
def test_a_row_of_weight_two_is_the_row_twice(n):
    alpha, y, C = problem(n)
    w = rng(1).integers(1, 4, n)
    twice = project_dual(*(np.repeat(v, w) for v in (alpha, y, C)))
    assert_allclose(np.repeat(project_dual(alpha, y, C, w), w), twice, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_units_cancel(scale):
    alpha, y, _ = problem(5000)
    expected = scale * project_dual(alpha, y, 1.0)
    assert_allclose(project_dual(scale * alpha, y, scale), expected, atol=1e-12 * scale)


@pytest.mark.parametrize("values", [np.zeros(5000), np.full(40_000, 0.7), np.full(40_000, -3.0)])
def test_ties(values):
    y = np.where(np.arange(len(values)) % 3 == 0, 1.0, -1.0)
    a = project_dual(values, y)
    assert violation(a, y) <= 1e-12
    assert is_optimal(a, values, y, 1.0)


def test_projecting_twice_changes_nothing():
    alpha, y, C = problem(50_000)
    a = project_dual(alpha, y, C)
    assert_allclose(project_dual(a, y, C), a, atol=1e-13)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_has_only_zero(label):
    assert_array_equal(project_dual(np.arange(5.0), np.full(5, label)), np.zeros(5))
    assert len(project_dual([], [])) == 0


@hypothesis.settings(max_examples=200, deadline=None, derandomize=True)
@hypothesis.given(data=st.data())
def test_anything(data):
    n = data.draw(st.integers(1, 30))
    number = st.floats(-1e6, 1e6, allow_subnormal=False)
    alpha = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    y = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    C = data.draw(st.sampled_from([1.0, 1e-3, 1e5, np.inf]))
    a = project_dual(alpha, y, C)
    assert np.all((a >= 0) & (a <= C))
    assert violation(a, y) <= 1e-15 * (1 + a.max())
    assert is_optimal(a, alpha, y, C)


def test_the_arguments_stay_as_they_are():
    alpha, y, C = problem(9)
    before = [v.copy() for v in (alpha, y, C)]
    project_dual(alpha, y, C)
    assert all(map(np.array_equal, (alpha, y, C), before))


REFUSED = {
    "one label each": {"alpha": [1.0, 2.0], "y": [1.0]},
    "-1 and \\+1 only": {"alpha": [1.0, 2.0], "y": [0.0, 1.0]},
    "above zero": {"alpha": [1.0], "y": [1.0], "C": 0.0},
    "above zero or": {"alpha": [1.0], "y": [1.0], "C": [1.0, 1.0]},
    "weights must be": {"alpha": [1.0], "y": [1.0], "weights": [-1.0]},
    "finite numbers": {"alpha": [np.nan], "y": [1.0]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    with pytest.raises(ValueError, match=message):
        project_dual(**REFUSED[message])
