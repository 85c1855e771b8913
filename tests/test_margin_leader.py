"""The leader of the margin game: no duality gap on its own mixture, and frequencies that return."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import KernelClassifier, LearnedFeatures
from bochner.datasets import make_windmill
from bochner.families import Gaussian, Linear
from bochner.learners import MarginSearch
from bochner.learners.margin import leader
from bochner.learners.margin.games import Squared, SquaredHinge
from bochner.learners.margin.l2_svm import l2_svm
from bochner.learners.margin.path import Play
from bochner.learners.margin.search import Sample, nearest
from make import rng, rows

PAIR = Gaussian("median", form="pair")
SMALL = {"chains": 12, "steps": 15, "per_round": 3, "rows": 200}
X = rows(300, 2)
Y = (np.cos(3.0 * X[:, 0]) > 0).astype(int)


def search(m=24, y=Y, seed=0, family=PAIR, weight=None, **settings):
    learner = MarginSearch(**{**SMALL, **settings})
    task = "regression" if np.asarray(y).dtype.kind == "f" else "classification"
    model = LearnedFeatures(family, learner, n_components=m, random_state=seed, task=task)
    return model.fit(X, y, sample_weight=weight)


def value(model):
    """F(a, mixture) of the weights in the end, and the value P that the last round reports."""
    path = model.selection_.path
    play, g = path.plays[0], path.plays[0].game
    waves = X @ path.frequencies.T  # all found, of which the map has the first
    share = np.sqrt(path.counts() / len(path.order))
    S = np.hstack([np.cos(waves) * share, np.sin(waves) * share]).T
    S = S @ (g.weight * g.coefficients(play.a))
    return g.linear(play.a) - 0.5 * g.square(play.a) - 0.5 * S @ S, path.rounds[-1].upper


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("y", [Y, np.cos(3.0 * X[:, 0])], ids=["classes", "amounts"])
@pytest.mark.parametrize("repeats", [False, True])
def test_the_leader_leaves_no_duality_gap_on_its_mixture(C, y, repeats):
    weight = rng(3).integers(1, 4, len(X)).astype(float)
    dual, primal = value(search(y=y, C=C, repeats=repeats, weight=weight))
    assert dual == pytest.approx(primal, rel=1e-4)
    assert dual <= primal * (1 + 1e-9)


def test_class_weights_reach_the_leader():
    dual, primal = value(search(class_weight={0: 1.0, 1: 5.0}))
    assert dual == pytest.approx(primal, rel=1e-4)


def test_weights_of_the_leader_are_a_point_of_the_dual_set():
    play = search().selection_.path.plays[0]
    assert play.a.min() >= 0
    assert abs(play.game.y @ play.a) < 1e-9 * play.a.sum()
    assert np.count_nonzero(play.a) < len(X)  # rows beyond their margin have no weight at all


def test_the_gap_closes_faster_than_by_gradient_ascent():
    gaps = {
        how: search(
            m=120, loss="squared_hinge", dynamics=how, repeats=True
        ).selection_.path.figures("gap")[-1]
        for how in ("leader", "no_regret")
    }
    assert 0 <= gaps["leader"] < 0.5 * gaps["no_regret"]


def test_a_sample_of_the_columns_serves_all_rows(monkeypatch):
    whole = search(m=12)
    monkeypatch.setattr(leader, "BYTES", 120 * (12 + 2) * 8)  # 120 rows of 300
    part = search(m=12)
    assert part.selection_.path.plays[0].a.shape == (300,)
    dual, primal = value(part)
    assert dual <= primal * (1 + 1e-9)  # values of all rows, at the head of a few
    assert dual < 0.999 * primal  # which are not its optimum
    assert np.all(part.selection_.path.figures("gap") >= 0)
    assert primal < 1.5 * value(whole)[1]


def test_a_leader_goes_on_where_it_stopped():
    first = search(m=12)
    more = search(m=24, start=first.selection_)
    W, V = (model.feature_map_.atoms["frequencies"] for model in (first, more))
    assert_array_equal(W, V[:6])
    dual, primal = value(more)
    assert dual == pytest.approx(primal, rel=1e-4)


def test_classes_have_leaders_of_their_own_on_shared_columns():
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    plays = search(m=36, y=y).selection_.path.plays
    assert all(play.scores is not None for play in plays)
    model = KernelClassifier(
        PAIR, MarginSearch(**SMALL), n_components=36, random_state=0, preprocess=None
    )
    assert model.fit(X, y).score(X, y) > 0.93


def test_frequencies_return_and_become_heavier():
    model = search(m=80, repeats=True)
    path, fm = model.selection_.path, model.feature_map_
    assert len(path.order) >= 40
    counts = path.counts(40)
    kept = counts[counts > 0]
    assert len(kept) < 40  # one wave: the same peaks are best again and again
    assert kept.max() >= 3
    assert_allclose(fm.weights**2, np.repeat(kept, 2) / 80)
    assert fm.n_features == 2 * len(kept)
    W = path.frequencies
    for i in range(1, len(W)):
        assert nearest(W[i : i + 1], W[:i])[1][0] * model.selection_.stats["L"] >= 0.1


def test_a_turn_of_the_game_played_twice_counts_twice():
    y, w = np.where(Y == 1, 1.0, -1.0), np.ones(len(X))
    phi = rows(len(X), 2, 5)
    twice, one = (Play.begin(SquaredHinge(y, w, 1.0)) for _ in range(2))
    S = phi.T @ (y * twice.a)
    f, v = phi @ S, np.array([S @ S])
    twice.add(2.0 * f, v, v[0], np.array([2.0]))
    one.add(f + f, np.array([v[0], v[0]]), v[0])
    assert_allclose(twice.a, one.a)
    assert (twice.V, twice.count) == (one.V, one.count)


def test_a_lower_value_that_a_missed_peak_made_is_given_up():
    y, w = np.where(Y == 1, 1.0, -1.0), np.ones(len(X))
    play = Play.begin(SquaredHinge(y, w, 1.0))
    a = play.a
    play.lead(a, 0 * y, 0.0, 1e9)  # nothing found: far too high
    high = play.lower
    play.lead(a, 0 * y, 1e4, 0.5 * high)
    assert play.lower == pytest.approx(min(play.game.lower(a, 1e4), 0.5 * high))


@pytest.mark.parametrize("kind", [SquaredHinge, Squared])
def test_bend_is_the_second_derivative_of_the_loss(kind):
    y = np.where(Y == 1, 1.0, -1.0)
    g = kind(y, rng(1).random(len(y)), 0.7)
    f, d = 0.5 * rng(2).standard_normal(len(y)), rng(4).standard_normal(len(y))
    h = 1e-5
    numeric = (g.loss(f + h * d) - 2 * g.loss(f) + g.loss(f - h * d)) / h**2
    assert g.bend(f) @ d**2 == pytest.approx(numeric, rel=1e-3)


@pytest.mark.parametrize(("n", "M"), [(60, 5), (60, 200)], ids=["rows", "columns"])
@pytest.mark.parametrize("begin", [0.0, 3.0])
def test_the_l2_svm_is_at_its_optimum(n, M, begin):
    Z, w = rows(n, M, 1), rng(2).integers(0, 4, n).astype(float)
    y = np.where(Z[:, 0] + rng(3).standard_normal(n) > 0.3, 1.0, -1.0)
    found = l2_svm(Z, y, w, begin * rng(4).standard_normal(M), begin)
    assert_allclose(found.f, Z @ found.theta + found.b, atol=1e-10)
    r = w * y * np.maximum(1.0 - y * found.f, 0.0)
    assert_allclose(found.theta, Z.T @ r, atol=1e-7)  # the gradient in theta, and in b
    assert abs(r.sum()) < 1e-7 * np.abs(r).sum()


def test_within_a_round_each_answers_those_before_it():
    """Twins of a frequency are not taken while something else is left to explain."""
    y = np.sign(np.cos(3.0 * X[:, 0]) + 0.9 * np.cos(5.0 * X[:, 1]))
    game = SquaredHinge(y, np.ones(len(y)), 1.0)
    sample = Sample(X, np.arange(len(y)), game.weight, y * game.start())
    W = np.array([[3.0, 0.0], [3.0, 0.01], [3.01, 0.0], [0.0, 5.0]])
    taken = leader.followed(game, np.zeros(len(y)), sample, W, 2, 0, 1.0, False)
    assert set(taken) & {0, 1, 2}
    assert 3 in taken


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dynamics": "leader", "loss": "hinge"}, "strongly concave"),
        ({"dynamics": "optimistic"}, "use one of"),
        ({"dynamics": "leader", "family": Linear(), "m": 2}, "use one of"),
        ({"repeats": "yes"}, "True or False"),
        ({"polish": 1}, "True or False"),
        ({"class_weight": {7: 2.0}}, r"class_weight has \[7\].*0 to 1"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        search(**settings)


def test_a_search_goes_on_only_from_the_same_game():
    first = search(m=6)
    other = {"C": 2.0}, {"loss": "hinge"}, {"dynamics": "no_regret", "loss": "squared_hinge"}
    for settings in (*other, {"class_weight": {0: 1.0, 1: 2.0}}, {"weight": 2.0 * np.ones(300)}):
        with pytest.raises(ValueError, match=r"same rows.*these are others"):
            search(m=12, start=first.selection_, **settings)
    learner = MarginSearch(**SMALL, start=first.selection_)
    with pytest.raises(ValueError, match=r"same rows.*these are others"):
        LearnedFeatures(PAIR, learner, n_components=12, random_state=0).fit(X + 0.01, Y)


def test_numbers_too_large_for_distances_are_refused_as_such():
    with pytest.raises(ValueError, match=r"as large as .*e\+2.*RobustScaler"):
        LearnedFeatures(
            Gaussian(1.0, form="pair"), MarginSearch(**SMALL), n_components=4, random_state=0
        ).fit(1e299 * X, Y)


@pytest.mark.parametrize("seed", [0, 1])
def test_more_chains_find_the_scale_where_peaks_are_needles(seed):
    """33 times the length of the disk: of a few chains none would come near."""
    rows_2d, y = make_windmill(1000, random_state=[seed, 0])
    learner = MarginSearch(chains=256, per_round=1, repeats=True)
    found = LearnedFeatures(PAIR, learner, n_components=2, random_state=seed).fit(rows_2d, y)
    reached = found.selection_.stats["reached"]
    assert found.selection_.stats["scale"] in (8.0, 16.0)
    assert max(reached.values()) > 5.0 * np.median(list(reached.values()))
