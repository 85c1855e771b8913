"""One look at the rows before the work: classes, weights, and a sample for the first guess.

The sample picks rows by a hash of where they stand: spread over all partitions, the same for any
cut into blocks, and cheaper than hashing content. It only decides how fast the solver arrives,
not where. Rows of weight zero count as absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import FloatArray
from ..rows import Block, Hook, MemorySource, RowSource, RowSum
from .design import targets_of


@dataclass(frozen=True, eq=False)
class Survey:
    """Weight of each class, rows of positive weight, and a sample weighted to stand for all."""

    class_weights: FloatArray
    n_rows: int
    sample: MemorySource

    @property
    def n_classes(self) -> int:
        return len(self.class_weights)

    def head(self, part: int) -> MemorySource:
        """The first 1 / part of the sample, weighted to stand for all; rows are in hash order."""
        X, y, w = self.sample.X, self.sample.y, self.sample.weight
        assert y is not None
        assert w is not None
        m = -(-len(w) // part)
        return MemorySource(X[:m], y[:m], w[:m] * (w.sum() / w[:m].sum()))


@dataclass(eq=False)
class _Seen:
    keys: list[NDArray[np.uint64]] = field(default_factory=list)
    X: list[Any] = field(default_factory=list)
    y: list[FloatArray] = field(default_factory=list)
    w: list[FloatArray] = field(default_factory=list)
    classes: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_rows: int = 0


class SurveySum(RowSum[_Seen, Survey]):
    """At most ``size`` rows of about ``n_rows`` (None: unknown)."""

    def __init__(self, size: int, n_rows: int | None, n_classes: int | None) -> None:
        self.size, self.n_classes = size, n_classes
        share = 1.0 if not n_rows else (size + 6.0 * np.sqrt(size) + 6.0) / n_rows
        self.limit = np.uint64(min(share, 1.0) * (2.0**64 - 2**11))

    def start(self) -> _Seen:
        return _Seen()

    def update(self, state: _Seen, block: Block) -> _Seen:
        y, w = class_indices(targets_of(block), self.n_classes), block.weights()
        keys = position_keys(block)
        rows = np.nonzero((w > 0) & (keys <= self.limit))[0]
        state.keys.append(keys[rows])
        state.X.append(block.X[rows])
        state.y.append(y[rows])
        state.w.append(w[rows])
        state.classes = _add(state.classes, np.bincount(y, weights=w))
        state.n_rows += int(np.count_nonzero(w > 0))
        return self._pruned(state, 4 * self.size)

    def merge(self, a: _Seen, b: _Seen) -> _Seen:
        for mine, other in ((a.keys, b.keys), (a.X, b.X), (a.y, b.y), (a.w, b.w)):
            mine.extend(other)
        a.classes = _add(a.classes, b.classes)
        a.n_rows += b.n_rows
        return self._pruned(a, 4 * self.size)

    def finalise(self, state: _Seen) -> Survey:
        if state.n_rows == 0:
            raise ValueError(
                "no rows with a positive weight: a classifier needs some of each class. Check the "
                "source and sample_weight."
            )
        state = self._pruned(state, 0)
        total, w = state.classes.sum(), state.w[0]
        sample = MemorySource(state.X[0], state.y[0], w * (total / w.sum()))
        return Survey(_add(state.classes, np.zeros(self.n_classes or 0)), state.n_rows, sample)

    def _pruned(self, state: _Seen, most: int) -> _Seen:
        """The smallest keys only, in their order, once there are more than ``most``."""
        if sum(len(k) for k in state.keys) <= most:
            return state
        keys = np.concatenate(state.keys)
        kept = np.argsort(keys, kind="stable")[: self.size]
        state.keys, state.X = [keys[kept]], [_stacked(state.X)[kept]]
        state.y = [np.concatenate(state.y)[kept]]
        state.w = [np.concatenate(state.w)[kept]]
        return state


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def position_keys(block: Block) -> NDArray[np.uint64]:
    """A pseudo-random 64-bit key for each row, from its partition and offset (splitmix64)."""
    first = np.uint64((block.partition << 40) + block.offset + 1)
    h = (first + np.arange(block.n_rows, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def class_indices(y: FloatArray, n_classes: int | None) -> NDArray[np.int64]:
    """y as integers 0 .. K - 1, or an error that says what it holds instead."""
    indices = y.reshape(-1).astype(np.int64)
    most = np.inf if n_classes is None else n_classes
    bad = len(y) > 0 and (indices.min() < 0 or indices.max() >= most)
    if y.ndim != 1 or bad or not np.array_equal(indices, y):
        raise ValueError(
            f"a classifier's targets must be one vector of class indices from 0 to "
            f"{'K - 1' if n_classes is None else n_classes - 1}, got shape {y.shape} with values "
            f"such as {np.unique(y)[:3]}. Encode the labels first "
            "(np.unique(y, return_inverse=True)), or use a Ridge for numbers."
        )
    return indices


def take_survey(source: RowSource, size: int, n_classes: int | None, hook: Hook | None) -> Survey:
    """One pass; refuses targets in which a class is missing."""
    survey = source.reduce(SurveySum(size, source.n_rows, n_classes), hook=hook)
    present = survey.class_weights > 0
    if present.sum() < 2:
        raise ValueError(
            f"all rows of positive weight belong to class {int(np.argmax(present))}: a classifier "
            "needs at least two classes. Check the target; in a cross-validation use a stratified "
            "splitter."
        )
    if not present.all():
        raise ValueError(
            f"class {int(np.argmin(present))} of {survey.n_classes} has no row of positive weight, "
            "so its intercept has no optimum. Encode the classes that occur as 0 .. K - 1."
        )
    return survey


def _add(a: FloatArray, b: FloatArray) -> FloatArray:
    """The sum of two vectors, the shorter one padded with zeros."""
    total = np.zeros(max(len(a), len(b)))
    total[: len(a)] += a
    total[: len(b)] += b
    return total
