"""`PseudoPosterior`: losses against pairs as printed, the posterior's optimality, laws, columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special

import naive_posterior as naive
from bochner import KernelClassifier, KernelRegressor, LearnedFeatures
from bochner.families import ArcCosine, Cauchy, Gaussian, Laplace
from bochner.learners import PseudoPosterior
from bochner.learners.alignment import LabelKernel
from bochner.learners.base import Request, Task
from bochner.learners.held_out import Share
from bochner.learners.pseudo_posterior import losses, path, posterior
from bochner.learners.pseudo_posterior.learner import _Run
from bochner.rows import Hook, MemorySource
from make import rng, rows

CLASSES, PAIR, AMOUNT = Task("classification", 3), Task("classification", 2), Task("regression")
PAIRS, PHASES = Gaussian(1.0, form="pair"), Gaussian(1.0)
X = rows(40, 3)
Y3 = np.minimum(rng(1).integers(0, 4, 40), 2)
Y2 = (X[:, 0] > 0).astype(int)
T1 = X[:, 0] ** 2 + 50.0
T2 = np.column_stack([T1, 1e3 * X[:, 1]])


def learn(X, y, task, learner=None, *, weight=None, family=PAIRS, D=8, N=32, **options):
    """(feature map, selection) of the learner by itself."""
    learner = PseudoPosterior(1.0) if learner is None else learner
    generator = rng(0)
    held_out = Share(int(generator.integers(2**62)))  # as the estimators do
    request = Request(family, N, D, task, generator, Hook(), held_out)
    return learner.learn(MemorySource(X, y, weight, **options), request)


def frequencies(fm, found):
    """The frequency behind each column of the map."""
    k = fm.n_features // len(fm.atoms["frequencies"])
    return found.stats["columns"][::k] // k, fm.atoms["frequencies"]


# --- losses and posterior ----------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_losses_are_means_over_pairs(n_classes):
    y = rng(n_classes).integers(0, n_classes, 40)
    W = rng(1).standard_normal((6, 3))
    S = np.stack([np.exp(1j * X[y == c] @ W.T).sum(axis=0) for c in range(n_classes)], axis=1)
    similarity = naive.class_similarity(y)
    expected = [naive.second_order(X, similarity, w) for w in W]
    assert_allclose(losses(S, 40), expected, rtol=1e-12)
    if n_classes == 2:
        signs = (S[:, 1] - S[:, 0])[:, None]
        assert_allclose(losses(signs, 40, similarity="factor"), expected, rtol=1e-12)


def test_the_posterior_minimises_the_bound():
    """Gibbs: loss + KL / (beta sqrt n) is least at Q and rises by KL(R | Q) / t elsewhere."""
    x, n, beta = rng(0).random(20), 50, 2.0
    Q, t = posterior(x, n, beta), beta * np.sqrt(n)

    def bound(R):
        return R @ x + special.rel_entr(R, 1 / 20).sum() / t

    for seed in range(5):
        R = rng(seed).dirichlet(np.ones(20))
        assert bound(R) - bound(Q) == pytest.approx(special.rel_entr(R, Q).sum() / t, rel=1e-9)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(1e-300, 1e308),
    st.integers(2, 10**9),
)
def test_any_beta_gives_weights(values, beta, n):
    Q = posterior(values, n, beta)
    assert np.isfinite(Q).all()
    assert Q.sum() == pytest.approx(1.0)
    with np.errstate(over="ignore"):
        assert_allclose(Q, naive.posterior(values, n, beta), atol=1e-12)


def test_path_is_lazy_and_agrees():
    x = rng(0).random(100)
    found = path(x, 400, np.geomspace(0.01, 10, 20))
    assert len(found) == 20
    assert len(found[3:7]) == 4
    for beta, one in zip(found.betas, found, strict=True):
        assert_array_equal(one.weights, posterior(x, 400, beta))
        assert one.stats["effective"] == pytest.approx(1 / np.sum(one.weights**2))
        assert one.stats["kl"] == pytest.approx(special.rel_entr(one.weights, 0.01).sum())
    assert np.all(np.diff(found.effective) < 0)
    assert found[3:7].at(2.0).weights.argmax() == x.argmin()
    for size in (90.0, 10.0, 2.0):
        assert path(x, 400, found.beta_of(size)).effective == pytest.approx(size, rel=1e-6)


# --- the learner ------------------------------------------------------------------------------

CASES = {
    "two": (Y2, PAIR, "raw", naive.class_similarity(Y2)),
    "three": (Y3, CLASSES, "raw", naive.class_similarity(Y3)),
    "amount": (T1, AMOUNT, "raw", naive.amount_similarity(T1)),
    "amounts": (T2, AMOUNT, "raw", naive.amount_similarity(T2)),
    "factor": (T1, AMOUNT, LabelKernel(np.sin, False), np.outer(np.sin(T1), np.sin(T1))),
}


def centre(S):
    C = np.eye(len(S)) - 1 / len(S)
    return C @ S @ C


CASES["two centred"] = (Y2, PAIR, "centered", centre(CASES["two"][3]))
CASES["three centred"] = (Y3, CLASSES, "centered", centre(CASES["three"][3]))
CASES["amount centred"] = (T1, AMOUNT, "centered", centre(CASES["amount"][3]))


@pytest.mark.parametrize("family", [PAIRS, PHASES, Laplace(2.0, form="pair"), Cauchy(1.0)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_losses_of_a_fit_are_means_over_pairs(name, family):
    y, task, target, similarity = CASES[name]
    fm, found = learn(X, y, task, PseudoPosterior(1.0, target=target), family=family)
    which, W = frequencies(fm, found)
    expected = [naive.second_order(X, similarity, w) for w in W]
    assert_allclose(found.path.losses[which], expected, rtol=1e-9)
    k = family.columns_per_atom
    assert_allclose(found.scores, np.repeat(1 - 2 * found.path.losses, k))
    assert_allclose(found.weights, np.repeat(posterior(found.path.losses, 40, 1.0) / k, k))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("beta", [1.0, "auto"])
def test_a_row_of_weight_two_is_the_row_twice(task, beta):
    y, task = (Y3, CLASSES) if task == "classification" else (T2, AMOUNT)
    w = rng(3).integers(0, 4, 40).astype(float)
    copies = np.repeat(np.arange(40), w.astype(int))
    learner = PseudoPosterior(beta)
    same(learn(X, y, task, learner, weight=w), learn(X[copies], y[copies], task, learner))


def same(one, other):
    """Two results that are equal to rounding."""
    assert_allclose(one[1].path.losses, other[1].path.losses, rtol=1e-9)
    assert_allclose(one[1].weights, other[1].weights, atol=1e-9)
    assert_array_equal(one[1].stats["columns"], other[1].stats["columns"])
    assert_allclose(one[0].weights, other[0].weights, atol=1e-9)


@pytest.mark.parametrize("beta", [1.0, "auto"])
def test_chunks_order_and_layout_do_not_matter(beta):
    learner, order = PseudoPosterior(beta), rng(5).permutation(40)
    whole = learn(X, Y3, CLASSES, learner)
    same(whole, learn(X, Y3, CLASSES, learner, block_bytes=200))
    same(whole, learn(X[order], Y3[order], CLASSES, learner))
    same(whole, learn(sparse.csr_array(X), Y3, CLASSES, learner))


@pytest.mark.parametrize("family", [PAIRS, PHASES], ids=["pair", "phase"])
@pytest.mark.parametrize("use", ["sample", "weight", "top"])
def test_columns_carry_the_kept_measure(use, family):
    fm, found = learn(X, Y3, CLASSES, PseudoPosterior(1.0, use), family=family)
    k = family.columns_per_atom
    which, _ = frequencies(fm, found)
    assert fm.n_features == k * len(set(which)) <= 8
    assert np.sum(fm.weights**2) == pytest.approx(1.0)
    Q = posterior(found.path.losses, 40, 1.0)
    q = k * fm.weights[::k] ** 2
    if use == "sample":
        assert_allclose(q * (8 // k), np.round(q * (8 // k)), atol=1e-9)
    else:
        assert_array_equal(np.sort(which), np.sort(np.argsort(-Q)[: 8 // k]))
        kept = Q[which] if use == "weight" else np.ones(len(which))
        assert_allclose(q, kept / kept.sum(), rtol=1e-9)


def test_draws_follow_the_posterior():
    """The kernel of the draws has that of the weights as its mean."""
    source, kernels = MemorySource(X, Y3), []
    whole = Request(PAIRS, 32, 32, CLASSES, rng(0), Hook())
    exact = PseudoPosterior(1.0, "weight").learn(source, whole)[0].kernel(X[:5], X[5:9])
    run = _Run.begin(PseudoPosterior(1.0), source, Request(PAIRS, 32, 8, CLASSES, rng(0), Hook()))
    found = run.path_of(run.all)
    for seed in range(400):
        fm, _ = run.keep(found, 1.0, rng(seed))
        kernels.append(fm.kernel(X[:5], X[5:9]))
    error = np.mean(kernels, axis=0) - exact
    assert np.abs(error / (np.std(kernels, axis=0) / 20)).max() < 4.5


def test_auto_avoids_the_degenerate_end():
    X, y = rows(600, 4, 1), (rows(600, 4, 1)[:, 0] * rows(600, 4, 1)[:, 1] > 0).astype(int)
    _, found = learn(X, y, PAIR, PseudoPosterior("auto"), D=20, N=400)
    assert np.isfinite(found.stats["errors"]).all()
    assert found.stats["beta"] in found.stats["betas"]
    sizes = path(found.path.losses, 600, found.stats["betas"]).effective
    assert sizes.min() >= 0.7 * 10
    assert found.stats["effective"] >= 0.7 * 10


def test_informative_frequencies_are_found():
    """Labels that depend on one direction: the posterior's frequencies lie along it."""
    X = rows(3000, 8)
    y = (np.sin(3 * X[:, 0]) > 0).astype(int)
    fit = {}
    for learner in ("uniform", PseudoPosterior(4.0, "top")):
        f = LearnedFeatures(Gaussian(1.0), learner, 2000, 20, random_state=0).fit(X, y)
        W = f.feature_map_.atoms["frequencies"]
        fit[str(learner)] = np.median(np.abs(W[:, 0]) / np.linalg.norm(W, axis=1))
    first, second = fit.values()
    assert second > 1.5 * first


