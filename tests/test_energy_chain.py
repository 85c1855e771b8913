"""`Energy` against sums written out, and `Chain`: the columns of one learner given to the next."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from bochner import KernelClassifier, LearnedFeatures, scan
from bochner.families import Gaussian, Linear, Taylor, Union
from bochner.learners import Alignment, Chain, Energy, Greedy, PseudoPosterior, Uniform
from make import rows

X = rows(200, 5)
Y2 = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
Y3 = np.digitize(X[:, 0], [-0.5, 1.0])
T = 100.0 + np.sin(X[:, 0]) + X[:, 1]
T2 = np.column_stack([T, 1e3 * X[:, 2]])

TARGETS = {
    "two classes": (Y2, "raw", 2.0 * Y2 - 1.0),
    "two centred": (Y2, "centered", 2.0 * (Y2 - Y2.mean())),
    "three": (Y3, "auto", 2.0 * np.eye(3)[Y3] - 1.0),
    "amount": (T, "auto", (T - T.mean()) / T.std()),
    "amounts": (T2, "auto", (T2 - T2.mean(axis=0)) / T2.std(axis=0)),
    "amount raw": (T, "raw", T / np.sqrt(np.mean(T**2))),
}


def fit(y, learner, family=None, N=64, M=8, X=X, **options):
    task = "regression" if y is not None and y.dtype.kind == "f" else "classification"
    family = family or Gaussian(1.0)
    model = LearnedFeatures(family, learner, N, M, task=task, random_state=0, **options)
    return model.fit(X, y)


@pytest.mark.parametrize("name", TARGETS)
def test_energies_are_the_means_written_out(name):
    y, target, r = TARGETS[name]
    model = fit(y, Energy(target), M=64)
    found = model.selection_
    columns = found.stats["columns"]
    phi = model.transform(X) * 8.0  # weights are 1 / sqrt(64)
    slow = np.sqrt(((phi.T @ r.reshape(200, -1) / 200) ** 2).sum(axis=1))
    assert_allclose(found.scores[columns], slow, atol=1e-12)
    assert np.all(np.diff(slow) <= 1e-12)


def test_the_best_come_first_and_a_stream_agrees():
    few, many = fit(Y3, Energy(), M=5), fit(Y3, Energy(), M=20)
    assert_array_equal(few.selection_.stats["columns"], many.selection_.stats["columns"][:5])
    source = scan(np.column_stack([X, Y3]), target=-1, block_bytes=2_000)
    lazy = LearnedFeatures(Gaussian(1.0), "energy", 64, 5, task="classification", random_state=0)
    lazy.fit(source)
    assert_array_equal(lazy.selection_.stats["columns"], few.selection_.stats["columns"])


def test_dask():
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(70, 5)), da.from_array(Y3, chunks=70)
    model = LearnedFeatures(Gaussian(1.0), "energy", 64, 5, task="classification", random_state=0)
    columns = fit(Y3, Energy(), M=5).selection_.stats["columns"]
    assert_array_equal(model.fit(*lazy).selection_.stats["columns"], columns)


class TestChain:
    def test_greedy_prunes_what_alignment_kept(self):
        """By hand: align, then choose among the features that came out."""
        chain = fit(Y2, Chain([Alignment(0.05, use="top"), Greedy(5)]), N=400, M=4)
        aligned = fit(Y2, Alignment(0.05, use="top"), N=400, M=40)
        by_hand = LearnedFeatures("linear", Greedy(5), n_components=4, task="classification")
        by_hand.fit(aligned.transform(X), Y2)
        chosen = by_hand.selection_.stats["columns"]
        kept = aligned.selection_.stats["columns"][chosen]
        assert_array_equal(chain.selection_.stats["columns"], kept)
        assert_allclose(chain.transform(X), by_hand.transform(aligned.transform(X)), atol=1e-9)

    def test_selections_are_over_the_first_candidates(self):
        model = fit(Y3, Chain([Energy(), Greedy(per_step=3), Energy()]), N=200, M=6)
        found = model.selection_
        assert found.weights.shape == found.scores.shape == (200,)
        assert_array_equal(np.sort(found.stats["columns"]), found.support)
        assert_allclose(found.weights[found.support], 1.0 / 6)
        assert len(found.stats["stages"]) == 3
        alone = fit(Y3, Energy(), N=200, M=200)
        same = alone.feature_map_.take(
            [alone.selection_.stats["columns"].tolist().index(j) for j in found.stats["columns"]]
        )
        phi = same(X) * np.sqrt(200 / 6)
        spread = model.transform(X) / phi  # Greedy's weights are in the deviations of columns
        assert_allclose(spread, np.broadcast_to(spread[0], spread.shape))

    @pytest.mark.parametrize("first", [Uniform(), PseudoPosterior(1.0), Alignment(0.1)])
    def test_any_learner_may_come_first(self, first):
        model = KernelClassifier(Gaussian(1.0, form="pair"), Chain([first, Greedy(4)]), 128, 8)
        model.set_params(random_state=0).fit(X, Y3)
        assert model.feature_map_.n_features == 8

    def test_over_a_union(self):
        family = Union([Taylor(2, 3.0), Linear(), Gaussian(2.0)])
        for learner in (Energy(), Greedy(3), Chain([Alignment(0.1), "greedy"])):
            model = fit(T, learner, family, N=120, M=6)
            assert model.feature_map_.n_features == 6
            assert pickle.loads(pickle.dumps(model)).transform(X).shape == (200, 6)

    def test_settings_of_members(self):
        chain = Chain([Alignment(0.1), "greedy"])
        alignment = chain.learners[0]
        changed = clone(chain).set_params(**{"0__radius": 0.5, "1__per_step": 3})
        assert changed.get_params()["0__radius"] == 0.5
        assert changed.learners[1].per_step == 3
        assert alignment.radius == 0.1
        with pytest.raises(ValueError, match="Invalid parameter"):
            chain.set_params(**{"5__radius": 1})

    @pytest.mark.parametrize(
        ("learners", "said"),
        [
            ([], "at least one learner"),
            ("greedy", "at least one learner"),
            (Greedy(), "at least one learner"),
            ([Greedy(), PseudoPosterior(1.0)], "can only come first"),
        ],
    )
    def test_bad_members(self, learners, said):
        with pytest.raises(ValueError, match=said):
            fit(Y2, Chain(learners))

    def test_auto_counts_are_the_last_learners_to_choose(self):
        model = fit(Y2, Chain([Energy(), Greedy()]), N=200, M="auto")
        assert model.selection_.status == "held_out"


def test_energy_refuses_unknown_targets():
    with pytest.raises(ValueError, match="centered"):
        fit(Y2, Energy("centred"))
