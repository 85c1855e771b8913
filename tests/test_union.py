"""`Union`: the family contract on members of every kind, counts, weights and settings."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import naive
from bochner import KernelClassifier, LearnedFeatures
from bochner.families import ArcCosine, Cauchy, Gaussian, Laplace, Linear, Union
from bochner.feature_map import FeatureMap
from bochner.learners import PseudoPosterior
from make import rng, rows
from naive_posterior import class_similarity, second_order

UNIONS = {
    "two widths": Union([Gaussian(1.0), Gaussian(3.0)]),
    "weighted": Union([Gaussian(1.0), Laplace(2.0), Cauchy(1.0)], weights=[0.7, 0.2, 1.1]),
    "pairs and phases": Union([Gaussian(1.0, form="pair"), Laplace(2.0)], weights=[1.0, 0.1]),
    "with columns": Union([Gaussian(1.0, sampling="orthogonal"), Linear()], weights=[0.2, 0.8]),
    "unbounded": Union(["linear", ArcCosine(1)]),
    "one": Union([Laplace(1.0)]),
    "counted": Union([Gaussian(1.0), Laplace(1.0)], weights=[0.4, 0.6], counts=[30, 66]),
}


@pytest.fixture(params=UNIONS, ids=str)
def union(request):
    return clone(UNIONS[request.param])


def test_unbiased_over_seeds(union):
    X = rows(4, 3)
    exact = sum(nu * f.exact_kernel(X) for nu, f in zip(union._nu(), union.members, strict=True))
    assert_allclose(union.exact_kernel(X), exact)
    for N in (7, 96):
        if N == 7 and union.counts != "auto":
            continue
        if N % union.columns_per_atom:
            continue
        runs = np.array(
            [FeatureMap.uniform(union, N, 3, rng(seed)).kernel(X) for seed in range(400)]
        )
        noise = runs.std(axis=0) / np.sqrt(len(runs)) + 1e-9
        assert np.all(np.abs(runs.mean(axis=0) - exact) <= 5 * noise)


def test_kernel_of_many_columns(union):
    X = rows(10, 3)
    N = 96 if union.counts != "auto" else 40_000
    fm = FeatureMap.uniform(union, N, 3, rng(0))
    error = np.abs(fm.kernel(X) - union.exact_kernel(X)).max()
    assert error < 12.0 * union._nu().sum() / np.sqrt(N)


def test_bound(union):
    N = 96 if union.counts != "auto" else 600
    fm = FeatureMap.uniform(union, N, 3, rng(0))
    largest = np.abs(naive.features(fm, rows(200, 3)) / fm.weights).max()
    assert largest <= union.bound * (1 + 1e-12)
    if np.isfinite(union.bound):
        assert largest >= 0.99 * union.bound


def test_columns_of_equal_counts_are_scaled_by_the_roots_of_the_weights():
    union = Union([Gaussian(1.0), Laplace(1.0)], weights=[0.2, 0.8])
    stack = union.draw(100, 3, rng(0))
    a, b = (part.scale for part in stack.parts)
    assert [part.n_columns for part in stack.parts] == [50, 50]
    assert_allclose(b / a, np.sqrt(0.8 / 0.2))


@pytest.mark.parametrize(
    ("families", "N", "counts"),
    [
        ([Gaussian(1.0), Linear()], 20, [17, 3]),
        ([Linear(), Gaussian(1.0)], 4, [2, 2]),
        ([Linear(), Linear()], 5, [2, 3]),
        ([Gaussian(1.0, form="pair"), Gaussian(2.0, form="pair")], 12, [6, 6]),
        ([Gaussian(1.0, form="pair"), Laplace(2.0)], 6, [4, 2]),
        ([Gaussian(1.0, form="pair"), Linear()], 20, [18, 2]),
        ([Gaussian(1.0, form="pair"), Gaussian(2.0), Linear()], 40, [20, 18, 2]),
        ([Gaussian(1.0), Laplace(2.0), Linear()], 33, [15, 15, 3]),
    ],
)
def test_counts_are_shared_evenly(families, N, counts):
    seen = set()
    for seed in range(20):
        stack = Union(families).draw(N, 3, rng(seed))
        seen.add(tuple(part.n_columns for part in stack.parts))
    assert tuple(counts) in seen
    assert all(sum(found) == N for found in seen)


def test_settings_of_members_are_within_reach():
    first = Gaussian(1.0)
    union = Union([first, "laplace"])
    assert union.get_params()["0__bandwidth"] == 1.0
    union.set_params(**{"0__bandwidth": 2.0, "1__norm": "l1"})
    assert union.families[0].bandwidth == 2.0
    assert union.families[1].norm == "l1"
    assert first.bandwidth == 1.0  # the caller's own object
    with pytest.raises(ValueError, match="p__name with p from 0 to 1"):
        union.set_params(**{"2__bandwidth": 2.0})
    again = clone(union)
    assert repr(again) == repr(union)
    assert again.families[0] is not union.families[0]


def test_grid_search_reaches_a_member():
    X, y = rows(60, 3), rng(1).integers(0, 2, 60)
    model = KernelClassifier(Union([Gaussian(1.0), Linear()]), n_components=20, random_state=0)
    search = GridSearchCV(model, {"family__0__bandwidth": [0.5, 2.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.family.families[0].bandwidth in (0.5, 2.0)
    assert model.family.families[0].bandwidth == 1.0


def test_bandwidths_are_resolved_and_alignment_chooses_among_kernels():
    X = rows(400, 4)
    y = (np.sin(3 * X[:, 0]) > 0).astype(int)
    union = Union(["gaussian", Gaussian(0.3), Linear()])
    fit = LearnedFeatures(union, "alignment", 600, 30, random_state=0).fit(X, y)
    assert fit.feature_map_.family.members[0].bandwidth > 0
    assert union.families[0] == "gaussian"
    kinds = {name.split(":")[0] for name in fit.get_feature_names_out()}
    assert kinds <= {"gaussian0", "gaussian1", "linear"}
    assert fit.transform(X).shape == (400, fit.feature_map_.n_features)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (Union([]), "at least one family"),
        (Union(Gaussian(1.0)), "at least one family"),
        (Union("gaussian"), "at least one family"),
        (Union([Gaussian(1.0), "nothing"]), "not known"),
        (Union([Gaussian(1.0)], weights=[-1.0]), "positive number for each of the 1"),
        (Union([Gaussian(1.0)], weights=[1.0, 2.0]), "positive number for each of the 1"),
        (Union([Gaussian(1.0)], weights="even"), "use 'uniform'"),
        (Union([Gaussian(1.0)], counts="even"), "use 'auto'"),
        (Union([Gaussian(1.0), Linear()], counts=[1.5, 2]), "positive whole number"),
        (Union([Gaussian(1.0), Linear()], counts=[5, 9]), "at most 3"),
        (Union([Gaussian(1.0), Laplace(1.0)], counts=[5, 9]), "20 were"),
        (Union([Linear(), Linear()]), "6 for these rows"),
        (Union([Gaussian(1.0, form="pair"), Laplace(0.0)]), "bandwidth"),
    ],
)
def test_bad_settings_get_advice(given, match):
    with pytest.raises((ValueError, TypeError), match=match):
        given.draw(20, 3, rng(0))


def test_odd_counts_of_pairs_are_refused():
    union = Union([Gaussian(1.0, form="pair"), Laplace(1.0, form="pair")])
    with pytest.raises(ValueError, match="two columns"):
        union.draw(5, 3, rng(0))


class TestPosterior:
    """Frequencies of several families side by side, and their posterior."""

    X = rng(3).standard_normal((40, 3))
    y = (X[:, 0] > 0).astype(int)

    def fit(self, union, N=32):
        learner = PseudoPosterior(1.0, target="raw")
        return LearnedFeatures(union, learner, N, N, random_state=0).fit(self.X, self.y)

    @pytest.mark.parametrize("form", ["phase", "pair"])
    def test_losses_are_means_over_pairs(self, form):
        union = Union([Gaussian(1.0, form=form), Laplace(2.0, form=form)])
        model, k = self.fit(union), union.columns_per_atom
        atoms, columns = model.feature_map_.atoms, model.selection_.stats["columns"]
        labels = [name.split(":")[0] for name in model.feature_map_.names][::k]
        places = {label: iter(atoms[f"{label}.frequencies"]) for label in set(labels)}
        W = [next(places[label]) for label in labels]
        expected = [second_order(self.X, class_similarity(self.y), w) for w in W]
        scores = model.selection_.scores[columns][::k]
        assert_allclose(scores, 1.0 - 2.0 * np.array(expected), rtol=1e-9)

    @pytest.mark.parametrize(
        "union",
        [
            Union([Gaussian(1.0), Laplace(1.0)], weights=[1.0, 2.0]),
            Union([Gaussian(1.0), Laplace(1.0)], counts=[8, 24]),
            Union([Gaussian(1.0), Laplace(1.0, form="pair")]),
        ],
    )
    def test_a_prior_that_is_not_uniform_is_refused(self, union):
        with pytest.raises(ValueError, match="uniform prior"):
            self.fit(union)

    def test_other_columns_are_refused(self):
        with pytest.raises(ValueError, match="a union of them"):
            self.fit(Union([Gaussian(1.0), Linear()]), 6)
