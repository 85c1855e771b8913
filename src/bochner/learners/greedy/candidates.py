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


class Survey(RowSum["FloatArray | None", "tuple[float, FloatArray, FloatArray]"]):
    """Total weight, and sum w phi and sum w phi^2 of each candidate, from one visit of each."""

    def __init__(self, design: Design) -> None:
        self.design = design

    def start(self) -> FloatArray | None:
        return None

    def update(self, state: FloatArray | None, block: Block) -> FloatArray:
        w = block.weights()

        def visit(phi: Any, rows: slice) -> FloatArray:
            here = w[rows].astype(phi.dtype)
            squares = phi.multiply(phi) if hasattr(phi, "multiply") else phi * phi
            return np.stack([phi.T @ here, squares.T @ here], dtype=np.float64)

        sums = self.design.fold(block.X, visit, np.add)
        part = np.concatenate([sums, np.full((1, sums.shape[1]), w.sum())])
        return part if state is None else state + part

    def merge(self, a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
        return (b if a is None else a) if a is None or b is None else a + b

    def finalise(self, state: FloatArray | None) -> tuple[float, FloatArray, FloatArray]:
        if state is None or not state[2, 0] > 0:
            raise ValueError(
                "no rows with a positive weight to select features on: check sample_weight, or "
                "what cv= holds out."
            )
        return float(state[2, 0]), state[0], state[1]


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
        kept, plain = materialised(source, fm)
        #: Are the rows held in memory, as features, once and for all?
        self.held = plain is None
        self.source, self.fm = (kept, _as_they_are(kept)) if self.held else (source, fm)
        self.hook, self.centred, self.passes = hook, centred, 1
        figures = Survey(Design.of(self.source, self.fm))
        self.total, sums, squares = self.source.reduce(figures, hook=hook)
        self.mean = sums / self.total if centred else np.zeros(len(sums))
        self.eps = float(np.finfo(source.schema.dtype).eps)
        self.tie = max(1e-9, 10.0 * self.eps)  # scores closer than this go by index
        raw = squares / self.total
        variance = np.maximum(raw - self.mean**2, 0.0)
        #: Columns that are constant (or zero) can never be chosen.
        self.varies = variance > 1e3 * self.eps * raw
        self.v = np.zeros(len(sums))
        self.v[self.varies] = 1.0 / np.sqrt(variance[self.varies]) if normalise else 1.0
        self.own = self.v**2 * variance
        #: What is left of a column after regression on others, where it is no more than rounding.
        self.least = self.v**2 * raw * max(1e-11, 1e2 * self.eps)

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


def _as_they_are(source: RowSource) -> FeatureMap:
    """The map of rows that are the candidates themselves."""
    N = source.n_features
    projection = Projection(Columns(N, np.arange(N)), "identity")
    return FeatureMap(Linear(), projection, np.ones(N))
