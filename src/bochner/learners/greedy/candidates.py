"""The candidates of one fit: their figures, and the passes that greedy steps are made of.

Symbols: phi_m candidates, N of them, in units v_m phi_m; W the total weight of the rows; a tilde
marks columns less their weighted mean (nothing is taken off without an intercept).

    survey       mean_m, Gram_mm = mean of (v_m ~phi_m)^2, and its rounding
    products     G[:, J] = v ~Phi' diag(w) ~Phi_J v_J / W           N x |J|, one pass
    correlate    g = v Phi' diag(w) R / W                           N x C, one pass

Where the rows are in memory and all candidates fit beside them, they are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import statistics
from ...families import Linear
from ...feature_map import FeatureMap
from ...linear.design import Design, materialised
from ...ops import Columns, FloatArray, Projection
from ...rows import Block, Hook, RowSource, RowSum

Indices = NDArray[np.intp]
#: What rows of weight zero count, so that they have a mean too: no sum of weights is so small.
NOTHING = 1e-306


class Survey(RowSum["FloatArray | None", "tuple[float, FloatArray, FloatArray]"]):
    """Total weight, and mean and variance of each candidate, from one visit of each.

    A piece of the rows is taken less its first row, so that columns far from zero keep their
    variance; pieces are joined by their means (Chan, Golub & LeVeque 1983). A state holds mean,
    sum w (phi - mean)^2 and sum w, 3 x N.
    """

    def __init__(self, design: Design) -> None:
        self.design = design

    def start(self) -> FloatArray | None:
        return None

    def update(self, state: FloatArray | None, block: Block) -> FloatArray | None:
        w = block.weights()

        def visit(phi: Any, rows: slice) -> FloatArray:
            here = w[rows].astype(phi.dtype)
            total = max(float(w[rows].sum()), NOTHING)
            thin = hasattr(phi, "multiply")  # sparse
            first = np.zeros(phi.shape[1]) if thin or not len(phi) else phi[0].astype(np.float64)
            phi = phi if thin else phi - first.astype(phi.dtype)
            squares = phi.multiply(phi) if thin else phi * phi
            once, twice = (np.asarray(A.T @ here, dtype=np.float64) for A in (phi, squares))
            spread = np.maximum(twice - once**2 / total, 0.0)
            return np.stack([first + once / total, spread, np.full_like(spread, total)])

        return self.merge(state, self.design.fold(block.X, visit, _joined))

    def merge(self, a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
        return (b if a is None else a) if a is None or b is None else _joined(a, b)

    def finalise(self, state: FloatArray | None) -> tuple[float, FloatArray, FloatArray]:
        if state is None or not state[2, 0] > 1e6 * NOTHING:
            raise ValueError(
                "no rows with a positive weight to select features on: check sample_weight, or "
                "what cv= holds out."
            )
        return float(state[2, 0]), state[0], state[1] / state[2, 0]


def _joined(a: FloatArray, b: FloatArray) -> FloatArray:
    total, move = a[2] + b[2], b[0] - a[0]
    share = b[2] / total
    return np.stack([a[0] + share * move, a[1] + b[1] + move**2 * a[2] * share, total])


@dataclass(frozen=True, eq=False)
class Less:
    """Row coefficients that are features themselves, less their means."""

    fm: FeatureMap
    mean: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        return np.asarray(self.fm(block.X) - self.mean)


class Candidates:
    """What greedy steps ask of the rows; counts the passes over all candidates."""

    def __init__(
        self, source: RowSource, fm: FeatureMap, normalise: bool, centred: bool, hook: Hook
    ) -> None:
        kept, _ = materialised(source, None if _is_rows(fm) else fm)
        #: Are the rows held in memory, as features, once and for all?
        self.held = kept is not source
        self.source, self.fm = (kept, _as_they_are(kept)) if self.held else (source, fm)
        self.hook, self.centred, self.passes = hook, centred, 1
        figures = Survey(Design.of(self.source, self.fm))
        self.total, mean, variance = self.source.reduce(figures, hook=hook)
        raw = variance + mean**2
        self.mean, variance = (mean, variance) if centred else (np.zeros_like(mean), raw)
        self.eps = float(np.finfo(source.schema.dtype).eps)
        self.tie = max(1e-9, 10.0 * self.eps)  # scores closer than this go by index
        #: Columns that are constant (or zero) can never be chosen.
        self.varies = np.sqrt(variance) > 1e2 * self.eps * np.sqrt(raw)
        self.v = np.zeros(len(mean))
        self.v[self.varies] = 1.0 / np.sqrt(variance[self.varies]) if normalise else 1.0
        self.own = self.v**2 * variance
        #: What is left of a column after regression on others, where it is no more than rounding:
        #: of products of a column as it is (its length the root of raw) with one less its mean.
        rounding = max(1e-11, 1e2 * self.eps) * np.sqrt(raw * variance)
        self.least = self.v**2 * np.maximum(rounding, 1e-11 * variance)

    @property
    def n(self) -> int:
        """N, the number of candidates."""
        return self.fm.n_features

    def of(self, columns: Any) -> FeatureMap:
        """The map of some candidates, in units v_m phi_m."""
        columns = np.asarray(columns, dtype=np.intp)
        taken = self.fm.take(columns)
        return FeatureMap(taken.family, taken.projection, taken.weights * self.v[columns])

    def products(self, columns: Indices) -> FloatArray:
        """G[:, J]; one pass over all candidates."""
        self.passes += 1
        less = Less(self.of(columns), (self.mean * self.v)[columns])
        sums = statistics.project(self.source, self.fm, less, hook=self.hook)
        return self.v[:, None] * sums / self.total

    def correlate(self, coefficients: statistics.Coefficients) -> FloatArray:
        """g, N x C; one pass over all candidates."""
        self.passes += 1
        sums = statistics.project(self.source, self.fm, coefficients, hook=self.hook)
        return self.v[:, None] * sums / self.total


def _is_rows(fm: FeatureMap) -> bool:
    """Are the candidates the columns of the rows, all of them as they are?"""
    p = fm.projection
    if not isinstance(p, Projection) or not isinstance(p.operator, Columns):
        return False
    if p.activation != "identity" or p.offsets is not None or p.scale != 1.0:
        return False
    in_order = np.array_equal(p.operator.index, np.arange(p.n_inputs))
    return in_order and bool(np.all(fm.weights == 1.0))


def _as_they_are(source: RowSource) -> FeatureMap:
    """The map of rows that are the candidates themselves."""
    N = source.n_features
    projection = Projection(Columns(N, np.arange(N)), "identity")
    return FeatureMap(Linear(), projection, np.ones(N))
