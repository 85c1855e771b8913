"""The length scale of a translation-invariant family, given or read off the rows.

========================  =====================================================================
``bandwidth=``            meaning (a length, in the units of X)
========================  =====================================================================
a positive number         itself
an array of d numbers     one length for each column
``"median"``              median distance between two distinct rows of a sample of at most 1,000
``"neighbours"``          mean distance to the 50th nearest neighbour: 1,000 rows of a sample of
                          at most 20,000, neighbours looked up in the whole sample
``"scale"``               sqrt(d var(X) / 2): with Gaussian this is scikit-learn's
                          ``gamma="scale"``, since gamma = 1 / (2 bandwidth^2)
========================  =====================================================================

Distances are Euclidean, or l1 for product forms. Weighted rows count as repeated rows; weights
that are below one on average are first scaled up to one, so that normalised weights do no harm.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from ..ops.projection import FloatArray
from ..rows.sample import RowSample
from .distances import distances

RULES = ("median", "neighbours", "scale")
N_PAIRS = 1_000
N_REFERENCES = 20_000
NEIGHBOUR = 50
#: Below this 1 / bandwidth, times the tail of a Cauchy draw, would leave the range of float64.
SHORTEST = 1e-290


def check_bandwidth(bandwidth: Any, n_features: int) -> None:
    """Refuse a bandwidth that is no rule, no positive number, and no array of d of them."""
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ValueError(
                f"bandwidth={bandwidth!r} is not a known rule; use a positive number, an array of "
                f"{n_features} positive numbers, or one of {', '.join(map(repr, RULES))}."
            )
        return
    try:
        values = np.asarray(bandwidth, dtype=np.float64)
        if isinstance(bandwidth, (bool, np.bool_)) or bandwidth is None:
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(
            f"bandwidth must be a number, an array or a string, got {type(bandwidth).__name__}."
        ) from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_features):
        raise ValueError(
            f"bandwidth has shape {values.shape}, but the rows have {n_features} columns: give "
            f"one number, or an array of {n_features}."
        )
    if not (np.all(np.isfinite(values)) and np.all(values > 0)):
        raise ValueError(f"bandwidth must be positive and finite, got {bandwidth!r}.")
    if np.any(values < SHORTEST):
        raise ValueError(
            f"bandwidth={bandwidth!r} is so short that frequencies overflow; give at least "
            f"{SHORTEST:g}, or multiply the columns of X to a sensible scale."
        )


def resolve_bandwidth(rule: str, sample: RowSample, metric: str = "euclidean") -> float:
    """The length that a rule reads off a sample."""
    find = {"median": _median, "neighbours": _neighbours, "scale": _scale}[rule]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        length = find(sample, metric)
    if np.isfinite(length) and length > 0:
        return length
    reach = float(abs(sample.X).max()) if sample.X.shape[0] else 0.0
    root = float(np.sqrt(np.finfo(sample.X.dtype).max))
    if reach > 1e-3 * root or 0 < reach < 1e3 / root:
        raise ValueError(
            f"bandwidth={rule!r} came out as {length:g}: X holds numbers as large as {reach:g}, "
            f"whose squares leave the range of {sample.X.dtype}. Rescale the columns first, for "
            "instance with sklearn.preprocessing.RobustScaler."
        )
    rows = "there is only one row (n_samples=1)"
    if sample.n_rows > 1:
        rows = f"(almost) all rows are equal (n_samples={sample.n_rows})"
    raise ValueError(
        f"bandwidth={rule!r} came out as {length:g}, because {rows}. Give a number instead, "
        "for example bandwidth=1.0, or check that X is not constant."
    )


def _median(sample: RowSample, metric: str) -> float:
    part = sample.head(N_PAIRS)
    above = np.triu_indices(len(part), k=1)
    between = distances(part.X, metric=metric)[above]
    weights = (part.weight[:, None] * part.weight[None, :])[above]
    distinct = between > 0
    return weighted_median(between[distinct], weights[distinct])


def _neighbours(sample: RowSample, metric: str) -> float:
    counts = sample.weight / min(1.0, float(sample.weight.mean()))
    n_queries, total = min(N_PAIRS, len(sample)), 0.0
    for start in range(0, n_queries, 100):
        rows = np.arange(start, min(start + 100, n_queries))
        near = distances(sample.X[rows], sample.X, metric=metric)
        near[np.arange(len(rows)), rows] = 0.0  # to itself: rounding must not hide it
        own = np.minimum(1.0, counts[rows])  # one copy of the row itself is not a neighbour
        found = [_distance_to(NEIGHBOUR, *each) for each in zip(near, own, repeat(counts))]
        total += float(counts[rows] @ np.array(found))
    return total / float(counts[:n_queries].sum())


def _distance_to(k: int, near: FloatArray, own: float, counts: FloatArray) -> float:
    """To the k-th nearest of references repeated ``counts`` times, without ``own`` of the first."""
    few = min(len(near), 2 * k)
    for nearest in (np.argpartition(near, few - 1)[:few], np.arange(len(near))):
        order = nearest[np.argsort(near[nearest], kind="stable")]
        reached = np.cumsum(counts[order]) - own
        if reached[-1] >= k:  # seldom needs more than a few: only where weights are uneven
            break
    wanted = min(k, reached[-1])
    return float(near[order[np.argmax(reached >= wanted * (1 - 1e-9))]])


def _scale(sample: RowSample, metric: str) -> float:
    return float(np.sqrt(sample.X.shape[1] * sample.variance / 2.0))


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """The median of values repeated by their weights (mean of the two middle ones when even)."""
    if len(values) == 0:
        return 0.0
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    half = cumulative[-1] / 2.0
    slack = 1e-12 * cumulative[-1]
    low = values[order[np.searchsorted(cumulative, half - slack, side="left")]]
    position = min(int(np.searchsorted(cumulative, half + slack, side="right")), len(values) - 1)
    return float((low + values[order[position]]) / 2.0)
