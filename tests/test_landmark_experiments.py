"""What the experiments of Letarte et al. 2019 stand on: known truths, and choices off test rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.certificates import f_divergence
from bochner.experiments import Split
from bochner.experiments.drawn import Drawn, candidates
from bochner.experiments.known_truth import Mixture, worst_kl, worst_power
from bochner.experiments.landmarks import KernelSVM, LandmarkModel, Similarities, inners_of
from make import rng

WORLD = Mixture(np.array([0.5, 0.3, 0.2]), np.eye(3, 2) * 1.5, np.array([1.0, 0.5, 2.0]))


def split(n=240, seed=0):
    X = rng(seed).standard_normal((n + 100, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * X[:, 0] > 0, "odd", "even")
    return Split("made", X[:n], y[:n], X[n:], y[n:])


def poisoned(clean):
    return Split("made", clean.X, clean.y, np.full_like(clean.X_test, np.nan), None)


# --- known truths -----------------------------------------------------------------------------


def test_losses_of_a_mixture_are_means_over_pairs_of_rows():
    W, draws = rng(1).standard_normal((6, 2)), 400_000
    (A, a), (B, b) = WORLD.draw(draws, rng(2)), WORLD.draw(draws, rng(3))
    signs = np.where(a == b, 1.0, -1.0)
    seen = [np.mean(0.5 - 0.5 * signs * np.cos((A - B) @ w)) for w in W]
    assert_allclose(WORLD.losses(W), seen, atol=5 * 0.5 / np.sqrt(draws))
    signs = np.where(b == 1, 1.0, -1.0)
    place = np.array([0.3, -0.7])
    seen = [np.mean(0.5 - 0.5 * signs * np.cos((place - B) @ w)) for w in W]
    assert_allclose(WORLD.losses_at(W, place, 1), seen, atol=5 * 0.5 / np.sqrt(draws))


def test_the_error_of_a_rule_on_two_classes():
    two = Mixture(np.array([0.6, 0.4]), np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([1.0, 0.5]))
    X, y = two.draw(400_000, rng(4))
    seen = np.mean((X @ [1.0, 0.3] - 0.5 > 0) != y)
    assert two.error(np.array([1.0, 0.3]), -0.5) == pytest.approx(seen, abs=4e-3)


def test_the_worst_measure_is_attained_and_never_beaten():
    truth, seen = rng(5).random(30), rng(6).random(30)
    some = rng(7).dirichlet(np.full(30, 0.2), 500)
    t, worst = 9.0, worst_kl(truth, seen, 9.0)
    kl = np.sum(np.where(some > 0, some * np.log(np.maximum(some, 1e-300) * 30), 0.0), axis=1)
    assert np.all(t * some @ (truth - seen) - kl <= worst + 1e-9)
    Q = np.exp(t * (truth - seen))
    Q /= Q.sum()
    assert t * Q @ (truth - seen) - Q @ np.log(Q * 30) == pytest.approx(worst)
    for mu in (1.5, 2.0, 4.0):
        worst = worst_power(truth, seen, mu)
        power = np.mean((some * 30) ** mu, axis=1) ** (1 / mu)  # (D_mu + 1)^(1/mu)
        assert np.all(some @ (truth - seen) / power <= worst + 1e-9)
        Q = np.maximum(truth - seen, 0.0) ** (1 / (mu - 1))
        Q /= Q.sum()
        reached = Q @ (truth - seen) / np.mean((Q * 30) ** mu) ** (1 / mu)
        assert reached == pytest.approx(worst)


def test_the_worst_ratio_is_what_the_bound_multiplies():
    """slack(D) is slack(0) times (D + 1)^(1/mu), so that the ratio is to be compared with it."""
    for mu in (1.5, 4.0):
        plain, far = (f_divergence(0.0, D, 50, mu).bound for D in (0.0, 3.0))
        assert far == pytest.approx(plain * 4.0 ** (1 / mu))


# --- methods ------------------------------------------------------------------------------------


def test_choices_never_see_test_rows():
    methods = [
        KernelSVM("SVM", (0.1, 1.0, 10.0), choices=2),
        LandmarkModel("PB", (8, 32), (0.3, 3.0), choices=2),
        LandmarkModel("own", (8,), (1.0,), gammas=(0.1, 1.0)),
        *(Drawn(kind, kind, 8, 300) for kind in ("uniform", "posterior", "aligned")),
    ]
    for name in [method.name for method in methods]:
        answers = []
        for rows in (split(), poisoned(split())):
            earlier = {}
            for method in methods:
                earlier[method.name] = method.fit(rows, 0, earlier)
            answers.append((earlier[name].predict(split().X_test), earlier[name].stats))
        assert_array_equal(answers[0][0], answers[1][0])
        assert answers[0][1] == answers[1][1]
        assert np.mean(answers[0][0] != split().y_test) < 0.35


def test_the_choice_is_the_best_on_held_out_rows():
    rows = split()
    svm = KernelSVM("SVM", (1.0,)).fit(rows, 0, {})
    error = {}
    for beta in (0.01, 30.0):
        one = LandmarkModel("PB", (8,), (beta,)).fit(rows, 0, {"SVM": svm})
        error[beta] = one.stats["held-out error"]
    both = LandmarkModel("PB", (8,), (0.01, 30.0)).fit(rows, 0, {"SVM": svm})
    assert error[both.stats["beta"]] == min(error.values()) == both.stats["held-out error"]
    assert both.stats["gamma"] == 1.0


def test_plain_kernels_are_those_of_the_same_landmarks():
    rows = split()
    for kind in ("random", "kmeans"):
        learned, plain = (
            Similarities(0.05, kind, K, 1.0, 0.5).fit(rows, 3).landmarks_ for K in (16, None)
        )
        assert_array_equal(learned, plain)


def test_held_out_rows_are_the_same_for_all_methods():
    rows = split()
    assert inners_of(rows, 0, 100, 2) is inners_of(rows, 0, 100, 2)
    first, second = inners_of(rows, 0, 100, 2)
    assert len(first.y) + len(first.y_test) == 100
    assert not np.array_equal(first.X_test, second.X_test)


@pytest.mark.parametrize("kind", ["posterior", "aligned"])
def test_measures_have_the_effective_sample_size_asked_for(kind):
    made = candidates(split(), 0, 0.5, 400)
    for size in (300.0, 40.0, 3.0):
        Q = made.measure(kind, size)
        assert Q.sum() == pytest.approx(1.0)
        assert 1.0 / np.sum(Q**2) == pytest.approx(size, rel=1e-6)
        assert Q @ made.losses < made.losses.mean()
    fm = made.draw(made.measure(kind, 40.0), 25, 0)
    assert np.sum(fm.weights**2) == pytest.approx(2.0)  # a cosine and a sine for each draw


def test_weights_for_another_beta_are_those_of_a_fit_with_it():
    rows = split()
    for beta in (0.3, 8.0):
        spec = Similarities(0.05, "kmeans", 16, beta, 0.5)
        fitted = spec.fit(rows, 3).feature_map_
        assert_allclose(spec.features(rows, 3)(rows.X), fitted(rows.X), rtol=1e-12)
