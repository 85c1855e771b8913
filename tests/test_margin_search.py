"""`MarginSearch`: laws of the search, brackets of the game, every source, and refusals."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import naive_margin as naive
from bochner import KernelClassifier, KernelRegressor, LearnedFeatures, scan
from bochner.families import ArcCosine, Gaussian, Laplace
from bochner.learners import MarginSearch
from bochner.learners.margin import project_dual
from make import rng, rows

PAIR = Gaussian("median", form="pair")
SMALL = {"chains": 12, "steps": 15, "per_round": 3, "rows": 200}


def rings(n=400, d=2, seed=0):
    """Two classes by a wave along one direction: no linear model gets them."""
    X = rows(n, d, seed)
    return X, (np.cos(3.0 * X[:, 0]) > 0).astype(int)


X, Y = rings()


def search(X=X, y=Y, m=12, seed=0, family=PAIR, weight=None, task="classification", **settings):
    learner = MarginSearch(**{**SMALL, **settings})
    model = LearnedFeatures(family, learner, n_components=m, random_state=seed, task=task)
    return model.fit(X, y, sample_weight=weight)


def figures(model, name):
    return model.selection_.path.figures(name)


def head_score(model, X=X, y=Y, seed=9):
    """Accuracy on fresh rows of ridge regression on the features."""
    fresh, labels = rings(seed=seed)
    phi = model.transform(X)
    G = phi.T @ phi + 1e-3 * np.eye(phi.shape[1])
    coef = np.linalg.solve(G, phi.T @ (2.0 * y - 1.0))
    return np.mean((model.transform(fresh) @ coef > 0) == labels)


@pytest.mark.parametrize("form", ["pair", "phase"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_it_finds_the_wave(form, loss):
    model = search(family=Gaussian("median", form=form), loss=loss)
    assert head_score(model) > 0.93
    drawn = LearnedFeatures(PAIR, "uniform", n_components=12, random_state=0).fit(X)
    assert head_score(drawn) < 0.85
    W = model.feature_map_.atoms["frequencies"]
    assert np.abs(np.abs(W[0]) - [3.0, 0.0]).max() < 0.4


def test_the_first_round_reports_the_potential_it_reached():
    model = search(m=2, per_round=1)
    y = np.where(Y == 1, 1.0, -1.0)
    a = project_dual(np.ones(len(y)), y)
    w = model.feature_map_.atoms["frequencies"][0]
    v = naive.potential(X, a * y, w) / a.sum() ** 2
    assert figures(model, "v")[0] == pytest.approx(v, rel=1e-10)


def test_the_brackets_hold_and_are_of_the_right_kind():
    for loss in ("hinge", "squared_hinge"):
        model = search(m=60, loss=loss)
        lower, upper = figures(model, "lower"), figures(model, "upper")
        assert np.all(lower <= upper)
        assert np.all(np.diff(lower) >= 0)
        assert np.all(lower > 0)
        assert np.all(np.isfinite(upper))
        assert_allclose(figures(model, "gap"), upper - lower)


def test_a_prefix_is_the_search_for_fewer():
    many, few = search(m=12), search(m=6)
    assert_array_equal(
        many.feature_map_.atoms["frequencies"][:3], few.feature_map_.atoms["frequencies"]
    )
    assert_allclose(many.feature_map_.truncate(6)(X) * np.sqrt(2), few.feature_map_(X), atol=1e-12)
    assert many.selection_.scores is None
    assert many.selection_.weights is None


def test_a_search_goes_on_where_one_stopped():
    first = search(m=6)
    before = pickle.dumps(first.selection_)
    more = search(m=18, start=first.selection_)
    assert pickle.dumps(first.selection_) == before
    frequencies = more.feature_map_.atoms["frequencies"]
    assert_array_equal(frequencies[:3], first.feature_map_.atoms["frequencies"])
    assert len(frequencies) == 9
    assert head_score(more) >= head_score(first) - 0.02
    with pytest.raises(ValueError, match="same rows"):
        search(y=1 - Y[::-1], m=18, start=first.selection_)


@pytest.mark.parametrize("method", ["momentum", "langevin"])
def test_units_of_the_rows_cancel(method):
    one, other = (search(X=s * X, method=method, rows=400) for s in (1.0, 1e3))
    W, V = (model.feature_map_.atoms["frequencies"] for model in (one, other))
    assert_allclose(1e3 * V, W, rtol=1e-5, atol=1e-6)
    assert_allclose(figures(one, "v"), figures(other, "v"), rtol=1e-6)


def test_repeated_rows_change_nothing_but_the_noise():
    once, thrice = search(), search(X=np.repeat(X, 3, axis=0), y=np.repeat(Y, 3))
    assert_allclose(figures(once, "v")[0], figures(thrice, "v")[0], rtol=0.02)
    copies = np.repeat(X, 3, axis=0), np.repeat(Y, 3)
    assert head_score(thrice, *copies) == pytest.approx(head_score(once), abs=0.04)


def test_a_row_of_weight_two_is_the_row_twice():
    w = rng(3).integers(1, 3, len(X))
    weighted = search(weight=w.astype(float))
    twice = search(X=np.repeat(X, w, axis=0), y=np.repeat(Y, w))
    for name in ("v", "lower", "upper", "gradient"):
        assert_allclose(figures(weighted, name), figures(twice, name), rtol=1e-5)


@pytest.mark.parametrize("chains", [8, 24])
def test_the_number_of_chains_changes_nothing_but_the_noise(chains):
    model = search(chains=chains)
    assert figures(model, "v")[0] == pytest.approx(figures(search(), "v")[0], rel=0.03)
    assert head_score(model) > 0.9


def same(one, other, rtol=1e-5):
    W, V = (model.feature_map_.atoms["frequencies"] for model in (one, other))
    assert_allclose(V, W, rtol=rtol, atol=1e-6)
    assert_allclose(figures(one, "upper"), figures(other, "upper"), rtol=rtol)


def test_chunks_files_and_sparse_rows_agree(tmp_path):
    whole = search()
    parts = scan(X, target=Y, block_bytes=1000)
    same(whole, search(X=parts, y=None))
    same(whole, search(X=sparse.csr_array(X)))
    same(whole, search())


def test_dask_agrees():
    array = pytest.importorskip("dask.array")
    chunked = array.from_array(X, chunks=(90, 2))
    same(search(), search(X=chunked, y=array.from_array(Y, chunks=90)))


def test_a_source_without_order_is_refused():
    source = scan(X, target=Y)
    source.stable_order = False
    with pytest.raises(ValueError, match="stable order"):
        search(X=source, y=None)


def test_no_two_frequencies_are_one_peak():
    model = search(m=40)
    W = model.feature_map_.atoms["frequencies"]
    between = np.minimum(*(np.linalg.norm(W[:, None] - s * W[None], axis=2) for s in (1, -1)))
    between[np.diag_indices(len(W))] = np.inf
    assert np.median(between.min(axis=1)) * model.selection_.stats["L"] > 0.1


def test_more_classes_play_in_turn():
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    model = search(y=y, m=36)
    assert_array_equal(figures(model, "game")[:6], [0, 1, 2, 0, 1, 2])
    assert len(model.selection_.stats["gap"]) == 3
    score = (
        KernelClassifier(
            PAIR, MarginSearch(**SMALL), n_components=36, random_state=0, preprocess=None
        )
        .fit(X, y)
        .score(X, y)
    )
    assert score > 0.93


def test_amounts():
    y = np.cos(3.0 * X[:, 0]) + 0.1 * rng(5).standard_normal(len(X))
    model = KernelRegressor(
        PAIR, MarginSearch(**SMALL), n_components=12, random_state=0, preprocess=None
    ).fit(X, y)
    fresh = rows(400, 2, 8)
    assert np.mean((model.predict(fresh) - np.cos(3.0 * fresh[:, 0])) ** 2) < 0.05
    found = model.selection_.path
    assert np.all(found.figures("lower") <= found.figures("upper"))


def test_class_weights_are_factors_on_the_box():
    y = (rng(4).random(400) < 0.2).astype(int)
    same(
        search(y=y, class_weight={0: 1.0, 1: 4.0}),
        search(y=y, class_weight={0: 1.0, 1: 4.0}, C=1.0),
    )
    model = search(y=y, class_weight="balanced", m=2, per_round=1)
    game = model.selection_.path.plays[0].game
    assert game.C[y == 1].sum() == pytest.approx(game.C[y == 0].sum())


def test_early_stop():
    model = search(m=600, early_stop=True)
    assert model.selection_.status == "early stop"
    assert 6 <= model.feature_map_.n_features < 600


def test_a_callback_stops_and_keeps_what_there_is():
    seen = []

    def stop(event):
        if event.unit == "steps":
            seen.append(event.info)
            return len(seen) == 2
        return False

    model = LearnedFeatures(
        PAIR, MarginSearch(**SMALL), n_components=12, random_state=0, callback=stop
    ).fit(X, Y)
    assert 2 <= model.feature_map_.n_features <= 12
    assert model.selection_.status == "stopped"
    assert {"gap", "v", "margin"} <= set(seen[0])


def test_the_settings_stay_and_the_seed_decides():
    learner = MarginSearch(**SMALL)
    before = clone(learner).get_params()
    same(search(), search())
    assert learner.get_params() == before
    W, V = (search(seed=s).feature_map_.atoms["frequencies"] for s in (0, 1))
    assert not np.array_equal(W, V)


def test_constant_columns_and_single_precision():
    wide = np.column_stack([X, np.full(len(X), 7.0)]).astype(np.float32)
    model = search(X=wide)
    assert model.feature_map_.atoms["frequencies"].dtype == np.float32
    assert head_score_of(model, wide) > 0.93


def head_score_of(model, X):
    phi = model.transform(X).astype(float)
    coef = np.linalg.lstsq(phi, 2.0 * Y - 1.0, rcond=None)[0]
    return np.mean((phi @ coef > 0) == Y)


REFUSED = [
    ({"C": 0.0}, "above zero"),
    ({"C": -1.0}, "above zero"),
    ({"chains": 0}, "whole number"),
    ({"steps": 1.5}, "whole number"),
    ({"init_scale": 0.0}, "above zero"),
    ({"temperature": -1.0}, ">= 0"),
    ({"band": 0.0}, "above zero"),
    ({"loss": "hinges"}, "Did you mean 'hinge'"),
    ({"method": "sgd"}, "momentum"),
    ({"loss": "squared"}, "for amounts"),
    ({"class_weight": {0: -1.0}}, "above zero"),
    ({"class_weight": "even"}, "balanced"),
    ({"start": 3}, "selection_ of an earlier"),
    ({"family": Laplace("median", form="pair"), "m": 5}, "two columns"),
    ({"family": ArcCosine(1), "search": "peaks"}, "does not have"),
    ({"y": np.zeros(len(X), int)}, "at least two classes"),
    ({"X": np.ones((400, 2)), "family": Gaussian(1.0, form="pair")}, "rows that differ"),
    ({"task": "regression", "loss": "hinge", "y": X[:, 0]}, "for classes"),
    ({"task": "regression", "y": np.ones(400)}, "targets that differ"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        search(**settings)
