"""`Greedy`: against orthogonal_mp and brute force, optimality of each refit, laws, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression, orthogonal_mp
from sklearn.model_selection import PredefinedSplit

import naive_greedy as naive
from bochner import KernelClassifier, KernelRegressor, LearnedFeatures, scan
from bochner.families import ArcCosine, Gaussian, Linear, Union
from bochner.learners import Greedy
from make import rng, rows

N, M = 40, 12
X = rows(300, N)
T = X[:, :15] @ rng(1).standard_normal(15) + 0.1 * rng(2).standard_normal(300) + 5.0
Y2 = (T > 5.5).astype(int)
Y3 = np.digitize(T, [3.0, 7.0])
AMOUNT, CLASSES = {"task": "regression"}, {"task": "classification"}


def fit(X, y, learner=None, family="linear", M=M, weight=None, **options):
    model = LearnedFeatures(family, learner or Greedy(), n_components=M, random_state=0, **options)
    return model.fit(X, y, weight)


def support(model):
    return model.selection_.stats["columns"]


def predicted(model, X, i=-1):
    """Scores of the i-th model of the path, from the features of its own size."""
    path, size = model.selection_.path, int(model.selection_.path.sizes[i])
    Z = model.feature_map_.truncate(size)(X)
    return Z @ path.coefs[i].T + path.intercepts[i]


class TestSquared:
    @pytest.mark.parametrize("normalise", [False, True])
    def test_as_orthogonal_mp(self, normalise):
        """Centred columns of length one: support and coefficients as scikit-learn's."""
        Z = (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0), axis=0)
        model = fit(Z, T, Greedy(normalise=normalise), **AMOUNT)
        slow = orthogonal_mp(Z, T - T.mean(), n_nonzero_coefs=M, precompute=True)
        coef = np.zeros(N)
        coef[support(model)] = model.selection_.path.coefs[-1][0] * model.feature_map_.weights
        assert_array_equal(np.sort(support(model)), np.flatnonzero(slow))
        assert_allclose(coef, slow, atol=1e-8)

    @pytest.mark.parametrize("options", [{}, {"normalise": False}, {"fit_intercept": False}])
    @pytest.mark.parametrize("alpha", [0.0, 0.3])
    @pytest.mark.parametrize("per_step", [1, 3])
    def test_as_slow_pursuit(self, options, alpha, per_step):
        scale = 10.0 ** rng(3).uniform(-2, 2, N)
        learner = Greedy(per_step, alpha=alpha, **options)
        model = fit(X * scale + 1.0, T, learner, **AMOUNT)
        slow = naive.pursuit(X * scale + 1.0, T, M, learner)
        assert_array_equal(support(model), slow.columns)
        assert_allclose(predicted(model, X * scale + 1.0)[:, 0], slow.predicted, rtol=1e-7)

    def test_every_size_is_the_fit_that_stops_there(self):
        path = fit(X, T, Greedy(per_step=4), **AMOUNT).selection_.path
        assert_array_equal(path.sizes, np.arange(1, M + 1))
        for size in (1, 4, 7):
            short = fit(X, T, Greedy(per_step=4), M=size, **AMOUNT)
            assert_allclose(path.risks[size - 1], short.selection_.path.risks[-1])
            root = np.sqrt(M / size)  # columns of a map are divided by the root of their number
            assert_allclose(path.coefs[size - 1], short.selection_.path.coefs[-1] * root)

    def test_risks_are_those_of_the_models(self):
        model = fit(X, T, **AMOUNT)
        for i in (0, 5, M - 1):
            residual = T - predicted(model, X, i)[:, 0]
            assert_allclose(model.selection_.path.risks[i], np.mean(residual**2))

    def test_several_outputs(self):
        Y = np.column_stack([T, -2.0 * X[:, 20] + X[:, 3], X[:, 30]])
        model = fit(X, Y, Greedy(per_step=2), **AMOUNT)
        slow = naive.pursuit(X, Y, M, Greedy(per_step=2))
        assert_array_equal(support(model), slow.columns)
        assert_allclose(predicted(model, X), slow.predicted, atol=1e-8)

    def test_classes_as_signs(self):
        for y, signs in ((Y2, 2.0 * Y2 - 1.0), (Y3, 2.0 * np.eye(3)[Y3] - 1.0)):
            model = fit(X, y, Greedy(loss="squared"), **CLASSES)
            slow = naive.pursuit(X, signs, M, Greedy())
            assert_array_equal(support(model), slow.columns)


