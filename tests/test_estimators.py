"""`KernelClassifier` and `KernelRegressor`: laws, kinds of input, and refusals."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.model_selection import GridSearchCV

import make
from bochner import KernelClassifier, KernelRegressor, LandmarkFeatures, LearnedFeatures, scan
from bochner.families import Gaussian, Linear
from bochner.linear import Logistic, Ridge


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def small(**settings):
    return KernelClassifier(**{"n_components": 64, "random_state": 0, **settings})


def test_it_is_features_and_a_head(iris):
    X, y = iris
    settings = {"family": Gaussian(2.0), "n_components": 64, "random_state": 0}
    ours = KernelClassifier(head="logistic", preprocess=None, **settings).fit(X, y)
    Z = LearnedFeatures(**settings).fit_transform(X)
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(Z, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(Z), atol=2e-5)
    np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), rtol=1e-9)


def test_regression_is_features_and_ridge(diabetes):
    X, y = diabetes
    settings = {"family": Gaussian(0.2), "n_components": 64, "random_state": 0}
    ours = KernelRegressor(preprocess=None, head=Ridge(alpha=0.1), **settings).fit(X, y)
    Z = LearnedFeatures(**settings).fit_transform(X)
    np.testing.assert_allclose(
        ours.predict(X), SklearnRidge(alpha=0.1).fit(Z, y).predict(Z), rtol=1e-7
    )


def test_string_labels_and_many_classes(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    plain, named = small().fit(X, y), small().fit(X, names[y])
    np.testing.assert_array_equal(named.classes_, names)
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
    assert plain.decision_function(X).shape == (150, 3)
    assert small().fit(X, y == 1).decision_function(X).shape == (150,)
    np.testing.assert_array_equal(small().fit(X, y == 1).classes_, [False, True])


def test_classes_by_least_squares(iris):
    X, y = iris
    model = small(head=Ridge(alpha=1e-2)).fit(X, y)
    assert model.score(X, y) > 0.95
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = model.predict_proba
    binary = small(head="ridge").fit(X, y > 0)
    np.testing.assert_array_equal(binary.predict(X), binary.decision_function(X) > 0)


def test_weights_are_repeated_rows(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, size=len(X))
    rows = rng.permutation(np.repeat(np.arange(len(X)), times))
    weighted = small().fit(X, y, sample_weight=times)
    repeated = small().fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )
    balanced = small(class_weight="balanced").fit(X[:120], y[:120])
    by_hand = small(class_weight={0: 0.8, 1: 0.8, 2: 2.0}).fit(X[:120], y[:120])
    np.testing.assert_allclose(
        balanced.decision_function(X), by_hand.decision_function(X), atol=1e-6
    )


def test_multi_output_regression(diabetes):
    X, y = diabetes
    both = np.stack([y, -2 * y], axis=1)
    model = KernelRegressor(n_components=32, head=Ridge(1.0), random_state=0).fit(X, both)
    single = KernelRegressor(n_components=32, head=Ridge(1.0), random_state=0).fit(X, y)
    assert model.predict(X).shape == (442, 2)
    assert single.predict(X).shape == (442,)
    np.testing.assert_allclose(model.predict(X)[:, 0], single.predict(X), rtol=1e-8)
    assert model.score(X, both) == pytest.approx(single.score(X, y))


def test_a_scan_is_the_same_as_memory(iris):
    X, y = iris
    chunks = [(X[i::4], y[i::4]) for i in range(4)]
    source = scan(chunks)
    memory, streamed = small().fit(X, y), small().fit(source)
    np.testing.assert_allclose(
        streamed.decision_function(X), memory.decision_function(X), atol=1e-5
    )
    blocks = list(streamed.predict(source))
    assert [len(b) for b in blocks] == [38, 38, 37, 37]
    assert streamed.score(source) == pytest.approx(memory.score(X, y))


def test_regression_on_a_scan(diabetes):
    X, y = diabetes
    source = scan([(X[:200], y[:200]), (X[200:], y[200:])])
    settings = {"n_components": 32, "random_state": 0}
    memory, streamed = (
        KernelRegressor(**settings).fit(X, y),
        KernelRegressor(**settings).fit(source),
    )
    np.testing.assert_allclose(streamed.predict(X), memory.predict(X), rtol=1e-6)
    assert streamed.score(source) == pytest.approx(memory.score(X, y), rel=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_with_gaps_and_categories(library):
    module = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, size=300)
    city = rng.choice(["oslo", "rome", "lima"], size=300)
    y = np.where((city == "rome") ^ (age > 45), "yes", "no")
    age[::7] = np.nan
    table = module.DataFrame({"age": age, "city": city})
    model = small().fit(table, y)
    assert model.score(table, y) > 0.9
    np.testing.assert_array_equal(model.feature_names_in_, ["age", "city"])
    assert "city=rome" in model.treatment_.output.names
    with pytest.raises(TypeError, match="'city'"):
        LearnedFeatures().fit(table)


def test_missing_numbers_are_missing(iris):
    X, y = iris
    X = X.copy()
    X[::5, 2] = np.nan
    model = small().fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        small(preprocess=None).fit(X, y)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        small().fit(X, y)


def test_sparse_rows(iris):
    X, y = iris
    model = small(family=Gaussian(3.0)).fit(sparse.csr_matrix(X), y)
    dense = small(family=Gaussian(3.0), preprocess=None).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-5
    )
    words = sparse.random(200, 5_000, density=0.01, random_state=0, format="csr")
    label = np.asarray(words[:, :50].sum(axis=1)).ravel() > 0.2
    linear = KernelClassifier(Linear(), random_state=0, n_components="auto")
    assert linear.fit(words, label).predict(words).shape == (200,)


def test_grid_search_reaches_every_setting(iris):
    X, y = iris
    grid = {"family__bandwidth": [1.0, 3.0], "head__alpha": [0.1, 1.0]}
    search = GridSearchCV(small(family=Gaussian(), head=Logistic()), grid, cv=2).fit(X, y)
    assert search.best_params_.keys() == grid.keys()


def test_a_failed_fit_leaves_nothing_behind(iris):
    X, y = iris
    fresh = small(n_components=-1)
    with pytest.raises(ValueError, match="at least 1"):
        fresh.fit(X, y)
    assert vars(fresh) == vars(small(n_components=-1))
    fitted = small().fit(X, y)
    before = fitted.predict_proba(X)
    with pytest.raises(ValueError, match="one class"):
        fitted.fit(X[:, :2], np.zeros(len(X)))
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


def test_pickle_and_clone(iris):
    X, y = iris
    model = small().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, None, "requires y"),
        ({}, np.zeros(150), "only one class"),
        ({}, np.linspace(0, 1, 150), "Unknown label type"),
        ({}, np.arange(149), "inconsistent|must be the same"),
        ({"class_weight": "even"}, np.arange(150) % 3, "class_weight='even'"),
        ({"class_weight": {7: 1.0}}, np.arange(150) % 3, r"names \[7\]"),
        ({"class_weight": {1: -1.0}}, np.arange(150) % 3, "not negative"),
        ({"head": "lasso"}, np.arange(150) % 3, "head='lasso'"),
        ({"preprocess": "scale"}, np.arange(150) % 3, "preprocess='scale'"),
        ({"head": Logistic(alpha=0.0)}, np.arange(150) % 3, "alpha"),
    ],
)
def test_bad_classification(iris, settings, y, message):
    with pytest.raises(ValueError, match=message):
        small(**settings).fit(iris[0], y)


def test_bad_regression(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="that head is for classes"):
        KernelRegressor(head="logistic").fit(X, y)
    with pytest.raises(ValueError, match="requires y"):
        KernelRegressor().fit(X)
    with pytest.raises(ValueError, match="NaN"):
        KernelRegressor().fit(X, np.where(y > 300, np.nan, y))
    with pytest.raises(ValueError, match="target"):
        KernelRegressor().fit(scan([X]))


def test_the_default_is_good_on_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:400], order[400:]
    model = KernelClassifier(random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.95


def test_batches_add_up(diabetes):
    X, y = diabetes
    settings = {"family": Gaussian(2.0), "n_components": 32, "random_state": 0}
    model = KernelRegressor(head=Ridge(alpha=0.5), preprocess=None, **settings)
    whole = clone(model).fit(X, y)
    for rows in np.array_split(np.arange(len(X)), [10, 200, 203]):
        model.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-7)
    model.fit(X[:100], y[:100]).partial_fit(X, y)  # a fit in between starts afresh
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-7)


def test_batches_choose_alpha_as_gcv_does(diabetes):
    from sklearn.linear_model import RidgeCV

    X, y = diabetes
    model = KernelRegressor(n_components=32, random_state=0)
    for rows in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(X[rows], y[rows])
    Z = np.concatenate([model.treatment_(b).X for b in scan([X]).blocks(0)])
    Z = model.feature_map_(Z)
    alpha = model.model_.stats["alpha"]
    scores = []
    for a in (alpha / 10**0.5, alpha, alpha * 10**0.5):
        fitted = SklearnRidge(alpha=a).fit(Z, y)
        centred = Z - Z.mean(axis=0)
        df = 1 + np.trace(
            np.linalg.solve(centred.T @ centred + a * np.eye(32), centred.T @ centred)
        )
        scores.append(np.sum((y - fitted.predict(Z)) ** 2) / (len(y) - df) ** 2)
    assert np.argmin(scores) == 1
    assert RidgeCV(alphas=[alpha]).fit(Z, y).score(Z, y) == pytest.approx(model.score(X, y))


def test_classes_in_batches(iris):
    X, y = iris
    model = small(head=Ridge(alpha=0.1), family=Gaussian(2.0), preprocess=None)
    whole = clone(model).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    for rows in np.array_split(order, 4):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(
        model.decision_function(X), whole.decision_function(X), rtol=1e-6, atol=1e-8
    )
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="none of the 3 classes"):
        model.partial_fit(X[:5], [0, 1, 2, 3, 0])
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.partial_fit(X[:5, :3], y[:5])
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(ValueError, match="first call"):
        small(head="ridge").partial_fit(X, y)
    assert not hasattr(small(), "partial_fit")


class TestWords:
    """A setting given as a word can be searched like the object that it stands for."""

    def test_a_word_becomes_an_object_when_its_settings_are_asked_for(self):
        model = KernelClassifier(learner="alignment", family="laplace", head="ridge")
        model.set_params(learner__radius=0.1, family__bandwidth=2.0, head__alpha=3.0)
        assert model.learner.radius == 0.1
        assert (type(model.family).__name__, model.family.bandwidth) == ("Laplace", 2.0)
        assert model.head.alpha == 3.0
        kept = KernelClassifier(learner="alignment").set_params(n_components=8)
        assert kept.learner == "alignment"
        both = LearnedFeatures().set_params(family="cauchy", family__bandwidth=2.0)
        assert repr(both.family) == "Cauchy(bandwidth=2.0)"
        assert LandmarkFeatures().set_params(family__bandwidth=1.5).family.bandwidth == 1.5

    def test_auto_is_what_auto_does(self):
        X, y = make.rows(200, 4), np.arange(200) % 2
        for model, target in ((KernelClassifier(), y), (KernelRegressor(), X[:, 0])):
            model.set_params(n_components=16, random_state=0)
            plain = clone(model).fit(X, target)
            bandwidth = plain.feature_map_.family.bandwidth
            spelt = clone(model).set_params(family__bandwidth=bandwidth, head__fit_intercept=True)
            # the given bandwidth needs no sample, so that another draw follows from the seed
            assert type(spelt.head) is type(plain._head())
            assert spelt.family.get_params() == plain.feature_map_.family.get_params()

    def test_grid_search_reaches_through_words(self):
        X, y = make.rows(120, 3), np.arange(120) % 2
        model = KernelClassifier(n_components=8, random_state=0)
        search = GridSearchCV(model, {"family__bandwidth": [0.5, 2.0], "head__alpha": [1.0]}, cv=2)
        assert search.fit(X, y).best_params_["head__alpha"] == 1.0

    @pytest.mark.parametrize("model", [KernelClassifier(), LearnedFeatures()])
    def test_unknown_words_and_settings_are_refused(self, model):
        with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
            clone(model).set_params(family="gausian", family__bandwidth=1.0)
        with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
            clone(model).set_params(learner__colour=1.0)
