"""What a fitted alignment is certified for: the theorem's number, what it costs, what breaks."""

import math

import numpy as np
import pytest

from bochner import LearnedFeatures
from bochner.certificates import alignment_suboptimality
from bochner.families import Gaussian, Linear
from bochner.learners import Alignment, Uniform
from bochner.learners.alignment import LabelKernel, solve
from make import rng, rows

ROOT_2 = math.sqrt(2.0)
X = rows(200, 3)
Y = (X[:, 0] > 0.3).astype(int)


def fitted(learner, family=None, y=Y, D=40, **more):
    family = Gaussian(1.0) if family is None else family
    return LearnedFeatures(family, learner, 40, D, random_state=0).fit(X, y, **more).selection_


def certificate(learner, *given, bound=ROOT_2, delta=0.05, **more):
    return learner.certificate(fitted(learner, *given, **more), len(X), bound, delta)


def test_the_number_is_that_of_the_theorem():
    learner = Alignment(0.05, target="raw", use="weight")
    found = certificate(learner)
    assert found.holds
    assert found.delta == 0.05
    alone = alignment_suboptimality(200, 40, 0.05 * 39, 0.05 / 3, feature_bound=ROOT_2)
    diagonal = found.bound - alone.bound  # n b^2 / (n (n - 1)) and the solver's own gap
    assert diagonal == pytest.approx(2.0 / 199, rel=1e-6)


def test_the_diagonal_is_paid_for():
    """The weights miss the maximum of T^ by no more than what the certificate adds."""
    missed = []
    for seed in range(20):
        y, phi = rng(seed).choice([-1.0, 1.0], 6), rng(seed).uniform(-1, 1, (6, 40))
        v, own = (y @ phi) ** 2, (phi**2).sum(0)
        q, best = solve(v, 2.0).weights, solve(v - own, 2.0)
        missed.append((best.stats["value"] - q @ (v - own)) / 30)
    assert 0 < max(missed) <= 1 / 5


def test_draws_cost_what_hoeffding_says():
    few = certificate(Alignment(0.05, target="raw", use="sample"), D=10)
    assert few.holds
    each = 0.05 / 4
    whole = alignment_suboptimality(200, 40, 0.05 * 39, each, feature_bound=ROOT_2).bound
    draws = 2.0 * math.sqrt(2.0 * math.log(2.0 / each) / 10)
    assert few.bound == pytest.approx(whole + draws + 2.0 / 199, rel=1e-6)


def test_a_radius_chosen_by_the_rows_is_paid_for():
    chosen = certificate(Alignment("auto", target="raw", use="weight"))
    tried = chosen.details["radii tried"]
    assert chosen.holds
    assert tried > 1
    assert chosen.details["delta_of_the_theorem"] == pytest.approx(0.05 / 3 / tried)


BROKEN = {
    "centred": (Alignment(0.05), {}),
    "amounts": (Alignment(0.05, target="raw"), {"y": X[:, 0] * 1.5}),
    "label kernel": (Alignment(0.05, target=LabelKernel(np.eye(2), False)), {}),
    "order": (Alignment(0.05, order=1.5, target="raw"), {}),
    "weights": (Alignment(0.05, target="raw"), {"sample_weight": np.arange(200.0) + 1}),
    "learned weights": (Alignment(0.05, target="raw", use="support"), {}),
    "weighted candidates": (Alignment(0.001, target="raw", use="weight"), {"D": 5}),
    "jointly": (Alignment(0.05, target="raw"), {"family": Gaussian(1.0, form="pair")}),
    "Sobol": (Alignment(0.05, target="raw"), {"family": Gaussian(1.0, sampling="sobol")}),
}


@pytest.mark.parametrize("word", BROKEN)
def test_what_breaks_is_said(word):
    learner, more = BROKEN[word]
    found = certificate(learner, **more)
    assert not found.holds
    assert any(word in reason for reason in found.broken)


def test_features_without_a_bound_and_columns_of_the_rows():
    learner = Alignment(0.05, target="raw")
    selection = LearnedFeatures(Linear(), learner, random_state=0).fit(X, Y).selection_
    found = learner.certificate(selection, 200, math.inf, 0.05)
    assert found.bound == math.inf
    assert any("all columns" in reason for reason in found.broken)


def test_rows_of_a_subsample_are_counted():
    learner = Alignment(0.05, target="raw", subsample=0.5, use="weight")
    selection = fitted(learner)
    n = selection.stats["rows"]
    assert 60 < n < 140
    found = learner.certificate(selection, 200, ROOT_2, 0.05)
    assert found.details["n"] == n
    assert any("no two rows are equal" in assumption for assumption in found.assumptions)


def test_nothing_to_say():
    assert Uniform().certificate(None, 10, 1.0, 0.05) is None
    with pytest.raises(ValueError, match="delta must be above 0"):
        certificate(Alignment(0.05), delta=0.0)