#: Losses without a closed form: the task, the targets and the settings.
SMOOTH = {
    "logistic": (CLASSES, Y2, Greedy()),
    "softmax": (CLASSES, Y3, Greedy(per_step=3, alpha=0.01)),
    "huber": (AMOUNT, T, Greedy(loss="huber")),
    "huber, two": (AMOUNT, np.column_stack([T, X[:, 0] ** 3]), Greedy(loss="huber", alpha=0.1)),
    "log cosh": (AMOUNT, T, Greedy(per_step=4, alpha=0.1, penalty="log_cosh")),
    "logistic, log cosh": (CLASSES, Y2, Greedy(alpha=0.01, penalty="log_cosh")),
    "no intercept": (CLASSES, Y2, Greedy(fit_intercept=False)),
}


@pytest.mark.parametrize("name", SMOOTH)
class TestSmooth:
    def test_each_model_is_optimal(self, name):
        """The gradient of the penalised risk vanishes at every model of the path."""
        task, y, learner = SMOOTH[name]
        model = fit(X, y, learner, **task)
        path = model.selection_.path
        for i in range(len(path)):
            g = naive.gradient(model, X, y, i)
            assert np.abs(g).max() < 1e-6

    def test_the_next_columns_have_the_largest_gradient(self, name):
        task, y, learner = SMOOTH[name]
        model = fit(X, y, learner, **task)
        path, S = model.selection_.path, support(model)
        for i in range(len(path) - 1):
            scores = naive.scores(model, X, y, i)
            chosen = S[path.sizes[i] : path.sizes[i + 1]]
            rest = np.setdiff1d(np.arange(N), S[: path.sizes[i + 1]])
            assert scores[chosen].min() >= scores[rest].max() * (1 - 1e-6)

    def test_risks_fall(self, name):
        task, y, learner = SMOOTH[name]
        assert np.all(np.diff(fit(X, y, learner, **task).selection_.path.risks) < 0)


def test_logistic_as_scikit_learn_on_the_same_columns():
    model = fit(X, Y2, Greedy(alpha=1e-3), M=6, **CLASSES)
    Z = X[:, support(model)]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    slow = LogisticRegression(C=1.0 / (1e-3 * len(X)), tol=1e-10, max_iter=1000).fit(Z, Y2)
    assert_allclose(predicted(model, X)[:, 0], slow.decision_function(Z), rtol=1e-4, atol=1e-4)


def test_huber_is_not_moved_by_outliers():
    spoiled = T.copy()
    spoiled[::25] += 1000.0
    model = fit(X, spoiled, Greedy(loss="huber"), M=10, **AMOUNT)
    squared = fit(X, spoiled, Greedy(), M=10, **AMOUNT)
    error = [np.median(np.abs(predicted(m, X)[:, 0] - T)) for m in (model, squared)]
    assert error[0] < 0.1 * error[1]


