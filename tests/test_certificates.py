"""Certificates: values by hand, coverage where the truth is known, and what they refuse to say."""

import json
import math
import pickle

import numpy as np
import pytest

from bochner import certificates as c

BOUNDS = {
    "deviation": lambda **k: c.alignment_deviation(1000, k.pop("rho", 3.0), **k),
    "sampling": lambda **k: c.alignment_sampling(500, k.pop("rho", 3.0), **k),
    "suboptimality": lambda **k: c.alignment_suboptimality(1000, 500, k.pop("rho", 3.0), **k),
    "rademacher": lambda **k: c.alignment_rademacher(1000, k.pop("rho", 3.0), 2.0, **k),
    "risk": lambda **k: c.margin_risk(1000, k.pop("rho", 3.0), 2.0, **k),
}


def best_in_ball(v, rho, p=None):
    """max q'v and its q over the simplex, sum p (q/p)^2 <= 1 + rho: the dual by ternary search.

    v is draws x N; p the base measure, uniform where None.
    """
    v = np.atleast_2d(v)
    p = np.full(v.shape[1], 1 / v.shape[1]) if p is None else p
    span = np.ptp(v, axis=1) + 1e-12
    low, high = v.min(1) - span * (2 + 2 / rho) if rho else v.min(1) - 1e7 * span, v.max(1)

    def dual(eta):
        return np.sqrt((1 + rho) * (np.clip(v - eta[:, None], 0, None) ** 2 @ p)) + eta

    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        left = dual(a) <= dual(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    eta = (low + high) / 2
    q = p * np.clip(v - eta[:, None], 0, None)
    at_most = q.sum(1) <= 1e-9 * span  # uniform on the ties at the maximum
    q[at_most] = p * (v[at_most] >= v[at_most].max(1, keepdims=True) - 1e-9)
    return dual(eta), q / q.sum(1, keepdims=True)


def test_the_slow_truth_solves_the_problem():
    v = np.random.default_rng(0).normal(size=(20, 7))
    for rho in (0.1, 1.0, 4.0):
        value, q = best_in_ball(v, rho)
        np.testing.assert_allclose((q * v).sum(1), value, atol=1e-6)
        assert np.all((7 * q**2).sum(1) <= 1 + rho + 1e-6)


class World:
    """Five kinds of rows, labels of unequal chance, K features with |phi| <= 1: a finite truth."""

    rows = np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    positive = np.array([0.9, 0.2, 0.7, 0.1, 0.95])

    def __init__(self, K=30, seed=1):
        rng = np.random.default_rng(seed)
        self.phi = rng.uniform(-1, 1, (K, 5))
        self.phi[: K // 2] = np.sign(self.phi[: K // 2])
        self.truth = (self.phi @ (self.rows * (2 * self.positive - 1))) ** 2  # T of each feature

    def statistics(self, n, draws, rng):
        """T^ of each feature, pairs i = j left out, draws x K."""
        chances = np.concatenate([self.rows * self.positive, self.rows * (1 - self.positive)])
        counts = rng.multinomial(n, chances, size=draws)
        s = (counts[:, :5] - counts[:, 5:]) @ self.phi.T
        own = (counts[:, :5] + counts[:, 5:]) @ self.phi.T**2
        return c.alignment_statistic(s**2, own, n)


def test_statistic_leaves_out_the_pairs_of_a_row_with_itself():
    rng = np.random.default_rng(2)
    phi, y = rng.normal(size=(6, 4)), rng.choice([-1.0, 1.0], 6)
    slow = [
        sum(y[i] * y[j] * phi[i, m] * phi[j, m] for i in range(6) for j in range(6) if i != j) / 30
        for m in range(4)
    ]
    found = c.alignment_statistic((y @ phi) ** 2, (phi**2).sum(0), 6)
    np.testing.assert_allclose(found, slow, rtol=1e-12)
    average = World().statistics(20, 20_000, rng).mean(0)  # unbiased, as with i = j it would not be
    np.testing.assert_allclose(average, World().truth, atol=0.01)


@pytest.mark.parametrize("rho", [0.0, 1.0, 8.0])
def test_lemma_1_holds(rho):
    world, n, delta = World(), 4000, 0.1
    error = world.statistics(n, 1000, np.random.default_rng(3)) - world.truth
    worst = np.maximum(best_in_ball(error, rho)[0], best_in_ball(-error, rho)[0])
    bound = c.alignment_deviation(n, rho, delta)
    assert not bound.vacuous
    assert np.mean(worst <= bound.bound) >= 1 - delta
    assert np.quantile(worst, 0.9) > bound.bound / 25  # of the right order, not merely large


@pytest.mark.parametrize("rho", [0.0, 0.5, 3.0])
def test_lemma_2_holds(rho):
    world, N, delta, draws = World(12), 60_000, 0.1, 400
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(12))
    F = world.statistics(50, 1, rng)[0]
    whole = best_in_ball(F, rho, p)[0][0]
    drawn = rng.multinomial(N, p, size=draws) / N
    found = np.array([best_in_ball(F[share > 0], rho, share[share > 0])[0][0] for share in drawn])
    bound = c.alignment_sampling(N, rho, delta)
    assert not bound.vacuous
    assert np.mean(np.abs(found - whole) <= bound.bound) >= 1 - delta
    assert np.abs(found - whole).max() > 1e-5


def test_theorem_1_holds_in_its_own_delta():
    world, n, N, rho, delta, draws = World(12), 20_000, 100_000, 1.0, 0.1, 200
    rng = np.random.default_rng(5)
    best = best_in_ball(world.truth, rho)[0][0]
    seen = world.statistics(n, draws, rng)
    drawn = rng.multinomial(N, np.full(12, 1 / 12), size=draws) / N
    q = np.array([best_in_ball(v, rho, share)[1][0] for v, share in zip(seen, drawn, strict=True)])
    bound = c.alignment_suboptimality(n, N, rho, delta)
    assert not bound.vacuous
    assert bound.delta == pytest.approx(3 * delta)
    assert np.mean(np.abs(q @ world.truth - best) <= bound.bound) >= 1 - 3 * delta


def all_signs(n):
    return 1 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 3.0, 15.0])
