"""Curves cut from one map, and exact kernel machines: against the fits they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from bochner import LearnedFeatures
from bochner.datasets import load, names
from bochner.experiments import (
    RELATIVE,
    Experiment,
    KernelMachine,
    Penalised,
    Split,
    Trial,
    curve,
    of_curve,
    run,
)
from bochner.families import Gaussian, Linear, Taylor, Union
from bochner.learners import Alignment, Energy, Greedy

HEAD = Penalised("logistic", (1e-4,))
RIDGE = Penalised("ridge", (1e-4,))


def split(seed=0, task="classification"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.1 * rng.standard_normal(400)
    y = np.where(y > 0, "up", "down") if task == "classification" else y
    return Split("made", X[:250], y[:250], X[250:], y[250:], task=task)


LEARNERS = {
    "uniform": (Gaussian(1.0), "uniform", 12),
    "alignment": (Gaussian(1.0), Alignment(0.1, use="top"), 60),
    "energy": (Gaussian(1.0), Energy(), 60),
    "greedy": (Union([Taylor(2, 2.0), Linear()]), Greedy(2), "all"),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_cut_is_the_fit_at_that_size(name, task):
    """The same columns as a fit of that size, so the same features up to a factor."""
    family, learner, N = LEARNERS[name]
    data, head = split(task=task), HEAD if task == "classification" else RIDGE
    most, *others = curve(name, family, learner, N, (4, 12, 6), head)
    assert (most.size, [one.size for one in others]) == (12, [6, 4])
    earlier = {most.name: most.fit(data, 0, {})}
    for method in others:
        found = method.fit(data, 0, earlier)
        assert found.n_features == method.size
        candidates = 19 if N == "all" else 12 if name == "uniform" else N
        if name == "uniform":  # a draw of fewer is another draw
            phi = earlier[most.name].keep.whole(data.X)[:, : method.size]
        else:
            alone = LearnedFeatures(family, learner, candidates, method.size, task=task)
            phi = alone.set_params(random_state=0).fit(data.X, data.y).transform(data.X)
        ours = earlier[most.name].keep.whole.truncate(method.size)(data.X)
        assert_allclose(ours / np.linalg.norm(ours), phi / np.linalg.norm(phi), atol=1e-9)


def test_penalties_are_chosen_without_test_rows():
    """Other test rows change no prediction."""
    data, spoiled = split(), split()
    spoiled.y_test[:] = "up"
    methods = curve("g", "linear", Greedy(), "all", (2, 4), Penalised("logistic", (1e-6, 1e-1)))
    for one in methods:
        a, b = one.fit(data, 0, {}), one.fit(spoiled, 0, {})
        assert a.stats["penalty"] == b.stats["penalty"]
        assert_array_equal(a.predict(data.X_test), b.predict(data.X_test))


def test_as_lines_of_an_experiment():
    methods = curve("g", Union([Taylor(2, 2.0), Linear()]), Greedy(), "all", (3, 6), HEAD)
    made = run(Experiment("e", "t", "p", lambda quick: [Trial(split, methods, seeds=(0, 1))]))
    assert [line.method for line in made.lines] == ["g, M = 6", "g, M = 3"]
    assert {of_curve(line) for line in made.lines} == {"g"}
    assert [line.n_features for line in made.lines] == [6, 3]
    columns = made.lines[0].stats["columns"][0]
    assert sum(int(part.split()[-1]) for part in columns.split(", ")) == 6


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("family", [Gaussian(1.5), Union([Gaussian(1.5), Linear()])])
def test_kernel_machines_are_scikit_learns(family, task):
    data = split(task=task)
    found = KernelMachine("GK", family, penalties=(0.1,)).fit(data, 0, {})
    order = np.random.default_rng(0).permutation(250)

    def kernel(A, B):
        gauss = np.exp(-np.square(A[:, None] - B).sum(axis=2) / (2 * 1.5**2))
        return gauss if isinstance(family, Gaussian) else 0.5 * gauss + 0.5 * A @ B.T / 4

    X, y = data.X[order], data.y[order]
    if task == "classification":
        slow = SVC(C=10.0, kernel=kernel).fit(X, y).predict(data.X_test)
        assert_array_equal(found.predict(data.X_test), slow)
    else:
        slow = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernel(X, X), y - y.mean())
        expected = slow.predict(kernel(data.X_test, X)) + y.mean()
        assert_allclose(found.predict(data.X_test), expected, rtol=1e-6, atol=1e-8)


def test_a_machine_takes_its_share_and_refuses_too_much():
    found = KernelMachine("GK", Gaussian(1.0), share=0.2, penalties=(1.0,)).fit(split(), 0, {})
    assert found.stats["rows"] == 50
    big = Split("big", *(np.zeros(s) for s in ((10**5, 1), 10**5, (2, 1), 2)))
    with pytest.raises(MemoryError, match="GiB"):
        KernelMachine("GK", Gaussian(1.0), most_rows=10**5).fit(big, 0, {})


def test_the_relative_error():
    assert RELATIVE.of([3.0, 4.0], [3.0, 3.0]) == pytest.approx(20.0)
    assert RELATIVE.of([3.0, 4.0], [0.0, 0.0]) == pytest.approx(100.0)


def test_shares_of_articles():
    assert "online_news_shares" in names()
    data = load("online_news_shares") if _at_hand() else None
    if data is None:
        pytest.skip("the data are not at hand")
    assert data.task == "regression"
    assert np.isfinite(data.y).all()
    assert len(data.X) == len(data.y) == 28_800


def _at_hand():
    from bochner.datasets import DataUnavailableError

    try:
        load("online_news")
    except DataUnavailableError:
        return False
    return True