class TestCandidates:
    def test_duplicates_are_taken_once_and_the_first_of_them(self):
        Z = np.concatenate([X[:, :5], X[:, :5], X[:, :5] * 3.0], axis=1)
        for learner, y, task in ((Greedy(), T, AMOUNT), (Greedy(per_step=4), Y2, CLASSES)):
            with pytest.warns(UserWarning, match="rank of the candidates"):
                model = fit(Z, y, learner, M=8, **task)
            assert sorted(support(model)) == [0, 1, 2, 3, 4]
            assert model.selection_.status == "rank"

    def test_combinations_and_constants_are_left_out(self):
        Z = np.column_stack([X[:, 0], X[:, 1], X[:, 0] - 2.0 * X[:, 1] + 3.0, np.ones(300)])
        Z = np.column_stack([Z, np.zeros(300), X[:, 2]])
        for per_step in (1, 3):
            with pytest.warns(UserWarning, match="rank of the candidates"):
                model = fit(Z, T, Greedy(per_step), M=6, **AMOUNT)
            assert len(support(model)) == 3
            assert not {3, 4} & set(support(model))

    def test_nothing_varies(self):
        with pytest.raises(ValueError, match="nothing to choose from"):
            fit(np.ones((300, 4)), T, M=2, **AMOUNT)

    def test_nothing_is_left_to_explain(self):
        y = 2.0 * X[:, 3] - X[:, 7]
        model = fit(X, y, M=10, **AMOUNT)
        assert model.selection_.status == "exact"
        assert support(model).tolist() == [3, 7]

    def test_ties_go_to_the_first(self):
        Z = np.repeat(np.eye(6), 2, axis=0)[:, [5, 1, 0, 3, 2, 4]]
        y = np.repeat([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 2)
        model = fit(Z, y, Greedy(fit_intercept=False), M=6, **AMOUNT)
        assert support(model).tolist() == [0, 1, 2, 3, 4, 5]

    def test_weights_of_a_union_decide_without_normalising(self):
        family = Union([Linear(), Gaussian(1.0)], weights=[1e-6, 1.0])
        some = fit(X[:, :3], T, Greedy(normalise=False), family, M=3, n_candidates=40, **AMOUNT)
        assert all(name.startswith("gaussian") for name in some.feature_map_.names)
        fair = fit(X[:, :3], T, Greedy(), family, M=3, n_candidates=40, **AMOUNT)
        assert any(name.startswith("linear") for name in fair.feature_map_.names)


class TestStopping:
    def test_at_a_risk(self):
        whole = fit(X, T, **AMOUNT).selection_.path.risks
        for per_step in (1, 5):
            model = fit(X, T, Greedy(per_step, risk=float(whole[6]) * 1.0001), **AMOUNT)
            assert model.selection_.status == "risk"
            path = model.selection_.path
            assert path.risks[-1] <= whole[6] * 1.0001 < path.risks[-2]
            assert model.feature_map_.n_features == path.sizes[-1]

    def test_held_out_risks_are_those_of_the_held_out_rows(self):
        held = np.arange(300) % 3 == 0
        cv = PredefinedSplit(np.where(held, 0, -1))
        cases = ((Greedy(validation=True), T, AMOUNT), (Greedy(validation=True), Y3, CLASSES))
        for learner, y, task in cases:
            model = fit(X, y, learner, cv=cv, **task)
            path = model.selection_.path
            alone = fit(X[~held], y[~held], **task)
            assert_array_equal(support(model), support(alone))
            for i in (0, 3, M - 1):
                loss = naive.row_losses(predicted(model, X[held], i), y[held], task["task"])
                assert_allclose(path.held_out[i], loss.mean(), rtol=1e-6)
                assert_allclose(path.errors[i], loss.std() / np.sqrt(held.sum()), rtol=1e-6)

    def test_a_held_out_row_of_weight_two_is_the_row_twice(self):
        w = rng(6).integers(0, 4, 300).astype(float)
        twice = np.repeat(np.arange(300), w.astype(int))
        learner = Greedy(validation=True)
        path = fit(X, T, learner, weight=w, **AMOUNT).selection_.path
        same = fit(X[twice], T[twice], learner, **AMOUNT).selection_.path
        for name in ("held_out", "errors"):
            assert_allclose(getattr(path, name), getattr(same, name), rtol=1e-8)
        shares = fit(X, T, learner, weight=np.full(300, 1 / 300), **AMOUNT).selection_.path
        plain = fit(X, T, learner, **AMOUNT).selection_.path
        assert_allclose(shares.errors, plain.errors, rtol=1e-8)

    def test_auto_keeps_the_smallest_within_one_standard_error(self):
        y = X[:, :5] @ np.array([3.0, -2.0, 2.0, 1.5, -1.0]) + rng(5).standard_normal(300)
        full = fit(X, y, Greedy(validation=True), M=N, **AMOUNT).selection_.path
        model = fit(X, y, M="auto", **AMOUNT)
        path = model.selection_.path
        assert model.selection_.status == "held_out"
        best = np.argmin(full.held_out)
        within = full.held_out <= full.held_out[best] + full.errors[best]
        assert path.sizes[-1] == np.argmax(within) + 1
        assert set(support(model)) >= {0, 1, 2, 3, 4}
        assert path.sizes[-1] <= 12

    def test_a_callback_stops_and_keeps_what_there_is(self):
        model = fit(X, T, callback=lambda e: e.stage == "greedy" and e.unit == "steps", **AMOUNT)
        assert model.selection_.status == "stopped"
        assert model.feature_map_.n_features == 1


CASES = {
    "squared": (T, AMOUNT, Greedy(per_step=2)),
    "logistic": (Y2, CLASSES, Greedy(per_step=3)),
    "softmax": (Y3, CLASSES, Greedy(per_step=4)),
    "huber": (T, AMOUNT, Greedy(loss="huber", per_step=4)),
}


@pytest.mark.parametrize("name", CASES)
class TestLaws:
    def same(self, a, b, X, tol=1e-6):
        assert_array_equal(support(a), support(b))
        assert_allclose(predicted(a, X), predicted(b, X), atol=tol)

    def options(self, name):
        y, task, learner = CASES[name]
        return y, {**task, "learner": learner, "family": Gaussian(3.0), "n_candidates": 64, "M": 8}

    def test_chunks_and_streams(self, name):
        y, options = self.options(name)
        whole = fit(X, y, **options)
        data = np.column_stack([X, y])
        self.same(whole, fit(scan(data, target=-1, block_bytes=16_000), None, **options), X)
        chunks = [(X[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70)]
        self.same(whole, fit(scan(chunks), None, **options), X)

    def test_dask(self, name):
        da = pytest.importorskip("dask.array")
        y, options = self.options(name)
        lazy = fit(da.from_array(X, chunks=(90, N)), da.from_array(y, chunks=90), **options)
        self.same(fit(X, y, **options), lazy, X)

    def test_order_and_weights(self, name):
        y, options = self.options(name)
        if name == "huber":  # its delta is read off distinct rows, which have joint weights
            options["learner"] = Greedy(loss="huber", per_step=4)
        order = rng(7).permutation(300)
        self.same(fit(X, y, **options), fit(X[order], y[order], **options), X)
        weight = rng(8).integers(0, 3, 300)
        i = np.repeat(np.arange(300), weight)
        model = LearnedFeatures(options["family"], options["learner"], 64, 8, random_state=0)
        model.set_params(task=options["task"])
        if name != "huber":
            twice = fit(X[i], y[i], **options)
            self.same(model.fit(X, y, sample_weight=weight), twice, X)

    def test_single_precision(self, name):
        y, options = self.options(name)
        single = fit(X.astype(np.float32), y, **options)
        assert_array_equal(support(single), support(fit(X, y, **options)))


def test_sparse_rows_are_their_dense_twins():
    Z = X * (rng(9).random(X.shape) < 0.3)
    for y, task in ((T, AMOUNT), (Y2, CLASSES)):
        dense, thin = fit(Z, y, M=6, **task), fit(sparse.csr_array(Z), y, M=6, **task)
        assert_array_equal(support(dense), support(thin))
        assert_allclose(predicted(dense, Z), predicted(thin, Z), atol=1e-8)


def test_few_passes_over_the_candidates():
    """A pass brings products for several steps to come."""
    model = fit(X, T, Greedy(), Gaussian(3.0), M=30, n_candidates=400, **AMOUNT)
    assert model.selection_.stats["passes"] <= 30
    model = fit(X, Y2, Greedy(per_step=5), Gaussian(3.0), M=30, n_candidates=400, **CLASSES)
    assert model.selection_.stats["passes"] <= 1.3 * 30 / 5


@pytest.mark.parametrize("family", [Gaussian(2.0), Gaussian(2.0, form="pair"), ArcCosine(1)])
def test_inside_the_estimators(family):
    classes = KernelClassifier(family, Greedy(5), 100, 20, random_state=0).fit(X[:, :4], Y3)
    assert classes.feature_map_.n_features == 20
    amounts = KernelRegressor(family, "greedy", 100, "auto", random_state=0).fit(X[:, :4], T)
    assert amounts.selection_.status == "held_out"


@pytest.mark.parametrize(
    ("learner", "y", "task", "said"),
    [
        (Greedy(per_step=0), T, AMOUNT, "per_step"),
        (Greedy(per_step=1.5), T, AMOUNT, "per_step"),
        (Greedy(loss="hinge"), T, AMOUNT, "loss='hinge'"),
        (Greedy(penalty="l1"), T, AMOUNT, "log_cosh"),
        (Greedy(alpha=-1.0), T, AMOUNT, "not negative"),
        (Greedy(alpha=np.nan), T, AMOUNT, "alpha"),
        (Greedy(risk=-1.0), T, AMOUNT, "risk"),
        (Greedy(validation="yes"), T, AMOUNT, "True or False"),
        (Greedy(loss="logistic"), T, AMOUNT, "regression target"),
        (Greedy(loss="huber"), Y2, CLASSES, "for amounts"),
        (Greedy(), None, AMOUNT, "requires y"),
    ],
)
def test_bad_input(learner, y, task, said):
    with pytest.raises(ValueError, match=said):
        fit(X, y, learner, **task)


def test_more_components_than_candidates():
    with pytest.raises(ValueError, match="more than the 40 candidates"):
        fit(X, T, M=41, **AMOUNT)
