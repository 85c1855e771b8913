"""`LearnedFeatures`: a scikit-learn transformer, whatever holds the rows."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import LearnedFeatures, scan
from bochner.families import ArcCosine, Gaussian, Laplace, Linear
from bochner.learners import Uniform


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(300, 5))


def test_inner_products_are_the_kernel(X):
    Z = LearnedFeatures(Gaussian(2.0), n_components=20_000, random_state=0).fit_transform(X)
    assert np.abs(Z @ Z.T - rbf_kernel(X, gamma=1 / 8)).max() < 0.05


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(X, dtype):
    assert LearnedFeatures(random_state=0).fit_transform(X.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, ">f4", bool])
def test_other_dtypes_work(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 9, size=(50, 4)).astype(dtype)
    learned = LearnedFeatures(n_components=8, random_state=0).fit(X)
    same = learned.transform(X.astype(np.float64))
    np.testing.assert_allclose(learned.transform(X), same, atol=1e-5)


def test_layouts_agree(X):
    learned = LearnedFeatures(n_components=16, random_state=0).fit(X)
    Z = learned.transform(X)
    readonly = X.copy()
    readonly.flags.writeable = False
    thin = np.where(np.abs(X) > 1, X, 0.0)
    np.testing.assert_allclose(learned.transform(np.asfortranarray(X)), Z, rtol=1e-12)
    np.testing.assert_array_equal(learned.transform(readonly), Z)
    np.testing.assert_allclose(
        learned.transform(sparse.csr_array(thin)), learned.transform(thin), atol=1e-12
    )


def test_a_fit_on_sparse_rows_is_a_fit_on_dense_ones(X):
    thin = np.where(np.abs(X) > 1, X, 0.0)
    dense = LearnedFeatures(n_components=16, random_state=0).fit(thin).feature_map_
    sparsely = LearnedFeatures(n_components=16, random_state=0).fit(sparse.csr_matrix(thin))
    np.testing.assert_allclose(
        sparsely.feature_map_.atoms["frequencies"], dense.atoms["frequencies"], rtol=1e-10
    )


def test_order_and_repetition_do_not_matter(X):
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, size=len(X))
    settings = {"n_components": 16, "random_state": 0}
    weighted = LearnedFeatures(**settings).fit(X, sample_weight=times).feature_map_
    rows = rng.permutation(np.repeat(np.arange(len(X)), times))
    repeated = LearnedFeatures(**settings).fit(X[rows]).feature_map_
    for name, atoms in weighted.atoms.items():
        np.testing.assert_allclose(atoms, repeated.atoms[name], rtol=1e-10)


def test_a_scan_gives_blocks(X):
    chunks = [X[:100], X[100:130], X[130:]]
    source = scan(chunks)
    learned = LearnedFeatures(n_components=16, random_state=0).fit(source)
    whole = LearnedFeatures(n_components=16, random_state=0).fit(X)
    blocks = list(learned.transform(source))
    assert len(blocks) == 3
    np.testing.assert_allclose(np.concatenate(blocks), whole.transform(X), rtol=1e-9)


def test_pipeline_pandas_names_clone_and_pickle(X):
    pytest.importorskip("pandas")
    features = LearnedFeatures(Gaussian("scale", form="pair"), n_components=12, random_state=0)
    features.set_output(transform="pandas")
    frame = clone(features).fit_transform(X)
    assert frame.shape == (300, 12)
    assert list(frame.columns) == list(clone(features).fit(X).get_feature_names_out())
    fitted = features.fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    y = np.linalg.norm(X, axis=1) > 2
    model = make_pipeline(
        StandardScaler(), LearnedFeatures(n_components=200, random_state=0), LogisticRegression()
    )
    assert model.fit(X, y).score(X, y) > 0.9


def test_names_in_strings_and_objects_are_the_same(X):
    by_name = LearnedFeatures("gaussian", "uniform", n_components=8, random_state=3).fit(X)
    by_object = LearnedFeatures(Gaussian(), Uniform(), n_components=8, random_state=3).fit(X)
    np.testing.assert_array_equal(by_name.transform(X), by_object.transform(X))


@pytest.mark.parametrize(
    "make",
    [lambda: 7, lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)],
    ids=["int", "RandomState", "Generator"],
)
def test_every_kind_of_random_state(X, make):
    first = LearnedFeatures(n_components=8, random_state=make()).fit_transform(X)
    second = LearnedFeatures(n_components=8, random_state=make()).fit_transform(X)
    np.testing.assert_array_equal(first, second)


def test_fit_changes_nothing_else(X):
    family = Gaussian("median")
    estimator = LearnedFeatures(family, n_components=8, random_state=0)
    before, data = repr(estimator.get_params()), X.copy()
    np.random.seed(5)
    state = np.random.get_state()[1].copy()
    estimator.fit(X)
    assert repr(estimator.get_params()) == before
    assert family.bandwidth == "median"
    np.testing.assert_array_equal(X, data)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_counts(X):
    assert LearnedFeatures(random_state=0).fit(X).feature_map_.n_features == 512
    assert LearnedFeatures(Linear()).fit(X).feature_map_.n_features == 5
    np.testing.assert_allclose(LearnedFeatures(Linear()).fit_transform(X), X / np.sqrt(5))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "at least 1"),
        ({"n_components": 2.5}, TypeError, "whole number"),
        ({"n_components": 10, "n_candidates": 5}, ValueError, "more than the 5 candidates"),
        ({"family": Linear(), "n_components": 6}, ValueError, "more than the 5 candidates"),
        ({"family": Linear(), "n_candidates": 6}, ValueError, "only 5 columns"),
        ({"family": "gausian"}, ValueError, "Did you mean 'gaussian'"),
        ({"family": Gaussian}, TypeError, r"give an instance: Gaussian\(\)"),
        ({"family": 3}, TypeError, "family must be"),
        ({"learner": "unifrom"}, ValueError, "Did you mean 'uniform'"),
        ({"learner": 3}, TypeError, "learner must be"),
        ({"family": Gaussian(form="pair"), "n_components": 7}, ValueError, "Ask for 6 or 8"),
        ({"family": Gaussian(0.0)}, ValueError, "must be positive"),
        ({"family": Gaussian([1.0, 2.0])}, ValueError, "have 5 columns"),
        ({"family": Gaussian("mean")}, ValueError, "not a known rule"),
        ({"family": Gaussian(sampling="sobel")}, ValueError, "Did you mean 'sobol'"),
        ({"family": Laplace(norm="l1", sampling="orthogonal")}, ValueError, "not isotropic"),
        ({"family": ArcCosine(3)}, ValueError, "must be 0, 1 or 2"),
        ({"device": "cuda"}, ValueError, "computes on the CPU"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"random_state": "a"}, ValueError, "random_state"),
        ({"random_state": -1}, ValueError, "must not be negative"),
    ],
)
def test_bad_settings(X, settings, error, message):
    with pytest.raises(error, match=message):
        LearnedFeatures(**settings).fit(X)


def test_bad_rows(X):
    learned = LearnedFeatures(n_components=8, random_state=0)
    bad = X.copy()
    bad[3, 2] = np.nan
    for rows in (bad, np.where(np.isnan(bad), np.inf, bad)):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            learned.fit(rows)
        with pytest.raises(ValueError, match="row 3, column 2"):
            learned.fit(scan([rows]))
    with pytest.raises(ValueError, match=r"0 sample|no rows"):
        learned.fit(X[:0])
    with pytest.raises(ValueError, match="all rows are equal"):
        learned.fit(np.ones((10, 3)))
    with pytest.raises(ValueError, match="Negative values|negative"):
        learned.fit(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="zero"):
        learned.fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="expecting 5 features"):
        learned.fit(X).transform(X[:, :4])
    with pytest.raises(ValueError, match="expecting 5 features"):
        learned.transform(scan([X[:, :4]]))
    # a bandwidth that is a number needs no spread in the rows
    assert LearnedFeatures(Gaussian(1.0)).fit(np.ones((10, 3))).feature_map_.n_features == 512


def test_a_callback_can_stop_a_fit(X):
    from bochner.rows import StopFit

    seen = []

    def stop(event):
        seen.append(event.stage)
        return True

    with pytest.raises(StopFit, match="stopped by a callback"):
        LearnedFeatures(callback=stop, random_state=0).fit(X)
    assert seen == ["bandwidth"]


def test_verbose_speaks_to_stderr(X, capsys):
    LearnedFeatures(verbose=2, random_state=0).fit(X)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "bandwidth: 300 of 300 rows" in captured.err