def test_estimators_and_streams():
    from bochner import scan

    learner = PseudoPosterior("auto")
    model = KernelClassifier(learner=learner, n_components=40, random_state=0).fit(X, Y2)
    assert model.score(X, Y2) > 0.9
    fit = LearnedFeatures(PAIRS, learner, 80, 8, task="classification", random_state=0)
    parts = [(X[:13], Y2[:13]), (X[13:30], Y2[13:30]), (X[30:], Y2[30:])]
    streamed = fit.fit(scan(parts)).selection_
    whole = fit.fit(X, Y2).selection_
    assert_allclose(streamed.weights, whole.weights, rtol=1e-9)
    assert KernelRegressor(learner="pseudo_posterior", n_components=40).fit(X, T1).score(X, T1) > 0


@pytest.mark.parametrize("beta", [0.0, -1.0, np.inf, np.nan, "big", None, True])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta"):
        learn(X, Y2, PAIR, PseudoPosterior(beta))


def test_refusals():
    with pytest.raises(ValueError, match="Fourier family"):
        learn(X, Y2, PAIR, family=ArcCosine(1))
    with pytest.raises(ValueError, match="Ask for 8"):
        learn(X, Y2, PAIR, D=7)
    with pytest.raises(ValueError, match="use="):
        learn(X, Y2, PAIR, PseudoPosterior(1.0, "draw"))
    with pytest.raises(ValueError, match="at least two"):
        learn(X[:1], T1[:1], AMOUNT)
    with pytest.raises(ValueError, match="shares"):
        learn(X, Y2, PAIR, weight=np.full(40, 1 / 40))
    with pytest.raises(ValueError, match="finite"):
        posterior([np.nan, 1.0], 10, 1.0)
    lonely = np.r_[np.zeros(39, int), 1]
    with pytest.raises(ValueError, match="one row"):
        learn(X, lonely, PAIR)
    with pytest.raises(ValueError, match="one row"):
        learn(X, np.r_[np.arange(39) % 2, 2], CLASSES, PseudoPosterior("auto"))
    for classes in (1, 2, 3):
        with pytest.raises(ValueError, match="one class"):
            learn(X, np.zeros(40, int), Task("classification", classes))


