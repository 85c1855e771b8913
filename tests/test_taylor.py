"""`Taylor`: the family contract, its columns as printed, products by BLAS, and refusals."""

from itertools import combinations_with_replacement, pairwise
from math import comb, factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from bochner import LearnedFeatures
from bochner.families import Linear, Taylor, Union
from bochner.families.taylor import monomials
from bochner.learners import Alignment, Greedy
from bochner.ops import features, project, reference
from contract import FamilyContract
from make import rng, rows


class TestTaylor(FamilyContract):
    family = Taylor

    def slow_kernel(self, family, x, y):
        x, y = x / family.bandwidth, y / family.bandwidth
        t = sum((x @ y) ** k / factorial(k) for k in range(family.degree + 1))
        return np.exp(-(x @ x + y @ y) / 2) * t


del FamilyContract


def printed(X, s):
    """The second-order map as the paper prints it, by name."""
    d = X.shape[1]
    g = np.exp(-(X**2).sum(axis=1) / (2 * s**2))
    found = {"1": g}
    for i in range(d):
        found[f"x{i}"] = g * X[:, i] / s
        found[f"x{i}^2"] = g * X[:, i] ** 2 / (np.sqrt(2) * s**2)
        for j in range(i + 1, d):
            found[f"x{i}*x{j}"] = g * X[:, i] * X[:, j] / s**2
    return found


def test_columns_are_those_of_the_paper():
    X, s = rows(50, 6), 2.5
    columns = Taylor(2, s).draw(28, 6, rng())
    phi = features(X, columns) / np.sqrt(28)
    slow = printed(X, s)
    assert set(columns.names()) == set(slow)
    for name, column in zip(columns.names(), phi.T, strict=True):
        assert_allclose(column, slow[name], atol=1e-12)


@pytest.mark.parametrize(("d", "degree"), [(1, 1), (1, 4), (4, 2), (5, 3), (90, 2)])
def test_every_monomial_once(d, degree):
    N = monomials.count(d, degree)
    found = monomials.unranked(np.arange(N), d, degree)
    every = set(combinations_with_replacement(range(d + 1), degree))
    assert {tuple(row) for row in found.tolist()} == every
    assert comb(d + degree, degree) == N
    if (d, degree) == (90, 2):
        assert N == 4186  # the paper's M_0 at d = 90


def test_high_degrees_come_close_to_the_gaussian():
    X = 0.4 * rows(30, 3)
    exact = rbf_kernel(X, gamma=0.5)
    errors = [np.abs(Taylor(k, 1.0).exact_kernel(X) - exact).max() for k in (1, 2, 4, 8, 16)]
    assert all(b < 0.7 * a for a, b in pairwise(errors))
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("outputs", [1, 12])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_project_on_either_way(degree, outputs, dtype):
    X = rows(3000, 9).astype(dtype)
    R = rng(1).standard_normal((3000, outputs))
    columns = Taylor(degree, 2.0).draw(monomials.count(9, degree), 9, rng())
    some = columns.take(rng(2).permutation(columns.n_columns)[:20])
    for p in (columns, some, columns.take(np.array([3]))):
        slow = reference.features(X.astype(np.float64), p).T @ R
        tol = 1e-10 if dtype == np.float64 else 2e-5
        assert_allclose(project(X, p, R), slow, atol=tol * np.abs(slow).max() * 10)
        thin = project(sparse.csr_array(X), p, R)
        assert_allclose(thin, slow, atol=tol * np.abs(slow).max() * 10)


def test_a_subset_is_drawn_without_replacement():
    columns = Taylor(2, 1.0).draw(1000, 10_000, rng())
    assert len(set(columns.names())) == 1000
    few = Taylor(3, 1.0).draw(300, 2000, rng(1))  # of 1.3e9
    assert len(set(few.names())) == 300


@pytest.mark.parametrize(
    ("family", "count", "d", "said"),
    [
        (Taylor(0, 1.0), 1, 3, "whole number from 1"),
        (Taylor(-1, 1.0), 1, 3, "whole number from 1"),
        (Taylor(1.5, 1.0), 1, 3, "whole number from 1"),
        (Taylor(True, 1.0), 1, 3, "whole number from 1"),
        (Taylor(2, -1.0), 1, 3, "positive"),
        (Taylor(2, "median"), 1, 3, "resolved on a sample"),
        (Taylor(2, 1.0), comb(50_002, 2), 50_000, "GiB. Use a lower degree"),
    ],
)
def test_bad_input(family, count, d, said):
    with pytest.raises(ValueError, match=said):
        family.draw(count, d, rng())


def test_memory_is_estimated_before_a_fit_allocates():
    X = sparse.random_array((50, 60_000), density=0.05, rng=rng(), format="csr")
    y = rng(1).standard_normal(50)
    with pytest.raises(ValueError, match=r"1,800,090,001 candidates .* GiB"):
        LearnedFeatures(Taylor(2, 30.0), Greedy(), n_components=5).fit(X, y)
    some = LearnedFeatures(Taylor(2, 30.0), Greedy(), 2000, 5, random_state=0).fit(X, y)
    assert some.feature_map_.n_features <= 5


def test_greedy_finds_a_product():
    X = rows(400, 8)
    y = X[:, 3] * X[:, 7] - 0.5 * X[:, 2] ** 2
    model = LearnedFeatures(Taylor(2, 10.0), Greedy(), n_components=2, task="regression").fit(X, y)
    assert set(model.get_feature_names_out()) == {"x3*x7", "x2^2"}


@pytest.mark.parametrize("learner", [Greedy(5), Alignment(0.1)])
def test_beside_linear_columns(learner):
    """The candidates of the paper for classes: 2 d + 1."""
    X = rows(200, 6)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    family = Union([Taylor(1, "median"), Linear()])
    model = LearnedFeatures(family, learner, n_components=6, random_state=0).fit(X, y)
    names = model.get_feature_names_out()
    assert all(name.split(":")[0] in ("taylor", "linear") for name in names)
    assert len(model.selection_.weights) == 13
