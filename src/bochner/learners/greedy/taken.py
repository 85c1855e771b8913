"""The columns taken so far, as products and refits see them.

Streamed    made anew in every pass over the rows
Held        rows in memory: each column is copied once, next to those before it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import statistics
from ...feature_map import FeatureMap
from ...linear.column_major import ColumnMajor, ColumnMajorRows
from ...linear.design import FEATURE_BYTES, VIEW_BYTES, Design, materialised
from ...linear.losses import Loss
from ...linear.model import LinearModel
from ...ops import FloatArray, pool
from ...rows import Block, MemorySource, RowSource
from .candidates import Candidates, Less


@dataclass(frozen=True, eq=False)
class Slopes:
    """dl/dz of the rows under a model, n x C, as row coefficients."""

    fm: FeatureMap
    model: LinearModel
    loss: Loss

    def __call__(self, block: Block) -> FloatArray:
        Z = np.asarray(self.model.decision(self.fm, block.X), dtype=np.float64)
        y: Any = block.y
        return self.loss.evaluate(Z, y, np.ones(len(Z)))[1]


def taken_of(candidates: Candidates, most: int) -> Streamed:
    """Held where the rows are and ``most`` columns of them fit beside."""
    source = candidates.source
    bytes_ = (source.n_rows or 0) * most * source.schema.dtype.itemsize
    return Held(candidates) if candidates.held and bytes_ <= FEATURE_BYTES else Streamed(candidates)


class Streamed:
    """Columns made anew in every pass; one for a look at a few more costs less than another."""

    #: Candidates looked at together when one of them may turn out to be a combination of others.
    spare = 3

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.S: list[int] = []

    def products(self, batch: Sequence[int]) -> FloatArray:
        """G[S + batch, batch]."""
        new = self.candidates.of(batch)
        less = Less(new, (self.candidates.mean * self.candidates.v)[list(batch)])
        fm = self.candidates.of([*self.S, *batch])
        source, hook = self.candidates.source, self.candidates.hook
        return statistics.project(source, fm, less, hook=hook) / self.candidates.total

    def keep(self, batch: Sequence[int], taken: Sequence[int]) -> None:
        """Of the batch just looked at, these places are in S from now on."""
        self.S += [batch[i] for i in taken]

    def rows(self) -> tuple[RowSource, Design]:
        """What a refit sums over."""
        source, plain = materialised(self.candidates.source, self.candidates.of(self.S))
        return source, Design.of(source, plain)

    def slopes(self, point: FloatArray, loss: Loss) -> statistics.Coefficients:
        """dl/dz under a model on S (C x (|S| + 1), the intercepts last)."""
        columns = self.S or [0]
        theta = point[:, :-1] if self.S else np.zeros((len(point), 1))
        return Slopes(self.candidates.of(columns), LinearModel(theta, point[:, -1]), loss)


class Held(Streamed):
    """Columns in an array F, M x n, beside rows that are the candidates themselves."""

    spare = 0

    def __init__(self, candidates: Candidates) -> None:
        super().__init__(candidates)
        assert isinstance(candidates.source, MemorySource)
        self.of_all = candidates.source
        self.F = np.empty((0, self.of_all.n_rows), dtype=self.of_all.schema.dtype)

    def products(self, batch: Sequence[int]) -> FloatArray:
        k, candidates = len(self.S), self.candidates
        self._copy(batch)
        X, w = self.F[: k + len(batch)].T, self.of_all.weight
        mean = (candidates.mean * candidates.v)[list(batch)].astype(X.dtype)

        def visit(phi: Any, at: slice) -> FloatArray:
            R = phi[:, k:] - mean
            R = R if w is None else R * w[at, None].astype(R.dtype)
            return np.asarray(phi.T @ R, dtype=np.float64)

        return ColumnMajor.over(X.shape[1]).fold(X, visit, np.add) / candidates.total

    def _copy(self, batch: Sequence[int]) -> None:
        """The batch as the rows of F after those of S."""
        k, n = len(self.S), self.of_all.n_rows
        needed = k + len(batch)
        if needed > len(self.F):
            most = max(needed, min(2 * needed, self.candidates.n))
            grown = np.empty((most, n), dtype=self.F.dtype)
            grown[:k] = self.F[:k]
            self.F = grown
        columns, new = np.array(batch, dtype=np.intp), self.F[k : k + len(batch)]
        scale = self.candidates.v[columns].astype(self.F.dtype)

        def task(at: slice) -> None:
            np.multiply(self.of_all.X[at].take(columns, axis=1).T, scale[:, None], out=new[:, at])

        pool.run(task, [slice(start, start + 1024) for start in range(0, n, 1024)])

    def keep(self, batch: Sequence[int], taken: Sequence[int]) -> None:
        k = len(self.S)
        for to, i in enumerate(taken):
            if to != i:
                self.F[k + to] = self.F[k + i]
        super().keep(batch, taken)

    def rows(self) -> tuple[RowSource, Design]:
        all_rows, X = self.of_all, self.F[: len(self.S)].T
        source = ColumnMajorRows(X, all_rows.y, all_rows.weight, block_bytes=VIEW_BYTES)
        return source, ColumnMajor.over(len(self.S))

    def slopes(self, point: FloatArray, loss: Loss) -> statistics.Coefficients:
        k, n = len(self.S), self.of_all.n_rows
        Z = np.zeros((n, len(point)))
        if k:
            Z = ColumnMajor.over(k).map_rows(self.F[:k].T, point[:, :-1].T)
        y: Any = self.of_all.y
        R = loss.evaluate(Z + point[:, -1], y, np.ones(n))[1]
        return lambda block: R[block.offset : block.offset + block.n_rows]
