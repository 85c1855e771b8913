"""Which candidates come next: the largest scores, ties by index, none twice, none superfluous."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray


def strength(g: FloatArray) -> FloatArray:
    """One number a candidate from N x C correlations: their Euclidean norm over the outputs."""
    if g.shape[1] == 1:
        return np.abs(g[:, 0])
    return np.sqrt(np.einsum("mc,mc->m", g, g))


def ranked(scores: FloatArray, free: NDArray[np.bool_], tie: float) -> Iterator[int]:
    """Free candidates by falling score; scores within ``tie`` (relatively) go by index."""
    left = np.where(free, scores, -np.inf)
    while True:
        best = float(left.max(initial=-np.inf))
        if best == -np.inf:
            return
        first = int(np.argmax(left >= best * (1.0 - tie)))
        left[first] = -np.inf
        yield first


def strongest(scores: FloatArray, free: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
    """The ``count`` free candidates with the largest scores, in any order."""
    found = np.flatnonzero(free)
    if len(found) <= count:
        return found
    return found[np.argpartition(-scores[found], count - 1)[:count]]
