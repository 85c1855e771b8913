"""The held-out choice that all learners share: ``cv=`` and ``groups=``."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from bochner import KernelClassifier, KernelRegressor, LearnedFeatures, scan
from bochner.families import Gaussian
from bochner.learners import Alignment, Uniform
from bochner.learners.base import Needs
from bochner.learners.held_out import MarkHeld, Rows, Share, of_groups, unmarked
from bochner.rows import Block, MemorySource
from bochner.rows.reduce import all_blocks
from make import rng, rows

X = rows(400, 3)
y = (X[:, 0] + 0.3 * rng(1).standard_normal(400) > 0).astype(int)
T = X[:, 0] ** 2
GROUPS = rng(2).integers(0, 20, 400)


class Probe(Uniform):
    """Keeps what it was told to hold out."""

    needs = Needs(targets=True)
    seen: ClassVar = {}

    def learn(self, source, request):
        rule = pickle.loads(pickle.dumps(request.held_out))
        self.seen["mask"] = np.concatenate([rule.mask(b) for b in all_blocks(source)])
        return super().learn(source, request)


def mask_of(model, *args, **kwargs):
    model.set_params(learner=Probe(), n_components=4, random_state=0).fit(*args, **kwargs)
    return Probe.seen["mask"]


MODELS = {
    "features": lambda cv: LearnedFeatures(Gaussian(1.0), cv=cv, task="classification"),
    "classifier": lambda cv: KernelClassifier(cv=cv),
    "regressor": lambda cv: KernelRegressor(cv=cv),
}


@pytest.mark.parametrize("name", MODELS)
class TestEstimators:
    def test_none_is_a_quarter_and_a_number_another_share(self, name):
        assert 0.15 < mask_of(MODELS[name](None), X, y).mean() < 0.35
        assert 0.03 < mask_of(MODELS[name](0.1), X, y).mean() < 0.17

    def test_equal_rows_stay_together_in_any_order(self, name):
        twice = np.concatenate([X, X[::-1]])
        mask = mask_of(MODELS[name](None), twice, np.concatenate([y, y[::-1]]))
        assert_array_equal(mask[:400], mask[400:][::-1])

    def test_the_first_split_of_a_splitter_decides(self, name):
        cv = StratifiedKFold(4, shuffle=True, random_state=0)
        _, test = next(iter(cv.split(X, y)))
        assert_array_equal(np.flatnonzero(mask_of(MODELS[name](cv), X, y)), test)
        cv = GroupKFold(5)
        _, test = next(iter(cv.split(X, y, GROUPS)))
        assert_array_equal(np.flatnonzero(mask_of(MODELS[name](cv), X, y, groups=GROUPS)), test)

    def test_a_list_of_pairs_is_a_splitter(self, name):
        pairs = [(np.arange(100, 400), np.arange(100)), (np.arange(100), np.arange(100, 400))]
        assert_array_equal(np.flatnonzero(mask_of(MODELS[name](pairs), X, y)), np.arange(100))

    def test_rows_of_a_group_stay_together(self, name):
        mask = mask_of(MODELS[name](0.2), X, y, groups=GROUPS)
        assert not set(GROUPS[mask]) & set(GROUPS[~mask])
        assert 0.1 < mask.mean() < 0.3
        text = np.array([f"patient {g}" for g in GROUPS], dtype=object)
        mask = mask_of(MODELS[name](0.2), X, y, groups=text)
        assert not set(text[mask]) & set(text[~mask])

    @pytest.mark.parametrize(
        ("cv", "groups", "said"),
        [
            (5, None, "between 0 and 1"),
            (True, None, "between 0 and 1"),
            (1.0, None, "between 0 and 1"),
            ("kfold", None, "between 0 and 1"),
            (None, GROUPS[:5], "expected \\(400,\\)"),
            (None, np.full(400, np.nan), "every row a group"),
            (None, np.array([None] * 400), "missing names"),
            (None, np.zeros(400), "one group only"),
            (TimeSeriesSplit(3), None, "PredefinedSplit"),
            (PredefinedSplit(np.zeros(400)), None, "no rows on one"),
        ],
    )
    def test_bad_values_get_advice(self, name, cv, groups, said):
        with pytest.raises(ValueError, match=said):
            mask_of(MODELS[name](cv), X, y, groups=groups)

    def test_streams_take_a_share_only(self, name):
        source = scan(np.column_stack([X, y]), target=-1)
        assert 0.15 < mask_of(MODELS[name](None), source).mean() < 0.35
        for options in ({"groups": GROUPS}, {}):
            cv = None if options else KFold()
            with pytest.raises(ValueError, match="rows in memory"):
                mask_of(MODELS[name](cv), source, **options)


def test_groups_are_chosen_by_their_names_alone():
    names = np.unique(GROUPS)[of_groups(np.unique(GROUPS), 5, 0.25).picked]
    mask = of_groups(np.sort(GROUPS), 5, 0.25).picked
    overlap = set(np.sort(GROUPS)[mask]) & set(names)
    assert len(overlap) >= min(len(names), len(set(np.sort(GROUPS)[mask])))  # one order of names
    shuffled = rng(3).permutation(400)
    assert_array_equal(
        of_groups(GROUPS[shuffled], 5, 0.25).picked, of_groups(GROUPS, 5, 0.25).picked[shuffled]
    )


def test_a_share_does_not_see_blocks():
    whole = Share(3, 0.3).mask(Block(X))
    parts = [Share(3, 0.3).mask(b) for b in MemorySource(X, block_bytes=1000).blocks()]
    assert_array_equal(np.concatenate(parts), whole)


def test_marks_travel_with_targets():
    picked = Rows(rng(4).random(400) < 0.5)
    for target, width in ((T, 0), (np.column_stack([T, -T]), 2)):
        source = MemorySource(X, target, block_bytes=1000)
        marked = [MarkHeld(picked)(b) for b in source.blocks()]
        pairs = [unmarked(b.y, width) for b in marked]
        assert_array_equal(np.concatenate([p[0] for p in pairs]), target)
        assert_array_equal(np.concatenate([p[1] for p in pairs]), picked.picked)


def test_alignment_judges_radii_on_the_rows_held_out():
    """A target that only the held-out rows contradict changes the choice of alignment."""
    held = np.arange(400) % 4 == 0
    cv = PredefinedSplit(np.where(held, 0, -1))
    learner = Alignment(subsample=0.9)
    options = {"n_candidates": 64, "n_components": 8, "task": "regression", "random_state": 0}
    noise = rng(5).permutation(T)
    honest = LearnedFeatures(Gaussian(1.0), learner, cv=cv, **options).fit(X, T)
    fooled = LearnedFeatures(Gaussian(1.0), learner, cv=cv, **options)
    fooled.fit(X, np.where(held, noise, T))
    assert honest.selection_.stats["errors"].min() < 0.9 < fooled.selection_.stats["errors"].min()
