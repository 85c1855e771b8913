"""``certify=``: rows set aside, what they prove, conformal coverage; kernels for scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.svm import SVC

from bochner import (
    KernelClassifier,
    KernelRegressor,
    LandmarkFeatures,
    LearnedFeatures,
    scan,
)
from bochner.certificates.classifier import SCALES, pac_bayes_linear
from bochner.certificates.conformal import rank
from bochner.estimators.certify import set_aside
from bochner.estimators.holding import holding
from bochner.estimators.targets import for_learning
from bochner.families import Gaussian
from bochner.learners import PseudoPosterior
from bochner.learners.base import Task
from bochner.learners.held_out import Share
from bochner.learners.label_kernel import Target
from bochner.learners.pair_loss import kernel_bound, pair_loss
from bochner.rows import MemorySource
from bochner.rows.part import PartSource, part
from make import rng, rows

FIXED = Gaussian(1.5, form="pair")


def problem(n, seed=0, classes=2):
    X = rows(n, 3, seed)
    noisy = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng(seed + 1).standard_normal(n)
    return X, np.digitize(
        noisy, np.quantile(rows(1000, 3, 7)[:, 0] + 1, np.arange(1, classes) / classes)
    )


def small(**options):
    settings = {"family": FIXED, "n_components": 20, "random_state": 0, "preprocess": None}
    return KernelClassifier(**(settings | options))


# --- the rows set aside -------------------------------------------------------------------------


def test_nothing_is_fitted_on_the_rows_set_aside():
    X, y = problem(400)
    model = small(family="auto", preprocess="auto", certify=0.3).fit(X, y)
    key = rng(0).integers(2**62)
    aside = Share(int(key) ^ 0x5DEECE66D, 0.3).mask(next(iter(MemorySource(X).blocks())))
    assert model.unseen_.n == aside.sum()
    changed = np.where(aside, 1 - y, y)
    assert_array_equal(
        small(family="auto", preprocess="auto", certify=0.3).fit(X, changed).coef_, model.coef_
    )
    alone = small(family="auto", preprocess="auto").fit(X[~aside], y[~aside])
    assert_allclose(alone.coef_, model.coef_, atol=1e-6)
    errors = int(np.sum(alone.predict(X[aside]) != y[aside]))
    assert model.unseen_.errors == errors
    assert model.certificate_.details["errors"] == errors


@pytest.mark.parametrize("learner", ["uniform", PseudoPosterior(1.0)], ids=["uniform", "posterior"])
def test_streams_sparse_and_dask_set_the_same_rows_aside(learner):
    X, y = problem(300)
    X[rng(3).random(X.shape) < 0.5] = 0.0
    whole = small(learner=learner, certify=True).fit(X, y)
    parts = [(X[:100], y[:100]), (X[100:130], y[100:130]), (X[130:], y[130:])]
    others = [small(learner=learner, certify=True).fit(scan(parts))]
    others.append(small(learner=learner, certify=True).fit(sparse.csr_array(X), y))
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(70, 3)), da.from_array(y, chunks=70)
    others.append(small(learner=learner, certify=True).fit(*lazy))
    for other in others:
        assert other.unseen_.n == whole.unseen_.n
        assert_allclose(other.unseen_.scores, whole.unseen_.scores, atol=1e-3)
        assert_allclose(other.coef_, whole.coef_, atol=1e-3)
        assert other.certificates_.keys() == whole.certificates_.keys()
        kernel = whole.certificates_["kernel"].empirical
        assert other.certificates_["kernel"].empirical == pytest.approx(kernel, abs=1e-6)
    sets = others[2].predict_set(lazy[0], 0.2)
    assert_array_equal(sets.compute(), others[2].predict_set(X, 0.2))
    streamed = others[0].predict_set(scan([X[:100], X[100:]]), 0.2)
    assert_array_equal(np.concatenate(list(streamed)), others[0].predict_set(X, 0.2))


def test_equal_rows_and_groups_stay_together():
    X = rng(0).integers(0, 3, (500, 3)).astype(float)  # at most 27 kinds of rows
    source = MemorySource(X, np.arange(500))
    rule = Share(5, 0.3)
    aside, left = (part(source, rule, picked=p).X for p in (True, False))
    assert len(aside) + len(left) == 500
    assert not set(map(tuple, aside)) & set(map(tuple, left))
    X, y = problem(200)
    groups = np.repeat(np.arange(20), 10)
    model = small(certify=0.25, learner=PseudoPosterior("auto")).fit(X, y, groups=groups)
    assert model.unseen_.n == 50


def test_a_part_of_a_source_is_its_rows():
    X, y = problem(100)
    rule = Share(3, 0.4)
    for picked in (True, False):
        memory = part(MemorySource(X, y), rule, picked=picked)
        chunked = PartSource(MemorySource(X, y, block_bytes=300), rule, picked)
        assert_array_equal(np.concatenate([b.X for b in chunked.blocks(0)]), memory.X)
        assert_array_equal(np.concatenate([b.y for b in chunked.blocks(0)]), memory.y)
    with pytest.raises(ValueError, match="no outputs"):
        chunked.map(len, dtype=float, width=None)


def test_categories_are_set_aside_too():
    pd = pytest.importorskip("pandas")
    X, y = problem(400)
    table = pd.DataFrame(X, columns=list("abc"))
    table["kind"] = np.where(X[:, 2] > 0, "up", "down")
    table.loc[::7, "a"] = np.nan
    table.loc[::5, "kind"] = None
    model = KernelClassifier(n_components=20, random_state=0, certify=True).fit(table, y)
    order = rng(1).permutation(400)
    again = KernelClassifier(n_components=20, random_state=0, certify=True).fit(
        table.iloc[order], y[order]
    )
    assert 40 < model.unseen_.n < 130
    assert again.unseen_.n == model.unseen_.n
    assert again.unseen_.errors == pytest.approx(model.unseen_.errors, abs=1)


# --- what they prove ----------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("head", ["logistic", "ridge"])
def test_prediction_sets_cover(classes, head):
    """Over models and new rows alike; a set is never empty and shrinks with alpha."""
    X_new, y_new = problem(4000, 99, classes)
    covered, sizes = {0.05: [], 0.3: []}, {0.05: [], 0.3: []}
    for seed in range(12):
        X, y = problem(300, seed, classes)
        model = small(certify=0.4, head=head, random_state=seed).fit(X, y)
        for alpha in covered:
            inside = model.predict_set(X_new, alpha)
            assert inside.shape == (4000, classes)
            assert inside.any(axis=1).all()
            picked = np.searchsorted(model.classes_, model.predict(X_new))
            assert inside[np.arange(4000), picked].all()
            covered[alpha].append(inside[np.arange(4000), y_new].mean())
            sizes[alpha].append(inside.sum(axis=1).mean())
    for alpha, shares in covered.items():
        assert np.mean(shares) >= 1 - alpha - 3 * np.std(shares) / np.sqrt(12)
    assert np.mean(sizes[0.3]) < np.mean(sizes[0.05])


def test_intervals_cover():
    X_new = rows(4000, 3, 99)
    shares = []
    for seed in range(12):
        X = rows(300, 3, seed)
        y = np.sin(2 * X[:, 0]) + 0.3 * rng(seed + 100).standard_normal(300)
        model = KernelRegressor(FIXED, n_components=20, random_state=seed, certify=0.4).fit(X, y)
        ends = model.predict_interval(X_new, 0.2)
        assert ends.shape == (4000, 2)
        truth = np.sin(2 * X_new[:, 0]) + 0.3 * rng(5).standard_normal(4000)
        shares.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
        certificate = model.certificate_
        assert certificate.holds
        assert certificate.bound > 0.1
        assert "away from its prediction" in certificate.quantity
    assert 0.8 - 3 * np.std(shares) / np.sqrt(12) <= np.mean(shares) <= 0.86


def test_the_error_certificate_covers():
    """30 models, each with a statement at 0.95 about its error, held against 5,000 new rows."""
    X_new, y_new = problem(5000, 99)
    wrong = 0
    for seed in range(30):
        X, y = problem(200, seed)
        model = small(certify=0.4, random_state=seed).fit(X, y)
        wrong += np.mean(model.predict(X_new) != y_new) > model.certificate_.bound + 0.01
        assert model.certificate_.holds
    assert wrong <= 5  # 5 or fewer of 30 have probability 0.997 at one in twenty


def test_kernel_certificate_is_the_loss_of_the_kernel():
    for classes in (2, 3):
        X, y = problem(120, 3, classes)
        for learner in ("uniform", "alignment", PseudoPosterior(1.0)):
            for family in (FIXED, Gaussian(1.5)):
                f = LearnedFeatures(family, learner, 40, 8, random_state=0).fit(X, y)
                fm, task = f.feature_map_, Task("classification", classes)
                loss, n = pair_loss(
                    MemorySource(X, y, block_bytes=500), fm, Target(task, None, False)
                )
                K = fm.kernel(X) / kernel_bound(fm)
                assert np.abs(K).max() <= 1 + 1e-9
                S = np.where(np.equal.outer(y, y), 1.0, -1.0)
                off = ~np.eye(120, dtype=bool)
                assert n == 120
                assert loss == pytest.approx(np.mean((1 - (S * K)[off]) / 2))


@pytest.mark.parametrize("classes", [2, 3])
def test_head_certificate(classes):
    X, y = problem(600, 0, classes)
    model = small(certify=True, learner="uniform").fit(X, y)
    found = model.certificates_["head"]
    assert found.holds
    aside = Share(int(rng(0).integers(2**62)) ^ 0x5DEECE66D, 0.2).mask(
        next(iter(MemorySource(X).blocks()))
    )
    phi = np.column_stack([model.feature_map_(X[~aside]), np.ones(np.sum(~aside))])
    W = np.column_stack([model.coef_, model.intercept_])
    assert found.empirical == pytest.approx(np.mean(model.predict(X[~aside]) != y[~aside]))
    if classes == 2:
        signs = np.where(y[~aside] == 1, 1.0, -1.0)
        margins = signs * (phi @ W[0]) / np.linalg.norm(W) / np.linalg.norm(phi, axis=1)
        assert found.bound == pytest.approx(pac_bayes_linear(margins).bound)
        return
    s, generator, wrong = found.details["scale"], rng(1), []  # the Gaussian itself, by draws
    for _ in range(300):
        drawn = s * W / np.linalg.norm(W) + generator.standard_normal(W.shape)
        wrong.append(np.mean((phi @ drawn.T).argmax(axis=1) != y[~aside]))
    assert found.details["error of the Gaussian"] >= np.mean(wrong) - 0.01
    assert s in SCALES


def test_learners_certificates_name_what_is_broken():
    X, y = problem(300)
    fixed = small(learner=PseudoPosterior(1.0)).fit(X, y)
    assert fixed.certificate_.holds
    assert "Theorem 3" in fixed.certificate_.name
    assert fixed.certificate_.to_dict()["delta"] == 0.05
    fitted = small(family="auto", preprocess="auto", learner="pseudo_posterior").fit(X, y)
    reasons = " ".join(fitted.certificate_.broken)
    assert "bandwidth" in reasons
    assert "columns were scaled" in reasons
    features = LearnedFeatures(Gaussian(), PseudoPosterior(1.0), 40, 8, random_state=0).fit(X, y)
    assert "bandwidth" in " ".join(features.certificate_.broken)
    aside = clone(features).set_params(certify=True).fit(X, y)
    assert aside.certificate_.holds
    assert "set aside" in aside.certificate_.name


def test_refusals():
    X, y = problem(100)
    plain = small().fit(X, y)
    with pytest.raises(AttributeError, match="certify=True"):
        _ = plain.certificate_
    with pytest.raises(ValueError, match="certify=True"):
        plain.predict_set(X)
    with pytest.raises(AttributeError, match="certify=True"):
        _ = LearnedFeatures(n_components=8).fit(X).certificate_
    for share in (0.0, 1.0, -0.5, "yes", None, 2):
        with pytest.raises(ValueError, match="certify="):
            small(certify=share).fit(X, y)
    model = small(certify=0.2).fit(X, y)
    for alpha in (0.0, 1.0, -1.0, "x", None, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            model.predict_set(X, alpha)
    with pytest.raises(ValueError, match="rows set aside"):
        model.predict_set(X, 1e-3)
    with pytest.raises(ValueError, match="aside"):
        small(certify=0.5).fit(np.zeros((50, 2)), np.arange(50) % 2)
    lonely = np.r_[np.zeros(99, int), 1]
    outcomes = []
    for seed in range(20):
        try:
            small(certify=0.5, random_state=seed).fit(X, lonely)
        except ValueError as error:
            outcomes.append("aside" in str(error))
    assert outcomes
    assert all(outcomes)
    two = KernelRegressor(FIXED, n_components=8, certify=True).fit(X, X[:, :2])
    with pytest.raises(ValueError, match="one target"):
        two.predict_interval(X)
    assert rank(19, 0.05) == 19
    assert rank(9, 0.1) == 9


# --- kernels where scikit-learn takes one ------


class Learned(Kernel):
    """A kernel matrix function as scikit-learn's Gaussian processes take one: no parameters."""

    def __init__(self, function):
        self.function = function

    def __call__(self, X, Y=None, eval_gradient=False):
        K = self.function(X, Y)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X):
        return np.diagonal(self.function(X)).copy()

    def is_stationary(self):
        return False


