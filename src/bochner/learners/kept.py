"""From weights to columns: estimators (5) and (6), and what others do with the support.

1. Draws with replacement repeat features; a feature drawn c times of D is one column of weight
   sqrt(c / D). The kernel, and any head with an l2 penalty, are the same with fewer columns.
2. Where estimator (6) has to leave out some of the support it keeps the largest weights, and the
   rest are scaled to sum to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ops import FloatArray
from .base import Selection

USES = ("auto", "sample", "weight", "support", "top")


@dataclass(frozen=True, eq=False)
class Kept:
    """Candidates by falling weight, the weight s_m of each column, and which rule made them."""

    columns: NDArray[np.intp]
    weights: FloatArray
    use: str


def kept(selection: Selection, D: int, use: str, rng: np.random.Generator) -> Kept:
    """At most D columns."""
    assert selection.support is not None
    if use == "auto":  # the paper's rule, section 4
        use = "sample" if len(selection.support) > D else "weight"
    columns, q = _sampled(selection, D, rng) if use == "sample" else _best(selection, D, use)
    if use in ("support", "top"):
        q = np.full(len(columns), 1.0 / len(columns))
    return Kept(columns, np.sqrt(q / q.sum()), use)


def _sampled(
    selection: Selection, D: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], FloatArray]:
    """D draws from q with replacement."""
    q, support = _parts(selection)
    counts = rng.multinomial(D, q / q.sum())
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    return support[order], counts[order].astype(np.float64)


def _best(selection: Selection, D: int, use: str) -> tuple[NDArray[np.intp], FloatArray]:
    """The D largest weights; beyond the support only "top" goes on, by score."""
    q, support = _parts(selection)
    if use == "top" and len(support) < D:
        assert selection.weights is not None
        assert selection.scores is not None
        order = np.argsort(-selection.scores, kind="stable")[:D]
        return order, selection.weights[order]
    order = np.argsort(-q, kind="stable")[:D]
    return support[order], q[order]


def _parts(selection: Selection) -> tuple[FloatArray, NDArray[np.intp]]:
    assert selection.weights is not None
    assert selection.support is not None
    return selection.weights[selection.support], selection.support