@pytest.mark.parametrize("sort", ["signs", "uniform", "orthogonal"])
def test_lemma_3_against_all_signs(rho, sort):
    n, N, B = 8, 16, 1.7
    rng = np.random.default_rng(6)
    psi = {
        "signs": rng.choice([-1.0, 1.0], (N, n)),
        "uniform": rng.uniform(-1, 1, (N, n)),
        "orthogonal": np.vstack([all_signs(3) @ all_signs(3).T % 4 - 1] * 2).astype(float),
    }[sort]
    psi = np.clip(psi, -1, 1)
    u = (all_signs(n) @ psi.T) ** 2
    exact = B / n * np.mean(np.sqrt(best_in_ball(u, rho)[0]))
    tight = c.alignment_rademacher(n, rho, B).bound
    assert exact <= tight * (1 + 1e-9)
    assert tight < c.alignment_rademacher(n, rho, B, printed=True).bound
    if sort == "signs":
        assert exact > tight / 2.2  # the tightening leaves little room: a smaller power would fail


def test_fourth_moment_of_lemma_3():
    psi = np.random.default_rng(7).uniform(-1, 1, 8)
    exact = np.mean((all_signs(8) @ psi) ** 4)
    assert exact == pytest.approx(3 * (psi @ psi) ** 2 - 2 * (psi**4).sum())
    assert exact <= np.mean(all_signs(8).sum(1) ** 4) == 3 * 64 - 2 * 8


def test_theorem_2_holds_for_a_rule_that_overfits():
    n, N, rho, B, nu, delta = 400, 20, 1.0, 1.0, 1.0, 0.2
    rng = np.random.default_rng(8)
    failures, gaps = 0, []
    flips = rng.uniform(-1, 1, (N, 5))
    for _ in range(300):
        kinds = rng.integers(0, 5, n)
        y = np.where(rng.random(n) < World.positive[kinds], 1.0, -1.0)
        scores = (flips[:, kinds] @ y) ** 2
        q = best_in_ball(scores, rho)[1][0]
        a = np.sqrt(q) * (flips[:, kinds] @ y)
        h = (B * a / np.linalg.norm(a) * np.sqrt(q)) @ flips
        wrong = np.where(h < 0, World.positive, np.where(h > 0, 1 - World.positive, 0)).mean()
        loss = c.margin_loss(h[kinds], y, nu)
        bound = c.margin_risk(n, rho, B, nu, delta, empirical=loss)
        failures += wrong > bound.bound
        gaps.append(bound.bound - loss)
    assert failures <= 300 * delta
    assert max(gaps) < 0.5  # a bound that says something


