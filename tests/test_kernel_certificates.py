"""Certificates of kernels and of classifiers: coverage for the worst Q, and the arithmetic."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import naive_posterior as naive
from bochner import certificates as c
from bochner.certificates.classifier import kl_inverse
from bochner.certificates.kernel_loss import good_ts

DELTA, DRAWS = 0.05, 1000
BOUNDS = {
    "first": lambda **k: c.pac_bayes_first_order(0.45, k.pop("kl", 1.0), k.pop("n", 1000), **k),
    "union": lambda **k: c.pac_bayes_union(0.45, k.pop("kl", 1.0), k.pop("n", 1000), **k),
    "second": lambda **k: c.pac_bayes_second_order(0.45, k.pop("kl", 1.0), k.pop("n", 1000), **k),
    "landmark": lambda **k: c.landmark([0.45], [k.pop("kl", 1.0)], k.pop("n", 1000), **k),
    "f": lambda **k: c.f_divergence(0.45, k.pop("kl", 1.0), k.pop("n", 1000), 3.0, **k),
    "chi": lambda **k: c.chi_square(0.45, k.pop("kl", 1.0), k.pop("n", 1000), **k),
    "held out": lambda **k: c.held_out_error(
        450, 1000 + 0 * k.pop("kl", 0) + 0 * k.pop("n", 0), **k
    ),
    "linear": lambda **k: c.pac_bayes_linear(
        np.linspace(-0.1, 1, 1000 + 0 * k.pop("kl", 0) + 0 * k.pop("n", 0)), **k
    ),
}


def covered(holds, delta=DELTA):
    """At least 1 - delta of the draws, up to four standard errors."""
    share = np.mean(holds)
    return share >= 1 - delta - 4 * math.sqrt(delta * (1 - delta) / len(holds))


# --- coverage: the truth is a finite sum, the worst Q of each draw is known in closed form ------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n", [6, 51, 2000])
def test_second_order_bounds_cover(n, n_classes):
    world = naive.PairWorld(n_classes=n_classes, signs=n_classes == 2)
    seen = world.losses(world.draw(n, DRAWS, np.random.default_rng(n)))
    for t in (0.3 * math.sqrt(n), math.sqrt(n), 3 * math.sqrt(n)):
        excess = naive.worst_kl(world.truth, seen, t)
        for bound in (c.pac_bayes_second_order, c.pac_bayes_union):
            slack = bound(0.0, 0.0, n, DELTA, t=t).details["slack"] * t
            factor = 2 if bound is c.pac_bayes_union else 1
            worst = naive.worst_kl(world.truth, seen, t / factor) * factor
            assert covered(worst <= slack)
        assert covered(excess <= c.pac_bayes_second_order(0.0, 0.0, n, t=t).details["slack"] * t)


@pytest.mark.parametrize("mu", [1.2, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_f_divergence_covers(mu, n_classes):
    world = naive.PairWorld(n_classes=n_classes, signs=True)
    for n in (6, 50, 2000):
        seen = world.losses(world.draw(n, DRAWS, np.random.default_rng(n)))
        found = c.f_divergence(0.0, 0.0, n, mu, DELTA, n_classes=n_classes)
        assert covered(naive.worst_power(world.truth, seen, mu) <= found.bound)


def test_one_row_and_landmarks_cover():
    world, n, rng = naive.PairWorld(n_classes=3), 200, np.random.default_rng(0)
    t = math.sqrt(n)
    places = [(kind, label) for kind in range(5) for label in range(3)]
    counts = world.draw(n, DRAWS, rng)  # the n rows other than the landmark
    worst = np.array(
        [
            naive.worst_kl(world.own_truth(*place), world.own_losses(counts, *place), t)
            for place in places
        ]
    )
    one = c.pac_bayes_first_order(0.0, 0.0, n + 1, DELTA, t=t).details["slack"] * t
    assert all(covered(w <= one) for w in worst)
    every = c.landmark(np.zeros(15), np.zeros(15), n, DELTA, t=t).details["slack"] * t
    assert covered(np.all(worst <= every, axis=0))


@pytest.mark.parametrize("n", [10**3, 10**4, 10**5])
def test_printed_theorem_4_fails_and_the_corrected_one_holds(n):
    """One frequency, z = +-1 with mean .707, mu = 4: 12, 25, 35 % of draws violate it."""
    rng = np.random.default_rng(n)
    S = 2.0 * rng.binomial(n, (1 + math.sqrt(0.5)) / 2, 20_000) - n
    over = (S**2 - n) / (n * (n - 1.0)) / 2 - 0.25  # (L^ - L), symmetric enough in sign
    violations = np.mean(-over > naive.printed_f_divergence(0.0, n, 4.0, DELTA))
    assert violations > 2 * DELTA
    corrected = c.f_divergence(0.0, 0.0, n, 4.0, DELTA, n_classes=2)
    assert np.mean(-over > corrected.bound) <= DELTA


@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize("n", [4, 10, 40])
def test_variance_bounds_hold(n, n_classes):
    for signs in (True, False):
        world = naive.PairWorld(K=40, n_classes=n_classes, seed=n, signs=signs)
        seen = world.losses(world.draw(n, 20_000, np.random.default_rng(0)))
        assert seen.var(axis=0).max() <= c.loss_variance(n, n_classes) * 1.06


def test_variance_of_two_classes_is_the_largest_over_m():
    m = np.linspace(0, 1, 100_001)
    for n in (2, 3, 10, 1000):
        f = 2 * ((n - 2) * m * (1 - m) / 2 + (1 - m**2) / 4) / (n * (n - 1))
        assert c.loss_variance(n, 2) == pytest.approx(min(f.max(), 1 / (2 * n)), rel=1e-6)
    assert c.loss_variance(1000) == 1 / 2000
    assert c.loss_variance(1000, 2) == pytest.approx(1 / 4000, rel=0.01)


def test_many_classes_exceed_lemma_6_by_far():
    """A constant feature, one class with chance 3/4, all other rows in classes of their own."""
    n, k = 1000, np.arange(1001)
    same, w = k * (k - 1) / (n * (n - 1)), stats.binom.pmf(np.arange(1001), n, 0.75)
    variance = w @ same**2 - (w @ same) ** 2
    assert variance * 4 * n > 1.65
    assert variance <= c.loss_variance(n)


def test_variance_of_sign_features_exceeds_lemma_6():
    """z = +-1: the exact variance of (1 - U) / 2 beats 1 / (4n) at n = 10."""
    n = 10
    ratios = []
    for p in np.linspace(0.5, 1.0, 201):
        k = np.arange(n + 1)
        U = ((2 * k - n) ** 2 - n) / (n * (n - 1))
        w = stats.binom.pmf(k, n, p)
        variance = (w @ U**2 - (w @ U) ** 2) / 4
        assert variance <= c.loss_variance(n, 2) * (1 + 1e-9)
        ratios.append(variance * 4 * n)
    assert max(ratios) > 1.04


@pytest.mark.parametrize("n", [1, 10, 200])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-6])
def test_binomial_bound_is_exact(n, delta):
    bounds = np.array([c.held_out_error(k, n, delta).bound for k in range(n + 1)])
    for k in range(n):
        assert stats.binom.cdf(k, n, bounds[k]) == pytest.approx(delta, rel=1e-6)
    for p in np.linspace(0, 1, 41):
        assert stats.binom.pmf(np.arange(n + 1), n, p) @ (bounds >= p) >= 1 - delta - 1e-9
    assert c.held_out_error(n, n, delta).vacuous


def test_linear_bound_covers_and_says_something():
    rng, d, n = np.random.default_rng(0), 5, 3000
    w_true, flips, holds, bounds = np.eye(d)[0], 0.03, [], []
    for _ in range(100):
        X = rng.standard_normal((n, d))
        y = np.sign(X @ w_true) * np.where(rng.random(n) < flips, -1, 1)
        w = np.linalg.lstsq(X, y, rcond=None)[0]  # fitted on the same rows
        margins = y * (X @ w) / np.linalg.norm(w) / np.linalg.norm(X, axis=1)
        found = c.pac_bayes_linear(margins, DELTA)
        angle = math.acos(w[0] / np.linalg.norm(w)) / math.pi
        holds.append(angle + flips - 2 * angle * flips <= found.bound)
        bounds.append(found.bound)
    assert np.mean(holds) == 1.0
    assert np.max(bounds) < 0.35


def test_kl_inverse():
    for q in (0.0, 0.1, 0.5, 0.999, 1.0):
        for bound in (1e-12, 1e-3, 0.1, 5.0):
            p = kl_inverse(q, bound)
            assert q <= p <= 1.0
            if p < 1.0 and q < 1.0:
                divergence = stats.entropy([q, 1 - q], [p, 1 - p])
                assert divergence == pytest.approx(bound, rel=1e-3, abs=1e-11)
    assert kl_inverse(0.0, 0.1) == pytest.approx(1 - math.exp(-0.1))


# --- arithmetic, unions, honesty ------------------------------------------------------------------


def test_values_by_hand():
    n, kl, d = 1000, 1.5, 0.05
    assert c.pac_bayes_first_order(0.4, kl, n, d, t=30.0).bound == pytest.approx(
        0.4 + (kl + 900 / (8 * 999) + math.log(20)) / 30
    )
    assert c.pac_bayes_union(0.4, kl, n, d, t=30.0).bound == pytest.approx(
        0.4 + 2 / 30 * (kl + 900 / (8 * 999) + math.log(1001 / 0.05))
    )
    assert c.pac_bayes_second_order(0.4, kl, n, d, t=30.0).bound == pytest.approx(
        0.4 + (kl + 900 / 4000 + math.log(20)) / 30
    )
    assert c.landmark([0.4, 0.2], [1.0, 3.0], n, d, t=30.0).bound == pytest.approx(
        0.3 + (2.0 + 900 / 8000 + math.log(40)) / 30
    )
    assert c.chi_square(0.4, 3.0, n, d).bound == pytest.approx(0.4 + math.sqrt(4 / (2 * n * d)))


def test_several_t_share_delta_and_the_best_is_taken():
    n, ts = 5000, (20.0, 70.0, 300.0)
    each = [c.pac_bayes_second_order(0.4, 5.0, n, 0.05 / 3, t=t).bound for t in ts]
    found = c.pac_bayes_second_order(0.4, 5.0, n, 0.05, t=ts)
    assert found.bound == pytest.approx(min(each))
    assert found.delta == 0.05
    for kl in (0.0, 3.0, 9.0):  # never far from the t that one would have wished for
        wished = 0.4 + math.sqrt(4 * (kl + math.log(20)) / (8 * (n // 2)))
        union = c.pac_bayes_second_order(0.4, kl, n, t=good_ts(n)).bound
        assert union - 0.4 < 1.35 * (wished - 0.4)


@pytest.mark.parametrize("name", BOUNDS)
def test_every_certificate_is_honest(name):
    make = BOUNDS[name]
    found = make()
    assert 0.45 <= found.bound < 1.0 or name == "linear"
    assert not found.vacuous
    assert found.holds
    assert len(str(found).splitlines()) == 3
    assert json.loads(json.dumps(found.to_dict()))["name"] == found.name
    assert "rows are independent" in str(found)
    assert ("not the error of a classifier" in found.quantity) != (name in ("held out", "linear"))
    broken = make(broken=("the bandwidth was fitted on these rows",))
    assert not broken.holds
    assert "NOT A GUARANTEE" in str(broken)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="delta"):
            make(delta=delta)


@pytest.mark.parametrize("name", ["first", "union", "second", "landmark", "f", "chi"])
def test_vacuous_and_never_nan(name):
    for kl in (1e9, 1e308, math.inf):
        found = BOUNDS[name](kl=kl)
        assert found.vacuous
        assert not math.isnan(found.bound)
        assert "VACUOUS" in str(found)
    assert BOUNDS[name](n=2).vacuous
    with pytest.raises(ValueError, match=r"kl|divergence|NaN"):
        BOUNDS[name](kl=math.nan)
    with pytest.raises(ValueError, match="at least"):
        BOUNDS[name](n=0)


def test_refusals():
    for t in (0.0, -1.0, math.inf, math.nan, (), (1.0, -2.0), "few", True):
        with pytest.raises(ValueError, match="t must be"):
            c.pac_bayes_second_order(0.4, 1.0, 100, t=t)
    for mu in (1.0, 0.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="mu"):
            c.f_divergence(0.4, 1.0, 100, mu)
    for loss in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="empirical"):
            c.pac_bayes_union(loss, 1.0, 100)
    with pytest.raises(ValueError, match="more errors than rows"):
        c.held_out_error(11, 10)
    with pytest.raises(ValueError, match="margins"):
        c.pac_bayes_linear([2.0])
    with pytest.raises(ValueError, match="landmark"):
        c.landmark([0.4, 0.2], [1.0], 10)
    with pytest.raises(ValueError, match="empirical"):
        c.landmark([-0.4, 1.2], [1.0, 1.0], 10)
    with pytest.raises(ValueError, match="kl"):
        c.landmark([0.4, 0.2], [3.0, -1.0], 10)
