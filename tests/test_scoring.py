"""``scoring=``: every inner choice is by the score that was asked for."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, median_absolute_error
from sklearn.model_selection import PredefinedSplit

from bochner import KernelClassifier, KernelRegressor, LearnedFeatures
from bochner.families import Gaussian
from bochner.learners import Alignment, Greedy, MarginSearch, PseudoPosterior
from bochner.learners.base import Task
from bochner.learners.scoring import Scoring
from bochner.linear import Ridge
from make import rng, rows

X = rows(400, 3)
CLASSES = {2: np.array(["no", "yes"]), 3: np.array(["a", "b", "c"])}
Y = {
    2: CLASSES[2][(X[:, 0] + 0.7 * rng(1).standard_normal(400) > 0.6).astype(int)],
    3: CLASSES[3][(X[:, 0] > 0.5).astype(int) + (X[:, 1] + X[:, 2] > 0.8)],
}
T = np.sin(2 * X[:, 0]) + 0.3 * rng(2).standard_normal(400)
HELD = rng(3).random(400) < 0.3
CV = PredefinedSplit(np.where(HELD, 0, -1))


def scoring_of(given, C):
    return Scoring(given, Task("classification", C, tuple(CLASSES[C].tolist())))


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize(
    "name", ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr"]
)
def test_an_error_is_minus_what_scikit_learn_says_of_the_model(name, C):
    if C == 2 and name == "roc_auc_ovr":
        name = "roc_auc"
    model = LogisticRegression().fit(X, Y[C])
    raw, index = model.decision_function(X).reshape(400, -1), np.searchsorted(CLASSES[C], Y[C])
    w = rng(4).integers(0, 4, 400).astype(float)
    ours = scoring_of(name, C).error(raw, index.astype(float), w, logistic=True)
    assert_allclose(ours, -get_scorer(name)(model, X, Y[C], sample_weight=w), rtol=1e-9)
    signs = np.where(index[:, None] == ([1] if C == 2 else np.arange(C)), 1.0, -1.0)
    assert scoring_of(name, C).error(raw, signs, w, logistic=True) == ours


def test_a_score_without_weights_sees_a_row_of_weight_two_twice():
    def score(model, X, y):
        return -median_absolute_error(y, model.predict(X)) * len(y)

    raw, w = X[:, :1], np.array([1.0, 2.0, 0.0, 3.0] * 100)
    twice = np.repeat(np.arange(400), w.astype(int))
    scoring = Scoring(score, Task("regression"))
    assert scoring.error(raw, T, w) == scoring.error(raw[twice], T[twice], np.ones(len(twice)))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        scoring.error(raw, T, w + 0.5)


@pytest.mark.parametrize("name", [None, "r2", "neg_mean_absolute_error", "max"])
def test_ridge_takes_the_alpha_that_a_search_on_the_same_rows_takes(name):
    scoring = {"max": lambda m, X, y: -np.max(np.abs(m.predict(X) - y))}.get(name, name)
    model = KernelRegressor(
        Gaussian(0.7), n_components=40, cv=CV, scoring=scoring, random_state=0
    ).fit(X, T)
    alphas, score = model.model_.path.alphas, get_scorer(scoring or "neg_mean_squared_error")
    phi = model.feature_map_(_treated(model))
    brute = [
        score(SklearnRidge(alpha, solver="svd").fit(phi[~HELD], T[~HELD]), phi[HELD], T[HELD])
        for alpha in alphas
    ]
    chosen = brute[int(np.argmin(np.abs(alphas - model.model_.stats["alpha"])))]
    assert chosen >= max(brute) - 1e-6 * abs(max(brute))
    assert np.ptp(brute) > 1e-3 * abs(max(brute))  # there was a choice to make


def _treated(model):
    from bochner.rows import Block

    return model.treatment_(Block(X)).X


def test_ridge_classifies_by_the_score_and_leaves_groups_whole():
    groups = np.repeat(np.arange(40), 10)
    seen = []

    def score(model, raw, y):
        seen.append(len(y))
        return accuracy_score(y, model.predict(raw))

    model = KernelClassifier(head=Ridge("auto"), n_components=16, scoring=score, random_state=0)
    model.fit(X, Y[3], groups=groups)
    assert len(seen) == len(model.model_.path.alphas)
    assert set(seen) <= set(range(60, 160, 10))  # about a quarter of the rows, in tens
    assert clone(model).scoring is score


def test_by_itself_ridge_leaves_one_out():
    model = KernelRegressor(n_components=16, random_state=0).fit(X, T)
    assert model.model_.stats["alpha"] == model.model_.path.best


@pytest.mark.parametrize("learner", [Alignment(), PseudoPosterior()])
def test_learners_take_the_candidate_of_the_best_score(learner):
    options = {"n_candidates": 64, "n_components": 8, "cv": CV, "random_state": 0}
    kinds = {}
    for C in (2, 3):
        for scoring in (None, "accuracy", make_scorer(accuracy_score, greater_is_better=False)):
            model = LearnedFeatures(Gaussian(0.5), learner, scoring=scoring, **options)
            stats = model.fit(X, Y[C]).selection_.stats
            grid, errors = stats.get("radii", stats.get("betas")), stats["errors"]
            assert stats.get("radius", stats.get("beta")) == grid[np.argmin(errors)]
            kinds[C, scoring if isinstance(scoring, str) else scoring is None] = errors
        assert np.all((kinds[C, "accuracy"] <= -0.3) & (kinds[C, "accuracy"] >= -1.0))
        # the least over the penalties of minus accuracy, and of accuracy: another choice
        assert np.all(kinds[C, False] <= -kinds[C, "accuracy"] + 1e-12)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("C", [2, 3])
def test_greedy_records_the_score_of_each_size(loss, C):
    learner = Greedy(loss=loss, validation=True)
    model = LearnedFeatures(
        Gaussian(0.7), learner, n_candidates=60, n_components=6, cv=CV, scoring="accuracy"
    )
    model.set_params(random_state=0).fit(X, Y[C])
    path = model.selection_.path
    for i in (0, 5):
        M = int(path.sizes[i])
        phi = model.feature_map_.truncate(M)(X[HELD])
        raw = np.asarray(phi) @ path.coefs[i].T + path.intercepts[i]
        index = (raw[:, 0] > 0).astype(int) if C == 2 else raw.argmax(axis=1)
        assert_allclose(path.held_out[i], -np.mean(CLASSES[C][index] == Y[C][HELD]), atol=1e-12)
    best = int(np.argmin(path.held_out))
    p, n = -path.held_out[best], HELD.sum()
    assert 0.5 < path.errors[best] / np.sqrt(p * (1 - p) / n) < 2.0  # a mean: known in closed form


def test_probabilities_are_there_for_a_logistic_loss_alone():
    def fit(learner):
        model = LearnedFeatures(Gaussian(0.7), learner, n_candidates=40, scoring="neg_log_loss")
        return model.set_params(random_state=0).fit(X, Y[2])

    assert fit(Greedy()).selection_.path.held_out.min() > 0
    with pytest.raises(ValueError, match="no probabilities"):
        fit(Alignment())


def test_early_stop_is_by_the_score():
    better = itertools.count()
    sizes = []
    for score in (lambda *_: float(next(better)), lambda *_: 0.5):
        learner = MarginSearch(early_stop=True)
        model = LearnedFeatures(n_components=32, learner=learner, scoring=score, random_state=0)
        sizes.append(model.fit(X, Y[2]).feature_map_.n_features)
    assert sizes[0] == 32  # it never stops getting better
    assert sizes[1] < 16


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("acuracy", "did you mean 'accuracy'"),
        (3, "callable"),
        (["accuracy"], "callable"),
        (accuracy_score, "make_scorer"),
        ("r2", "cannot judge|could not convert"),
        (lambda m, X, y: np.nan, "finite number"),
    ],
)
def test_what_is_no_score_is_refused_with_advice(given, said):
    model = LearnedFeatures(Gaussian(1.0), Alignment(), n_components=8, scoring=given)
    with pytest.raises(ValueError, match=said):
        model.fit(X, Y[2])
    assert not hasattr(model, "feature_map_")
