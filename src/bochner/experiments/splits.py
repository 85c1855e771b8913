"""Training and test rows, from a data set and a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from ..datasets import Dataset


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to be judged on.

    ``name`` and ``note`` are shown in the table: a part or a stand-in of the paper's data is
    named as such there. ``groups`` are of the training rows; a held-out choice keeps them whole.
    """

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    groups: Any = None
    note: str = ""
    task: str = "classification"

    def scaled(self, fit: Callable[[Any], Callable[[Any], Any]]) -> Split:
        """Both parts through ``fit(X)``, which sees the training rows only."""
        change = fit(self.X)
        return replace(self, X=change(self.X), X_test=change(self.X_test))

    def of(self, rows: Any, others: Any) -> Split:
        """Training rows ``rows`` to learn from, training rows ``others`` to be judged on."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            X_test=self.X[others],
            y_test=self.y[others],
            groups=groups,
        )


def standardised(X: Any) -> Callable[[Any], Any]:
    """Columns to mean 0 and variance 1 of the training rows; for `Split.scaled`."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return lambda A: ((A - mean) / deviation).astype(np.float32)


def official(data: Dataset) -> Split:
    """The split that the data set came with."""
    if data.test is None:
        raise ValueError(
            f"{data.name} has no official split; use shuffled(data, seed), or by_group."
        )
    train = np.setdiff1d(np.arange(len(data.y)), data.test)
    return _split(data, train, data.test)


def shuffled(data: Dataset, seed: int, share: float = 0.25) -> Split:
    """A random ``share`` of the rows as test rows, classes in proportion."""
    stratify = data.y if data.task == "classification" else None
    rows = np.arange(len(data.y))
    train, test = train_test_split(rows, test_size=share, random_state=seed, stratify=stratify)
    return _split(data, train, test)


def by_group(data: Dataset, seed: int, share: float = 0.25) -> Split:
    """Groups kept whole, about a ``share`` of them as test rows."""
    if data.groups is None:
        raise ValueError(f"{data.name} has no groups; use shuffled(data, seed).")
    splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
    train, test = next(splitter.split(data.y, groups=data.groups))
    return _split(data, train, test)


def _split(data: Dataset, train: Any, test: Any) -> Split:
    groups = None if data.groups is None else data.groups[train]
    X, y = data.X, data.y
    return Split(data.name, X[train], y[train], X[test], y[test], groups, data.note, data.task)


def held_out(split: Split, seed: int, share: float = 0.25, most: int | None = None) -> Split:
    """The training rows alone, cut in two: what every choice is made on."""
    if most is not None and len(split.y) > most:
        split = part_of(split, most, seed)
    if split.groups is not None:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        return split.of(*next(splitter.split(split.y, groups=split.groups)))
    stratify = split.y if split.task == "classification" else None
    rows = np.arange(len(split.y))
    return split.of(*train_test_split(rows, test_size=share, random_state=seed, stratify=stratify))


def part_of(split: Split, n: int, seed: int) -> Split:
    """At most n training rows and n test rows."""
    rng = np.random.default_rng(seed)
    train, test = rng.permutation(len(split.y))[:n], rng.permutation(len(split.y_test))[:n]
    part = split.of(train, train)
    return replace(part, X_test=split.X_test[test], y_test=split.y_test[test])