# --- what is certified of a fit ----------------------------------------------------------------


@pytest.mark.parametrize("use", ["sample", "weight", "top"])
def test_certificate_is_of_the_measure_in_use(use):
    learner = PseudoPosterior("auto", use)
    fm, found = learn(X, Y2, PAIR, learner)
    certificate = learner.certificate(found, 40, 2**0.5, 0.05)
    q = 2 * fm.weights[::2] ** 2
    similarity = naive.class_similarity(Y2)
    K = fm.kernel(X) * (1 - np.eye(40))
    loss = 0.5 - 0.5 * np.sum(similarity * K) / (40 * 39)
    assert certificate.empirical == pytest.approx(loss)
    assert certificate.complexity == pytest.approx(np.log(16) + np.sum(q * np.log(q)))
    assert certificate.holds
    assert certificate.bound > loss
    assert "not the error" in certificate.quantity
    assert certificate.details["candidates"] == 16


def test_broken_assumptions_are_named():
    def broken(*args, **options):
        learner = args[3] if len(args) > 3 else PseudoPosterior(1.0)
        found = learn(*args, **options)[1]
        return " ".join(learner.certificate(found, 40, 2**0.5, 0.05).broken)

    assert broken(X, Y3, CLASSES) == ""
    assert "centred" in broken(X, Y3, CLASSES, PseudoPosterior(1.0, target="centered"))
    assert "weights" in broken(X, Y3, CLASSES, weight=np.full(40, 2.0))
    assert "amounts" in broken(X, T1, AMOUNT)
    assert "label kernel" in broken(
        X, T1, AMOUNT, PseudoPosterior(1.0, target=LabelKernel(np.sin, False))
    )
    phase = learn(X, Y3, CLASSES, family=PHASES)[1]
    assert "phases" in PseudoPosterior(1.0).certificate(phase, 40, 2**0.5, 0.05).quantity
