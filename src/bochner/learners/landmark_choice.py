"""Which points the similarities are to: rows by lot, centroids, or points given.

A landmark needs a target to be aligned with: a row has its own; a centroid has the mean, over the
rows nearest to it, of the factor A of the similarity (see `label_kernel`), so that for classes
lambda(l, y) = 2 (share of y among these rows) - 1.

Which of them the theorem covers: rows by lot, because they do not depend on what the rows hold
(the lot is a keyed hash), and points given with their targets. Centroids, and anything drawn class
by class, look at the rows that the losses are measured on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from ..ops import FloatArray
from ..rows import Block, RowSample
from ..rows.hashing import hash_rows
from .label_kernel import Target

CENTROIDS = "landmarks are centroids of the same rows, not rows drawn by lot"
STRATIFIED = "landmarks are drawn class by class, looking at the same rows"
INFERRED = "the targets of the landmarks are those of the nearest rows"


@dataclass(frozen=True, eq=False)
class Landmarks:
    """L points, their rows of A (None where nothing is learned), and how they came about.

    ``own``: is each one of the rows themselves? ``broken``: what the theorem does not allow.
    """

    X: Any
    factor: FloatArray | None
    own: bool = False
    broken: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])


def rows_by_lot(
    sample: RowSample, L: int, target: Target | None, classes: FloatArray | None
) -> Landmarks:
    """The first L distinct rows of a sample, which stand in the order of a keyed hash."""
    rows = _per_class(sample.y, L, classes) if classes is not None else np.arange(L)
    factor = None if target is None else target(_block(sample))[rows]
    return Landmarks(sample.X[rows], factor, True, () if classes is None else (STRATIFIED,))


def centroids(
    sample: RowSample, L: int, target: Target | None, classes: FloatArray | None, seed: int
) -> Landmarks:
    """Centroids of k-means on a sample; with ``classes`` of the rows of each class apart."""
    y = sample.y
    if classes is None:
        X = _means(sample.X, sample.weight, L, seed)
    else:
        assert y is not None
        counts = _shares(y, L, classes)
        parts = [
            _means(sample.X[y == c], sample.weight[y == c], int(k), seed)
            for c, k in zip(classes, counts, strict=True)
            if k
        ]
        X = np.concatenate(parts)
    broken = (CENTROIDS,) if classes is None else (CENTROIDS, STRATIFIED)
    if target is None:
        return Landmarks(X, None, False, broken)
    A = target(_block(sample))
    if classes is None:
        return Landmarks(X, mean_factor(sample, A, X), False, broken)
    firsts = [A[np.flatnonzero(y == c)[0]] for c in classes]
    return Landmarks(X, np.repeat(firsts, counts, axis=0), False, broken)


def mean_factor(sample: RowSample, A: FloatArray, X: Any) -> FloatArray:
    """The mean of A over the rows nearest to each point; of the nearest row where there is none."""
    nearest = pairwise_distances_argmin(sample.X, X)
    sums, weights = np.zeros((X.shape[0], A.shape[1])), np.zeros(X.shape[0])
    np.add.at(sums, nearest, A * sample.weight[:, None])
    np.add.at(weights, nearest, sample.weight)
    empty = np.flatnonzero(weights == 0)
    if len(empty):
        sums[empty] = A[pairwise_distances_argmin(X[empty], sample.X)]
        weights[empty] = 1.0
    return np.asarray(sums / weights[:, None])


def distinct(sample: RowSample) -> RowSample:
    """The first of the rows that differ in their targets only."""
    _, first = np.unique(hash_rows(sample.X, 0), return_index=True)
    rows = np.sort(first)
    y = None if sample.y is None else sample.y[rows]
    return RowSample(
        sample.X[rows], y, sample.weight[rows], sample.total_weight, sample.n_rows, sample.variance
    )


def check_distinct(X: Any) -> None:
    """Refuse points that are there twice: their columns would be two draws of one similarity."""
    _, first, counts = np.unique(hash_rows(X, 0), return_index=True, return_counts=True)
    if np.any(counts > 1):
        i = int(first[np.argmax(counts > 1)])
        raise ValueError(
            f"landmarks holds row {i} more than once ({len(counts)} of {X.shape[0]} are distinct): "
            "give each point once, and raise n_frequencies for a finer similarity."
        )


def _block(sample: RowSample) -> Block:
    return Block(sample.X, sample.y)


def _per_class(y: Any, L: int, classes: FloatArray) -> FloatArray:
    counts = _shares(y, L, classes)
    picked = [np.flatnonzero(y == c)[:k] for c, k in zip(classes, counts, strict=True)]
    return np.concatenate(picked)


def _shares(y: Any, L: int, classes: FloatArray) -> FloatArray:
    """How many landmarks of each class: in proportion, largest remainders first, one at least."""
    sizes = np.array([np.sum(y == c) for c in classes])
    if len(classes) > L:
        raise ValueError(
            f"stratify=True gives every class a landmark, but there are {len(classes)} classes "
            f"and {L} landmarks: raise n_landmarks."
        )
    counts = np.maximum(1, np.floor(L * sizes / sizes.sum()).astype(int))
    for _ in range(abs(L - int(counts.sum()))):
        short = L * sizes / sizes.sum() - counts
        if counts.sum() < L:
            counts[np.argmax(np.where(counts < sizes, short, -np.inf))] += 1
        else:
            counts[np.argmin(np.where(counts > 1, short, np.inf))] -= 1
    return np.minimum(counts, sizes)


def _means(X: Any, weight: FloatArray, L: int, seed: int) -> FloatArray:
    """L centroids of weighted rows."""
    if X.shape[0] <= L:
        return np.asarray(X.toarray() if sparse.issparse(X) else X)
    from sklearn.cluster import MiniBatchKMeans  # a tenth of the import of everything else here

    machine = MiniBatchKMeans(
        L,
        random_state=seed,
        n_init=1,
        max_iter=5,
        batch_size=max(1024, 2 * L),
        init_size=min(X.shape[0], max(1024, 3 * L)),
        reassignment_ratio=0.0,
    )
    return np.asarray(machine.fit(X, sample_weight=weight).cluster_centers_)
