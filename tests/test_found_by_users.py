"""What strangers ran into, one test each, so that nobody does again."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from bochner import FeatureMap, KernelClassifier, KernelRegressor, LearnedFeatures, scan
from bochner.families import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
LABEL = (X[:, 0] * X[:, 1] > 0).astype(int)
AMOUNT = X[:, 0] + X[:, 1] ** 2


def small(**settings):
    return KernelClassifier(**{"n_components": 32, "random_state": 0, **settings})


def test_dask_without_distributed_leaves_its_settings_alone():
    pytest.importorskip("dask.array")
    code = (
        "import numpy as np, dask.array as da, dask\n"
        "from bochner import KernelRegressor\n"
        "X = np.random.default_rng(0).normal(size=(400, 4))\n"
        "dX = da.from_array(X, chunks=(100, 4))\n"
        "KernelRegressor(n_components=8).fit(dX, X[:, 0])\n"
        "print(float(dX.sum().compute()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) == pytest.approx(X.sum())


def test_the_automatic_penalty_is_the_documented_one():
    from bochner.estimators.classifier import AUTO_ALPHA

    assert small().fit(X, LABEL).model_.stats["alpha"] == AUTO_ALPHA


def test_linear_on_sparse_text_is_a_linear_model():
    words = sparse.random(600, 3_000, density=0.02, random_state=0, format="csr")
    truth = RNG.normal(size=3_000)
    y = words @ truth > 0
    model = KernelClassifier("linear", random_state=0).fit(words[:400], y[:400])
    assert model.feature_map_.n_features == 3_000
    # the penalty follows the size of the features: that of scikit-learn's model on X itself
    size = np.asarray(words[:400].multiply(words[:400]).sum(axis=1)).mean()
    plain = LogisticRegression(C=1 / (0.03 * size), tol=1e-8, max_iter=10_000)
    np.testing.assert_allclose(
        model.decision_function(words[400:]),
        plain.fit(words[:400], y[:400]).decision_function(words[400:]),
        rtol=1e-3,
        atol=1e-3,
    )


def test_a_label_is_not_cut_to_the_length_of_a_class():
    model = small(head="ridge")
    model.partial_fit(X, np.where(LABEL, "yes", "no"), classes=["yes", "no"])
    with pytest.raises(ValueError, match="'yesterday'"):
        model.partial_fit(X, np.where(LABEL, "yesterday", "no"))
    with pytest.raises(ValueError, match="text or numbers, not both"):
        small(head="ridge").partial_fit(X, LABEL, classes=["0", "1"])


def test_thin_coefficients_may_be_vectors():
    fm = FeatureMap.uniform(Gaussian(1.0), 16, 4, np.random.default_rng(0))
    t, r = RNG.normal(size=16), RNG.normal(size=400)
    np.testing.assert_allclose(fm.map_rows(X, t), fm(X) @ t)
    np.testing.assert_allclose(fm.project(X, r), fm(X).T @ r)
    one = fm.pull(X, r, t)["frequencies"]
    np.testing.assert_allclose(one, fm.pull(X, r[:, None], t[:, None])["frequencies"])


def test_a_class_without_weight_is_absent():
    y = np.arange(400) % 3
    model = small().fit(X, y, sample_weight=(y != 2) * 1.0)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    kept = small().fit(X[y != 2], y[y != 2])
    np.testing.assert_allclose(model.decision_function(X), kept.decision_function(X), atol=1e-6)


def test_scores_of_streams_with_weightless_parts():
    model = KernelRegressor(n_components=32, random_state=0).fit(X, AMOUNT)
    w = np.concatenate([np.zeros(150), np.ones(250)])
    source = scan([(X[:150], AMOUNT[:150], w[:150]), (X[150:], AMOUNT[150:], w[150:])])
    assert model.score(source) == pytest.approx(model.score(X, AMOUNT, w))
    with pytest.raises(ValueError, match="positive weight"):
        model.score(scan([(X, AMOUNT, np.zeros(400))]))
    classifier = small().fit(X, LABEL)
    with pytest.raises(ValueError, match="positive weight"):
        classifier.score(scan([(X, LABEL, np.zeros(400))]))
    with pytest.raises(ValueError, match="give targets of the kind"):
        classifier.score(scan([(X, np.where(LABEL, "a", "b"))]))
    with pytest.raises(ValueError, match="2 columns"):
        model.score(scan([(X, np.stack([AMOUNT, AMOUNT], axis=1))]))


def test_other_kinds_of_rows_in_predict():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": X[:, 0], "city": np.where(X[:, 1] > 0, "rome", "oslo")})
    model = small().fit(table, LABEL)
    for rows in (X[:, :2], scan([X[:, :2]])):
        with pytest.raises(ValueError, match=r"'city' \(a number now, a category in fit\)"):
            model.predict(rows)
    numbers = small().fit(X[:, :2], LABEL)
    with pytest.raises(ValueError, match=r"\(a category now, a number in fit\)"):
        numbers.predict(table)
    np.testing.assert_allclose(
        numbers.decision_function(sparse.csr_array(X[:, :2])), numbers.decision_function(X[:, :2])
    )


def test_set_output_is_for_rows_in_memory():
    pd = pytest.importorskip("pandas")
    features = LearnedFeatures(n_components=8, random_state=0).set_output(transform="pandas")
    assert isinstance(features.fit_transform(X), pd.DataFrame)
    blocks = list(features.transform(scan([X[:100], X[100:]])))
    assert [block.shape for block in blocks] == [(100, 8), (300, 8)]
    da = pytest.importorskip("dask.array")
    assert isinstance(features.transform(da.from_array(X, chunks=(100, 4))), da.Array)


def test_counts_may_be_numpy_integers():
    assert small(n_components=np.int64(33)).fit(X, LABEL).feature_map_.n_features == 33


def test_an_empty_file_says_so(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "empty.csv").write_text("a,b,y\n")
    with pytest.raises(ValueError, match="no rows"):
        small().fit(scan(tmp_path / "empty.csv", target="y"))


@pytest.mark.parametrize(
    ("fit", "error", "words"),
    [
        (lambda: small().fit("rows.csv", LABEL), TypeError, r"bochner\.scan\(path"),
        (
            lambda: small().fit(X, np.array(["a", None] * 200, dtype=object)),
            ValueError,
            "targets are missing",
        ),
        (lambda: small(class_weight=[0, 1]).fit(X, LABEL), TypeError, "a dict from class"),
        (lambda: small().fit(X, AMOUNT), ValueError, "Use KernelRegressor"),
        (
            lambda: KernelRegressor().fit(X, np.where(LABEL, "a", "b")),
            ValueError,
            "use KernelClassifier",
        ),
        (lambda: small(verbose="x").fit(X, LABEL), ValueError, "verbose"),
        (lambda: small(callback=3).fit(X, LABEL), TypeError, "callback must be"),
        (lambda: small(family="foo").fit(X, LABEL), ValueError, "^family='foo' is not known"),
    ],
)
def test_advice(fit, error, words):
    with pytest.raises(error, match=words):
        fit()


def test_an_extra_column_in_predict_is_named():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abcd"))
    model = small().fit(table, LABEL)
    with pytest.raises(ValueError, match=r"\['income'\] were not there in fit"):
        model.predict(scan(table.assign(income=1.0)))


def test_readme_says_the_bandwidth_of_gamma():
    gamma = 0.3
    exact = Gaussian(bandwidth=(2 * gamma) ** -0.5).exact_kernel(X[:5])
    np.testing.assert_allclose(exact, rbf_kernel(X[:5], gamma=gamma))