def test_values_by_hand():
    log, sqrt = math.log, math.sqrt
    rho, n, N, delta = 200.0, 10_000, 20_000, 0.05
    C, D = 2 * 201 / (sqrt(201) - 1), sqrt(8 * 201)
    lemma_2 = 4 * C * sqrt(log(2 * N) / N) + D * sqrt(log(2 / delta) / N)
    theorem_1 = lemma_2 + 2 * D * sqrt(2 * log(2 / delta) / n)
    found = c.alignment_suboptimality(n, N, rho, delta)
    assert found.bound == pytest.approx(theorem_1, rel=1e-12)
    assert 5.4 < found.bound < 5.6
    assert found.vacuous
    assert found.complexity == pytest.approx(C)
    assert c.alignment_sampling(N, rho, delta).bound == pytest.approx(lemma_2, rel=1e-12)
    t = c.alignment_deviation(n, rho, delta).bound
    assert sqrt(2) * math.exp(-n * t**2 / (16 * 201)) == pytest.approx(delta, rel=1e-10)
    printed = c.alignment_rademacher(n, 3.0, 2.0, printed=True)
    assert printed.bound == pytest.approx(2 * sqrt(8 / n))
    assert c.alignment_rademacher(n, 3.0, 2.0).bound == pytest.approx(2 * 12**0.25 / sqrt(n))
    risk = c.margin_risk(n, 3.0, 2.0, 0.5, 0.1, empirical=0.2)
    R = 2 * 12**0.25 / sqrt(n)
    assert risk.bound == pytest.approx(0.2 + 4 * R + 3 * sqrt(log(20) / (2 * n)))
    assert risk.complexity == pytest.approx(4 * R)


def test_margin_loss_by_hand():
    h, y = np.array([2.0, 0.25, -1.0, -0.1]), np.array([1.0, 1.0, 1.0, -1.0])
    assert c.margin_loss(h, y, 0.5) == pytest.approx((0 + 0.5 + 1 + 0.8) / 4)


@pytest.mark.parametrize("name", BOUNDS)
def test_scale_of_the_features(name):
    unit, fourier = BOUNDS[name](), BOUNDS[name](feature_bound=math.sqrt(2))
    power = {"rademacher": 1, "risk": 1}.get(name, 2)
    if name == "risk":
        assert fourier.complexity == pytest.approx(unit.complexity * math.sqrt(2))
        return
    assert fourier.bound == pytest.approx(unit.bound * math.sqrt(2) ** power)
    assert fourier.vacuous == unit.vacuous
    if power == 2:
        assert fourier.details["unit_bound"] == pytest.approx(unit.bound)


@pytest.mark.parametrize("name", BOUNDS)
def test_what_breaks_an_assumption_is_said(name):
    low = BOUNDS[name](order=1.5)
    assert low.vacuous
    assert low.bound == math.inf
    assert any("k >= 2" in reason for reason in low.broken)
    unbounded = BOUNDS[name](feature_bound=math.inf)
    assert unbounded.vacuous
    assert not unbounded.holds
    assert "NOT A GUARANTEE" in str(unbounded)
    assert BOUNDS[name]().holds


def test_centred_targets_break_the_rows_part_only():
    for name in ("deviation", "suboptimality"):
        plain, centred = BOUNDS[name](), BOUNDS[name](centered=True)
        assert centred.bound == plain.bound
        assert plain.holds
        assert not centred.holds
        assert "centred targets" in str(centred)
    with pytest.raises(TypeError):
        BOUNDS["sampling"](centered=True)


