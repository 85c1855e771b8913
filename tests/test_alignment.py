"""The ball of problem (4), held against its dual bound, a general solver, and its own laws."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

import naive_alignment as naive
from bochner.learners.alignment import path, solve

ORDERS = [1.01, 1.1, 1.5, 2, 3, 5, 20]
RNG = np.random.default_rng(0)
N = 40
SCORES = {
    "squares": RNG.standard_normal(N) ** 2,
    "20 decades": 10 ** RNG.uniform(-20, 0, N),
    "20 decades below the best": 1 - 10 ** RNG.uniform(-20, 0, N),
    "one best": np.r_[1.0, np.zeros(N - 1)],
    "one worst": np.r_[0.0, np.ones(N - 1)],
    "ties": np.round(RNG.uniform(0, 4, N)),
    "negative": -(RNG.standard_normal(N) ** 2) - 3,
}


def idle(v, k):
    """The radius from which on all weight is on the best."""
    return (len(v) / np.sum(v == v.max())) ** (k - 1.0) - 1


def radii(v, k):
    most = idle(v, k)
    candidates = [1e-8, 1e-4, 0.05, 0.3, 0.01 * most, 0.5 * most, 0.999 * most]
    return [rho for rho in candidates if rho < most]


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("k", ORDERS)
def test_no_feasible_weights_do_better(name, k):
    v = SCORES[name]
    spread = v.max() - v.mean()
    for rho in radii(v, k):
        found = solve(v, rho, k)
        q = found.weights
        assert found.status == "active"
        assert q.min() >= 0
        assert abs(q.astype(np.longdouble).sum() - 1) < 1e-14
        assert naive.divergence(q, k) <= rho + 1e-13 * (1 + rho)
        assert (naive.depth(q, v) - naive.best_depth(v, rho, k)) / spread < 1e-12
        assert found.stats["gap"] <= 1e-12 * spread
        assert_array_equal(found.support, np.flatnonzero(q))


@pytest.mark.parametrize("k", [2, 3, 1.5])
@pytest.mark.parametrize("name", ["squares", "ties", "negative"])
def test_a_general_solver_agrees(name, k):
    v = SCORES[name][:12]
    for share in (0.05, 0.4):
        rho = share * idle(v, k)
        searched, found = naive.searched_weights(v, rho, k), solve(v, rho, k)
        assert_allclose(found.weights @ v, searched @ v, rtol=1e-6)
        assert_allclose(found.weights, searched, atol=2e-3)


def test_the_threshold_is_the_dual_variable():
    v, rho, k = SCORES["squares"], 3.0, 3.0
    found = solve(v, rho, k)
    a = np.maximum(v - found.stats["eta"], 0)
    conjugate = k / (k - 1)
    dual = (1 + rho) ** (1 / k) * np.mean(a**conjugate) ** (1 / conjugate) + found.stats["eta"]
    assert dual == pytest.approx(found.weights @ v, rel=1e-13)
    assert found.stats["value"] == pytest.approx(found.weights @ v, rel=1e-13)
    assert_allclose(found.weights, np.sqrt(a) / np.sqrt(a).sum(), rtol=1e-10)


def test_all_active_at_order_two_is_the_printed_closed_form():
    v, rho = SCORES["squares"], 1e-3
    expected = (1 + np.sqrt(rho) * (v - v.mean()) / v.std()) / N
    assert_allclose(solve(v, rho).weights, expected, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 1.5, 7])
@pytest.mark.parametrize("lone", [0.0, 1.0])
def test_two_clusters_a_hundred_thousand_to_one(k, lone):
    """Here the threshold is within 1e-10 of a cluster: digits of it alone would not do."""
    v = np.full(100_001, 1.0 - lone)
    v[7] = lone
    for share in (1e-6, 0.3, 0.9):
        rho = share * idle(v, k)
        found = solve(v, rho, k)
        assert abs(found.weights.sum() - 1) < 1e-12
        assert found.stats["gap"] <= 1e-12 * (1 - v.mean())
        assert naive.divergence(found.weights, k) == pytest.approx(rho, rel=1e-9)


@pytest.mark.parametrize("step", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("kl", [0.01, 0.5, 2.0])
def test_orders_close_to_one_are_the_relative_entropy(step, kl):
    """rho / (k - 1) tends to KL(q || uniform), and q to exp(v / t) on its sphere."""
    rng = np.random.default_rng(5)
    v = np.r_[np.round(rng.uniform(0, 3, 300)), rng.standard_normal(300)]

    def tilted(t):
        q = np.exp((v - v.max()) / t)
        return q / q.sum()

    def entropy(t):
        q = tilted(t)
        return float(q @ np.log(np.maximum(600 * q, 1e-300))) - kl

    t = optimize.brentq(entropy, 0.03, 1e3, xtol=1e-14)
    found = solve(v, step * kl, 1 + step)
    assert found.stats["gap"] <= 1e-12 * (v.max() - v.mean())
    assert_allclose(found.weights, tilted(t), rtol=1e3 * step + 1e-5)


@pytest.mark.parametrize("k", [1.5, 2, 4])
def test_edges(k):
    v = np.array([1.0, 4.0, 4.0, 2.0])
    assert solve(v, 0.0, k).status == "uniform"
    assert_array_equal(solve(v, 0.0, k).weights, np.full(4, 0.25))
    for rho in (2 ** (k - 1.0) - 1, 50.0, np.inf):
        found = solve(v, rho, k)
        assert found.status == "inactive"
        assert_array_equal(found.weights, [0, 0.5, 0.5, 0])
        assert found.stats["gap"] == 0
        assert found.stats["eta"] == 4
    for same in (np.full(5, 3.0), np.zeros(5), np.array([7.0])):
        found = solve(same, 1.0, k)
        assert found.status == "uniform"
        assert_array_equal(found.weights, np.full(len(same), 1 / len(same)))


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("k", [2, 3])
def test_extreme_scales_change_nothing(factor, k):
    v = SCORES["squares"]
    plain, found = solve(v, 2.0, k), solve(v * factor, 2.0, k)
    assert_allclose(found.weights, plain.weights, rtol=1e-10, atol=1e-15)
    assert found.stats["eta"] / factor == pytest.approx(plain.stats["eta"], rel=1e-10)


@pytest.mark.parametrize("v", [[1.0, -1.7e308, 1.7e308], [5e-324, 0.0, 1e-323], [1e-300, 1.0, 0.5]])
def test_scores_at_the_ends_of_the_range(v):
    found = solve(v, 0.5)
    assert np.isfinite(found.weights).all()
    assert found.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], 1.0), "NaN or infinity .1 of 2, the first is number 1"),
        (([1.0, -np.inf], 1.0), "NaN or infinity"),
        (([], 1.0), "at least one number"),
        (([[1.0]], 1.0), "shape"),
        ((["a"], 1.0), "number"),
        (([1.0, 2.0], -1.0), "rho=.*>= 0"),
        (([1.0, 2.0], np.nan), "rho=nan"),
        (([1.0, 2.0], "big"), "rho=.*'big'.*>= 0"),
        (([1.0, 2.0], None), "rho=.*None"),
        (([1.0, 2.0], [1.0, 2.0]), "takes one radius.*path"),
        (([1.0, 2.0], 1.0, "two"), "order='two'.*> 1"),
        (([1.0, 2.0], 1.0, 1.0), "order > 1"),
        (([1.0, 2.0], 1.0, np.nan), "order > 1"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(*arguments)


MANY = 30_000
MANY_SCORES = {
    "squares": RNG.standard_normal(MANY) ** 2,
    "20 decades": 10 ** RNG.uniform(-20, 0, MANY),
    "20 decades below the best": 1 - 10 ** RNG.uniform(-20, 0, MANY),
    "heavy tails": RNG.standard_t(1, MANY),
    "steps": np.round(RNG.uniform(0, 9, MANY)),
}


@pytest.mark.parametrize("k", [1.0001, 1.1, 1.5, 3, 8])
@pytest.mark.parametrize("name", MANY_SCORES)
def test_sums_by_blocks_are_sums(name, k):
    """Where thousands are active most of them are summed by moments of blocks."""
    v = MANY_SCORES[name]
    most = idle(v, k)
    for rho in {min(r, 0.9 * most) for r in (1e-8, 0.01, 1.0, 100.0, 0.3 * most)}:
        found = solve(v, rho, k)
        q = found.weights
        assert float(naive.divergence(q, k)) == pytest.approx(rho, rel=1e-9, abs=1e-15 * (1 + rho))
        dual = naive.dual_depth(v, rho, k, found.stats["eta"])
        # eta is one rounding off where scores are large and depths small
        rounding = 4e-16 * np.abs(v).max()
        assert naive.depth(q, v) - dual <= 1e-12 * (v.max() - v).mean() + rounding


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float), min_size=2, max_size=30),
    st.floats(1e-8, 1e3),
    st.sampled_from([1.3, 2, 3, 6]),
    st.randoms(use_true_random=False),
)
def test_laws(values, rho, k, random):
    v = np.array(values)
    found = solve(v, rho, k)
    q = found.weights
    assert q.sum() == pytest.approx(1)
    assert (np.diff(q[np.argsort(v, kind="stable")]) >= -1e-12).all()  # better scores weigh more
    assert naive.divergence(q, k) <= rho + 1e-9 * (1 + rho)
    assert found.stats["gap"] <= 1e-12 * (v.max() - v).mean()
    order = random.sample(range(len(v)), len(v))
    assert_allclose(solve(v[order], rho, k).weights, q[order], atol=1e-9)
    assert_allclose(solve(v * 2.0**30, rho, k).weights, q, atol=1e-9)
    assert_allclose(solve(np.tile(v, 3), rho, k).weights, np.tile(q, 3) / 3, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 511, 512, 513, 1024, 1025, 5000])
def test_blocks_leave_no_trace(n):
    v = np.random.default_rng(n).standard_normal(n) ** 2
    for share in (1e-7, 0.01, 0.3, 0.7):
        rho = share * (n - 1)
        found = solve(v, rho)
        assert naive.divergence(found.weights, 2) == pytest.approx(rho, rel=1e-6, abs=1e-12)
        a = np.maximum(v - found.stats["eta"], 0)
        if found.status == "active":
            assert_allclose(found.weights, a / a.sum(), atol=1e-9 / n)


@pytest.mark.parametrize("k", [2, 3])
def test_a_path_holds_the_solutions(k):
    v = RNG.standard_normal(3000) ** 2
    rhos = np.r_[0.0, np.geomspace(1e-6, 5000.0, 12)]
    many = path(v, rhos, k)
    assert len(many) == 13
    for rho, one in zip(rhos, many, strict=True):
        alone = solve(v, rho, k)
        assert one.status == alone.status
        assert_allclose(one.weights, alone.weights, rtol=1e-9, atol=1e-12)
    assert_array_equal(many.nnz, [len(one.support) for one in many])
    assert_array_equal(many.etas, [one.stats["eta"] for one in many])
    assert_array_equal(many[3:5].nnz, many.nnz[3:5])
    values = [one.stats["value"] for one in many]
    assert (np.diff(values) >= 0).all()


def test_a_path_keeps_its_scores():
    v = RNG.standard_normal(100)
    expected, many = solve(v, 2.0).weights, path(v, [2.0])
    v[:] = 0.0
    assert_array_equal(many[0].weights, expected)
