"""Squared loss: orthogonal matching pursuit on products that arrive a few columns at a time.

Minimise  mean (y - theta phi)^2 + alpha / 2 |theta|^2  over the columns S taken so far; with the
products G of `candidates`, c = ~Phi' ~Y / W and A = G_SS + alpha / 2:

    theta = A^-1 c_S        correlations of all candidates with the residual:  c - G[:, S] theta

so that a step needs G[:, J] for the columns J it takes and nothing else of the rows. A pass costs
little more for several columns than for one: with J come the strongest of the other candidates,
which are the likeliest to be taken next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray
from ...rows import Block
from ...rows.physical import physical_memory
from .candidates import Candidates
from .choice import ranked, strength, strongest
from .cholesky import Cholesky
from .losses import TargetFigures
from .path import Model

#: Columns whose products one pass brings, and bytes of those that have not been taken (yet).
AHEAD = 16
SPARE_BYTES = 2**27
#: Columns of S whose products are stored together.
BLOCK = 64


class Products:
    """The columns of G that passes have brought: those of S in blocks, and some that may follow."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.blocks: list[FloatArray] = []  # N x BLOCK each
        self.size = 0
        self.spare: dict[int, FloatArray] = {}

    def bring(self, wanted: list[int], scores: FloatArray, free: NDArray[np.bool_]) -> None:
        """See to it that these columns are here; the strongest others come along."""
        missing = [j for j in wanted if j not in self.spare]
        if not missing:
            return
        others = free.copy()
        others[[*self.spare, *wanted]] = False
        count = max(0, AHEAD - len(missing))
        batch = np.array([*missing, *strongest(scores, others, count)], dtype=np.intp)
        columns = self.candidates.products(batch)
        for j, column in zip(batch.tolist(), columns.T, strict=True):
            self.spare[j] = column
        most = max(2 * AHEAD, SPARE_BYTES // (8 * self.candidates.n)) + len(wanted)
        for j in list(self.spare)[: max(0, len(self.spare) - most)]:
            if j not in wanted:
                del self.spare[j]

    def take(self, j: int) -> None:
        """Column j is the next of S."""
        place = self.size % BLOCK
        if place == 0:
            self.blocks.append(np.empty((self.candidates.n, BLOCK), order="F"))
        self.blocks[-1][:, place] = self.spare.pop(j)
        self.size += 1

    def among(self, j: int) -> FloatArray:
        """G[j, S]."""
        rows = [block[j] for block in self.blocks]
        return np.concatenate(rows)[: self.size] if rows else np.zeros(0)

    def times(self, theta: FloatArray) -> FloatArray:
        """G[:, S] theta, N x C."""
        total = np.zeros((self.candidates.n, theta.shape[1]))
        for i, block in enumerate(self.blocks):
            part = theta[i * BLOCK : (i + 1) * BLOCK]
            total += block[:, : len(part)] @ part
        return total


def check_memory(N: int, M: int) -> None:
    """Refuse, before anything is allocated, products that the machine cannot hold."""
    needed, most = 8.0 * N * (M + 2.0 * AHEAD), physical_memory()
    if needed > most:
        fits = max(1, int(most / (8.0 * N) - 2 * AHEAD))
        raise MemoryError(
            f"Greedy: the products of {N:,} candidates with {M:,} columns chosen among them take "
            f"about {needed / 2**30:.3g} GiB, and this machine has {most / 2**30:.3g}. Ask for "
            f"fewer columns (n_components={fits:,} would fit), or draw fewer candidates "
            "(n_candidates=)."
        )


@dataclass(frozen=True, eq=False)
class LessMean:
    """Targets less their means as row coefficients."""

    mean: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        assert block.y is not None
        return np.asarray(block.y - self.mean)


class Pursuit:
    """The columns taken so far, S, and what is left to explain."""

    def __init__(self, candidates: Candidates, alpha: float) -> None:
        self.candidates, self.alpha = candidates, alpha
        _, mean, variance = candidates.source.reduce(TargetFigures(), hook=candidates.hook)
        self.mean = mean if candidates.centred else np.zeros_like(mean)
        self.spread = float(np.sum(variance + (mean - self.mean) ** 2))
        self.cross = candidates.correlate(LessMean(self.mean))
        C = self.cross.shape[1]
        self.plain = Cholesky(C)  # what is collinear does not depend on the penalty
        self.shifted = Cholesky(C, 0.5 * alpha) if alpha else self.plain
        self.products = Products(candidates)
        self.S: list[int] = []
        self.late: list[int] = []  # the last of S, while their products are not here
        self.free = candidates.varies.copy()
        self.first = strength(self.cross)
        self.status = "count"
        self._least = 0.0

    def steps(self, per_step: int, count: int) -> Iterator[list[Model]]:
        """Take ``per_step`` columns at a time until there are ``count``; a model for each."""
        scores = self.first
        self._least = float(scores.max(initial=0.0)) * max(1e-12, 10.0 * self.candidates.eps)
        while len(self.S) < count:
            scores = self._scores(scores)
            if not float(scores[self.free].max(initial=0.0)) > self._least:
                self.status = "exact" if self._explained() else "rank"
                return
            before = len(self.S)
            self._take(scores, min(per_step, count - before))
            if len(self.S) == before:
                self.status = "rank"
                return
            yield [self._model(k) for k in range(before + 1, len(self.S) + 1)]

    def _explained(self) -> bool:
        """Is the risk zero up to rounding?"""
        rounding = max(1e-12, 10.0 * self.candidates.eps) * self.spread
        return bool(self.S) and self._model(len(self.S)).risk <= rounding

    def _scores(self, last: FloatArray) -> FloatArray:
        """How strongly candidates correlate with the residual."""
        if not self.S:
            return last
        self._catch_up(last)
        return strength(self.cross - self.products.times(self.shifted.solve()))

    def _catch_up(self, scores: FloatArray) -> None:
        if self.late:
            self.products.bring(self.late, scores, self.free)
            for j in self.late:
                self.products.take(j)
            self.late = []

    def _take(self, scores: FloatArray, count: int) -> None:
        """The strongest ``count`` that are no combination of others."""
        order = ranked(scores, self.free, self.candidates.tie)
        if count > 1:
            first = list(islice(ranked(scores, self.free, self.candidates.tie), count))
            self.products.bring(first, scores, self.free)
        for j in order:
            self._catch_up(scores)
            count -= self._add(j)
            if count == 0:
                return

    def _add(self, j: int) -> bool:
        """Take a column, unless it is a combination of those taken."""
        row, own, right = self.products.among(j), self.candidates.own[j], self.cross[j]
        self.free[j] = False
        if not self.plain.add(row, own, right, self.candidates.least[j]):
            return False
        if self.shifted is not self.plain:
            self.shifted.add(row, own, right, 0.0)
        self.S.append(j)
        if j in self.products.spare:
            self.products.take(j)
        else:
            self.late.append(j)
        return True

    def _model(self, size: int) -> Model:
        theta, c = self.shifted.solve(size), self.cross[self.S[:size]]
        units = (self.candidates.mean * self.candidates.v)[self.S[:size]]
        risk = self.spread - float(np.sum(theta * c) + 0.5 * self.alpha * np.sum(theta**2))
        return Model(theta.T, self.mean - units @ theta, max(risk, 0.0))