def test_vacuous_flags_turn_at_what_is_known_without_data():
    flags = [c.alignment_deviation(n, 3.0, 0.05) for n in range(2, 200)]
    assert [f.vacuous for f in flags] == [f.bound >= 2 for f in flags]
    assert flags[0].vacuous
    assert not flags[-1].vacuous
    assert c.alignment_rademacher(3, 2.0, 1.0).vacuous  # (3 * 3)^(1/4) / sqrt(3) = 1
    assert not c.alignment_rademacher(4, 2.0, 1.0).vacuous
    assert c.margin_risk(100, 0.0, 1.0, empirical=0.9).vacuous
    assert not c.margin_risk(10_000, 0.0, 1.0, empirical=0.5).vacuous


def test_gap_adds_up():
    exact, rough = BOUNDS["suboptimality"](), BOUNDS["suboptimality"](gap=0.25)
    assert rough.bound == pytest.approx(exact.bound + 0.25)
    scaled = BOUNDS["suboptimality"](gap=0.25, feature_bound=2.0)
    assert scaled.bound == pytest.approx(4 * exact.bound + 0.25)


def test_radius_zero_is_finite_and_never_nan():
    at_zero = c.alignment_sampling(10_000, 0.0, 0.05)
    assert at_zero.bound == pytest.approx(math.sqrt(8 * math.log(40) / 10_000))
    for rho in (0.0, 1e-320, 1e-12, 1e300):
        for bound in BOUNDS.values():
            found = bound(rho=rho)
            assert not math.isnan(found.bound)
            assert found.bound >= 0
    with pytest.raises(ValueError, match="NaN"):
        c.Certificate("x", math.nan, None, 1.0, 0.1, "q", (), True)


@pytest.mark.parametrize("name", BOUNDS)
def test_three_lines_a_dict_and_a_pickle(name):
    found = BOUNDS[name]()
    assert len(str(found).splitlines()) == 3
    assert f"{found.bound:.4g}" in str(found)
    as_dict = json.loads(json.dumps(found.to_dict()))
    assert as_dict["bound"] == found.bound
    assert as_dict["vacuous"] == found.vacuous
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    assert json.loads(json.dumps(BOUNDS[name](order=1.5).to_dict()))["bound"] is None
    with pytest.raises(AttributeError):
        found.bound = 0.0
    with pytest.raises(TypeError):
        found.details["n"] = 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: c.alignment_deviation(1, 1.0), "n must be at least 2"),
        (lambda: c.alignment_deviation(10, -0.1), "rho must be >= 0"),
        (lambda: c.alignment_deviation(10, math.nan), "rho"),
        (lambda: c.alignment_deviation(10, math.inf), "rho must be finite"),
        (lambda: c.alignment_deviation(10, 1.0, 0.0), "delta must be above 0"),
        (lambda: c.alignment_deviation(10, 1.0, 1.0), "delta must be above 0"),
        (lambda: c.alignment_suboptimality(10, 10, 1.0, 0.34), "1/3"),
        (lambda: c.alignment_suboptimality(10, 10, 1.0, gap=-1.0), "gap must be >= 0"),
        (lambda: c.alignment_sampling(0, 1.0), "n_candidates must be at least 1"),
        (lambda: c.alignment_deviation(10, 1.0, order=1.0), "order must be > 1"),
        (lambda: c.alignment_deviation(10, 1.0, feature_bound=0.0), "feature_bound must be > 0"),
        (lambda: c.alignment_rademacher(10, 1.0, -1.0), "norm must be >= 0"),
        (lambda: c.margin_risk(10, 1.0, 1.0, 0.0), "margin must be > 0"),
        (lambda: c.margin_risk(10, 1.0, 1.0, empirical=1.5), "margin_loss"),
        (lambda: c.alignment_statistic(np.ones(3), np.ones(2), 5), "one of each"),
        (lambda: c.margin_loss(np.ones(2), np.array([0.0, 1.0])), "-1 and"),
    ],
)
def test_bad_input_is_answered_with_advice(call, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        call()


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="n must be a whole number"):
        c.alignment_deviation(10.5, 1.0)
    with pytest.raises(TypeError, match="delta must be a number"):
        c.alignment_deviation(10, 1.0, "0.05")
    with pytest.raises(TypeError, match="rho must be a number"):
        c.alignment_deviation(10, True)
