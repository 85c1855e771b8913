"""Losses without a closed form: a gradient pass, the strongest columns, warm-started Newton.

Minimise  mean l(theta phi + b, y) + alpha sum p(theta)  over the columns S taken so far. At the
optimum on S, the gradient by a coefficient that is not yet there is the correlation of its column
with the slopes of the losses, which is what the next ones are chosen by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ...feature_map import FeatureMap
from ...linear.descent import Iterate, Stopping, lbfgs, newton
from ...linear.design import Design
from ...linear.factor import full_factor, sample_factor
from ...linear.losses import Loss
from ...linear.model import LinearModel
from ...linear.risk import Problem, Risk
from ...ops import FloatArray
from ...rows import Block
from .candidates import Candidates, Part
from .choice import ranked, strength
from .cholesky import Cholesky
from .losses import Penalty
from .path import Model

#: How exact a refit is (the Newton decrement, relative to the risk), and unknowns up to which a
#: coupled loss takes Newton steps.
TOLERANCE = 1e-13
NEWTON_UNKNOWNS = 2_000
#: Steps in the coordinates of the Hessian at the last optimum: each is a gradient, and a Hessian
#: costs as much as several. Where so many are not enough it was too far: Newton goes on from there.
FEW = 15
#: Candidates looked at together when one of them may turn out to be a combination of others.
SPARE = 3


class Penalised(Problem):
    """The mean loss of rows and a penalty, as the solvers see it: times the total weight."""

    penalty: Penalty
    total: float

    @classmethod
    def on_part(
        cls, candidates: Candidates, part: Part, loss: Loss, penalty: Penalty
    ) -> Penalised:
        design = Design.of(part.source, part.fm)
        problem = cls(part.source, design, loss, 0.0, fit_intercept=candidates.centred)
        problem.penalty, problem.total = penalty, candidates.total
        return problem

    def evaluate(self, point: FloatArray) -> Risk:
        risk, theta = super().evaluate(point), point[:, :-1]
        risk.value += self.total * self.penalty.value(theta)
        risk.gradient[:, :-1] += self.total * self.penalty.slope(theta)
        return risk

    def hessian(self, point: FloatArray, pairs: list[tuple[int, int]]) -> FloatArray:
        blocks = super().hessian(point, pairs)
        curvature = self.total * self.penalty.curvature(point[:, :-1])
        for H, (c, k) in zip(blocks, pairs, strict=True):
            if c == k:
                np.einsum("ii->i", H)[:-1] += curvature[c]
        return blocks

    def solve(self, point: FloatArray) -> Iterate:
        """The optimum, from a point near it."""
        at, stop = Iterate(point, self.evaluate(point)), Stopping(TOLERANCE, 200)
        if self.loss.coupled and point.size > NEWTON_UNKNOWNS:
            return lbfgs(self, at, sample_factor(self, point), stop)
        at = lbfgs(self, at, full_factor(self, point), Stopping(TOLERANCE, FEW))
        return newton(self, at, stop) if at.status == "max_iter" else at


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


class Descent:
    """The columns taken so far, S, and the best model on them."""

    def __init__(self, candidates: Candidates, loss: Loss, penalty: Penalty) -> None:
        self.candidates, self.loss, self.penalty = candidates, loss, penalty
        self.S: list[int] = []
        self.free = candidates.varies.copy()
        self.status = "count"
        self.factor = Cholesky(1)
        self.point = np.zeros((loss.n_columns, 1))
        self._least, self.first = 0.0, np.zeros(candidates.n)
        self.part: Part | None = None
        if candidates.centred:
            self.point = self._intercepts()

    def _intercepts(self) -> FloatArray:
        """The model without features, as one with a silent column."""
        one = self.candidates.fm.take(np.zeros(1, dtype=np.intp))
        silent = FeatureMap(one.family, one.projection, np.zeros(1))
        part = Part.of(self.candidates.source, silent)
        problem = Penalised.on_part(self.candidates, part, self.loss, self.penalty)
        return problem.solve(np.zeros((self.loss.n_columns, 2))).point[:, 1:]

    def steps(self, per_step: int, count: int) -> Iterator[list[Model]]:
        """Take ``per_step`` columns at a time until there are ``count``; a model for each step."""
        while len(self.S) < count:
            scores = strength(self.candidates.correlate(self._slopes()))
            if not self.S:
                self.first = scores
                self._least = float(scores.max(initial=0.0)) * max(1e-10, self.candidates.eps)
            if not float(scores[self.free].max(initial=0.0)) > self._least:
                self.status = "rank"
                return
            if not self._take(scores, min(per_step, count - len(self.S))):
                self.status = "rank"
                return
            yield [self._refit()]

    def _slopes(self) -> Slopes:
        columns = self.S or [0]
        theta = self.point[:, :-1] if self.S else np.zeros((self.loss.n_columns, 1))
        model = LinearModel(theta, self.point[:, -1])
        return Slopes(self.candidates.of(columns), model, self.loss)

    def _take(self, scores: FloatArray, count: int) -> bool:
        """The strongest ``count`` that are no combination of others; False where there is none."""
        before, order = len(self.S), ranked(scores, self.free, self.candidates.tie)
        spare = 0 if self.candidates.held else SPARE
        while (left := count - (len(self.S) - before)) > 0:
            if not (batch := list(islice(order, left + spare))):
                break
            old = len(self.S)
            self.part = self.candidates.part([*self.S, *batch])
            self._add(batch, self.candidates.products_within(self.part, old), old, left)
            spare = SPARE
        return len(self.S) > before

    def _add(self, batch: list[int], G: FloatArray, old: int, count: int) -> None:
        """The first ``count`` of a batch that add something; ``old`` of the rows of G are of S."""
        rows = list(range(old))
        for i, j in enumerate(batch):
            if count == 0:
                return
            self.free[j] = False
            own, least = self.candidates.own[j], self.candidates.least[j]
            if self.factor.add(G[rows, i], own, np.zeros(1), least):
                self.S.append(j)
                rows.append(old + i)
                count -= 1

    def _refit(self) -> Model:
        """The optimum on S, from the last one."""
        if self.part is None or self.part.columns != self.S:
            self.part = self.candidates.part(self.S)
        problem = Penalised.on_part(self.candidates, self.part, self.loss, self.penalty)
        point = np.zeros(problem.shape)
        point[:, : self.point.shape[1] - 1] = self.point[:, :-1]
        point[:, -1] = self.point[:, -1]
        at = problem.solve(point)
        self.point = at.point
        theta = at.point[:, :-1]
        risk = at.risk.value / problem.total - self.penalty.value(theta)
        return Model(theta.copy(), at.point[:, -1].copy(), risk)
