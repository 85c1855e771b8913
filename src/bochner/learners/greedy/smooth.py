"""Losses without a closed form: a gradient pass, the strongest columns, warm-started Newton.

Minimise  mean l(theta phi + b, y) + alpha sum p(theta)  over the columns S taken so far. At the
optimum on S, the gradient by a coefficient that is not yet there is the correlation of its column
with the slopes of the losses, which is what the next ones are chosen by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from ...feature_map import FeatureMap
from ...linear.descent import Iterate, Stopping, lbfgs, newton
from ...linear.design import Design, materialised
from ...linear.factor import full_factor, sample_factor
from ...linear.losses import Loss
from ...linear.risk import Problem, Risk
from ...ops import FloatArray, single_threaded_blas
from ...rows import RowSource
from .candidates import Candidates
from .choice import ranked, strength
from .cholesky import Cholesky
from .losses import Penalty
from .path import Model
from .taken import taken_of

#: How exact a refit is (the Newton decrement, relative to the risk), and unknowns up to which a
#: coupled loss takes Newton steps.
TOLERANCE = 1e-13
NEWTON_UNKNOWNS = 2_000
#: Steps in the coordinates of the Hessian at the last optimum: each is a gradient, and a Hessian
#: costs as much as several. Where so many are not enough it was too far: Newton goes on from there.
FEW = 15


class Penalised(Problem):
    """The mean loss of rows and a penalty, as the solvers see it: times the total weight."""

    penalty: Penalty
    total: float

    @classmethod
    def on_rows(
        cls, rows: tuple[RowSource, Design], candidates: Candidates, loss: Loss, penalty: Penalty
    ) -> Penalised:
        problem = cls(*rows, loss, 0.0, fit_intercept=candidates.centred)
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

    def solve(self, at: Iterate) -> Iterate:
        """The optimum, from a point near it."""
        stop = Stopping(TOLERANCE, 200)
        if self.loss.coupled and at.point.size > NEWTON_UNKNOWNS:
            return lbfgs(self, at, sample_factor(self, at.point), stop)
        at = lbfgs(self, at, full_factor(self, at.point), Stopping(TOLERANCE, FEW))
        return newton(self, at, stop) if at.status == "max_iter" else at


class Descent:
    """The columns taken so far, S, and the best model on them."""

    def __init__(self, candidates: Candidates, loss: Loss, penalty: Penalty, most: int) -> None:
        self.candidates, self.loss, self.penalty = candidates, loss, penalty
        self.taken = taken_of(candidates, most)
        self.S = self.taken.S
        self.free = candidates.varies.copy()
        self.status = "count"
        self.factor = Cholesky(1)
        self._least, self.first = 0.0, np.zeros(candidates.n)
        self.at = self._without_columns()

    def _without_columns(self) -> Iterate:
        """The best intercepts alone: of a model with one silent column, which is dropped."""
        one = self.candidates.fm.take(np.zeros(1, dtype=np.intp))
        silent = FeatureMap(one.family, one.projection, np.zeros(1))
        source, plain = materialised(self.candidates.source, silent)
        problem = self._problem((source, Design.of(source, plain)))
        point = np.zeros((self.loss.n_columns, 2))
        at = Iterate(point, problem.evaluate(point))
        at = problem.solve(at) if self.candidates.centred else at
        at.point, at.risk.gradient = at.point[:, 1:], at.risk.gradient[:, 1:]
        return at

    def _problem(self, rows: tuple[RowSource, Design]) -> Penalised:
        return Penalised.on_rows(rows, self.candidates, self.loss, self.penalty)

    def steps(self, per_step: int, count: int) -> Iterator[list[Model]]:
        """Take ``per_step`` columns at a time until there are ``count``; a model for each step."""
        while len(self.S) < count:
            g = self.candidates.correlate(self.taken.slopes(self.at.point, self.loss))
            scores = strength(g)
            if not self.S:
                self.first = scores
                self._least = float(scores.max(initial=0.0)) * max(1e-10, self.candidates.eps)
            if not float(scores[self.free].max(initial=0.0)) > self._least:
                self.status = "rank"
                return
            if not self._take(scores, min(per_step, count - len(self.S))):
                self.status = "rank"
                return
            yield [self._refit(g)]

    def _take(self, scores: FloatArray, count: int) -> bool:
        """The strongest ``count`` that are no combination of others; False where there is none."""
        before, order = len(self.S), ranked(scores, self.free, self.candidates.tie)
        while (left := count - (len(self.S) - before)) > 0:
            if not (batch := list(islice(order, left + self.taken.spare))):
                break
            taken = self._independent(batch, self.taken.products(batch), left)
            self.taken.keep(batch, taken)
        return len(self.S) > before

    def _independent(self, batch: list[int], G: FloatArray, count: int) -> list[int]:
        """Places of the first ``count`` of a batch that add something to S and to each other."""
        old, taken = len(self.S), list[int]()
        for i, j in enumerate(batch):
            if len(taken) == count:
                break
            self.free[j] = False
            column = G[[*range(old), *(old + t for t in taken)], i]
            own, least = self.candidates.own[j], self.candidates.least[j]
            if self.factor.add(column, own, np.zeros(1), least):
                taken.append(i)
        return taken

    def _refit(self, g: FloatArray) -> Model:
        """The optimum on S, from the last one: g holds the slopes by the new coefficients."""
        old, new = self.at.point.shape[1] - 1, len(self.S)
        point = _widened(self.at.point, np.zeros((len(self.at.point), new - old)))
        slopes = self.candidates.total * g[self.S[old:]].T
        risk = replace(self.at.risk, gradient=_widened(self.at.risk.gradient, slopes))
        problem = self._problem(self.taken.rows())
        with single_threaded_blas():  # once for all passes, not for each
            self.at = problem.solve(Iterate(point, risk))
        theta = self.at.point[:, :-1]
        value = self.at.risk.value / problem.total - self.penalty.value(theta)
        return Model(theta.copy(), self.at.point[:, -1].copy(), value)


def _widened(A: FloatArray, columns: FloatArray) -> FloatArray:
    """More columns before the last one."""
    return np.concatenate([A[:, :-1], columns, A[:, -1:]], axis=1)