@pytest.mark.parametrize("learner", ["uniform", "alignment", PseudoPosterior(1.0)], ids=str)
def test_kernels_go_into_svc_and_gaussian_processes(learner):
    X, y = problem(150)
    features = LearnedFeatures(FIXED, learner, 400, 40, random_state=0).fit(X, y)
    for kernel in (features.kernel, features.feature_map_.kernel):
        machine = SVC(kernel=kernel, C=10.0).fit(X, y)
        assert machine.score(X, y) > 0.8
        process = GaussianProcessRegressor(Learned(kernel), alpha=0.1)
        assert process.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5
    K = features.kernel(X)
    assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert_allclose(features.kernel(X[:5], X[5:9]), K[:5, 5:9], atol=1e-12)
    assert_allclose(features.kernel(sparse.csr_array(X[:5]), X[5:9]), K[:5, 5:9], atol=1e-12)
    with pytest.raises(ValueError, match="memory"):
        features.kernel(scan([X]))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_groups_are_set_aside_whole_also_where_targets_are_mapped(kind):
    X = rng(20).standard_normal((300, 2))
    groups = rng(21).integers(0, 30, 300)
    X[:, 1] = groups
    source, _ = for_learning(MemorySource(X, (X[:, 0] > 0).astype(int)), kind)
    parts = set_aside(0.3, source, holding(0.25, X, None, groups), 0)
    fit, aside = (
        np.concatenate([b.X for b in part.blocks(0)]) for part in (parts.fit, parts.aside)
    )
    assert len(fit) + len(aside) == 300
    assert not set(fit[:, 1]) & set(aside[:, 1])
    inner = parts.held.rule(5).mask(next(iter(parts.fit.blocks(0))))
    assert not set(fit[inner, 1]) & set(fit[~inner, 1])
    assert 0.1 < inner.mean() < 0.4


@pytest.mark.parametrize(
    "model",
    [
        LearnedFeatures(learner="alignment", n_components=8, n_candidates=32, certify=0.3),
        KernelRegressor(n_components=8, certify=0.3),
        LandmarkFeatures(5, certify=0.3),
    ],
)
def test_estimators_certify_with_groups(model):
    X, groups = rng(22).standard_normal((300, 2)), np.arange(300) // 10
    model.set_params(random_state=0).fit(X, (X[:, 0] > 0).astype(int), groups=groups)
    whole = model.certificate_.details["n"]
    assert whole % 10 == 0
    assert 60 <= whole <= 120
