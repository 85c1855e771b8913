"""The penalised risk of a linear head and its derivatives, each from one pass over the rows.

    P(theta, b) = sum_i w_i l(phi_i theta' + b, y_i) + alpha / 2 |theta|^2

Symbols: a point T = [theta, b] is C x (M + 1); R = w dl/dZ; g_theta = R' phi + alpha theta,
g_b = sum_i R_i. The b column is zero, and its gradient too, without an intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ops import FloatArray
from ..rows import Block, Hook, RowSource, RowSum
from .design import Design, targets_of
from .losses import Loss


@dataclass(eq=False)
class Risk:
    """Value, gradient (C x (M + 1)) and the Hessian by the intercepts (C x C) at a point."""

    value: float
    gradient: FloatArray
    curvature: FloatArray

    def __add__(self, other: Risk) -> Risk:
        self.value += other.value
        self.gradient += other.gradient
        self.curvature += other.curvature
        return self


class RiskSum(RowSum[Risk, Risk]):
    """Loss and gradient from one visit of each cache-sized piece of the features.

    ``precise`` multiplies in float64 whatever the dtype of the rows.
    """

    def __init__(
        self, design: Design, loss: Loss, point: FloatArray, *, precise: bool = False
    ) -> None:
        self.design, self.loss, self.point, self.precise = design, loss, point, precise
        self.columns = np.ascontiguousarray(design.scaled(point[:, :-1].T))

    def start(self) -> Risk:
        C = self.loss.n_columns
        return Risk(0.0, np.zeros_like(self.point), np.zeros((C, C)))

    def update(self, state: Risk, block: Block) -> Risk:
        if block.n_rows == 0:
            return state
        y, w = targets_of(block), block.weights()
        dtype = np.dtype(np.float64) if self.precise else block.X.dtype
        columns, b = self.columns.astype(dtype, copy=False), self.point[:, -1]

        def visit(phi: Any, rows: slice) -> Risk:
            phi = phi.astype(dtype, copy=False)
            Z = np.asarray(phi @ columns, dtype=np.float64) + b
            value, R, H = self.loss.evaluate(Z, y[rows], w[rows])
            gradient = np.empty_like(self.point)
            gradient[:, :-1] = (phi.T @ R.astype(dtype)).T
            gradient[:, -1] = R.sum(axis=0)
            return Risk(value, gradient, H)

        return state + self.design.fold(block.X, visit, Risk.__add__)

    def merge(self, a: Risk, b: Risk) -> Risk:
        return a + b

    def finalise(self, state: Risk) -> Risk:
        theta_part = self.design.scaled(state.gradient[:, :-1].T).T
        gradient = np.concatenate([theta_part, state.gradient[:, -1:]], axis=1)
        return Risk(state.value, gradient, state.curvature)


class HessianSum(RowSum[FloatArray, FloatArray]):
    """sum_i D_ck [phi, 1]_i [phi, 1]_i' at a point for some (c, k): pairs x D x D, D = M + 1."""

    def __init__(
        self, design: Design, loss: Loss, point: FloatArray, pairs: list[tuple[int, int]]
    ) -> None:
        self.design, self.loss, self.point, self.pairs = design, loss, point, pairs

    def start(self) -> FloatArray:
        D = self.point.shape[1]
        return np.zeros((len(self.pairs), D, D))

    def update(self, state: FloatArray, block: Block) -> FloatArray:
        curvature = row_curvature(self.design, self.loss, self.point, block, self.pairs)
        edges = self.design.project(block.X, curvature)
        for H, d, edge in zip(state, curvature.T, edges.T, strict=True):
            H[:-1, :-1] += self.design.gram(block.X, d)
            H[:-1, -1] += edge
            H[-1, :-1] += edge
            H[-1, -1] += d.sum()
        return state

    def merge(self, a: FloatArray, b: FloatArray) -> FloatArray:
        a += b
        return a

    def finalise(self, state: FloatArray) -> FloatArray:
        return state


class DiagonalSum(RowSum[FloatArray, FloatArray]):
    """sum_i D_cc [phi, 1]^2: the diagonal of the Hessian, C x (M + 1), for very many columns."""

    def __init__(self, design: Design, loss: Loss, point: FloatArray) -> None:
        self.design, self.loss, self.point = design, loss, point

    def start(self) -> FloatArray:
        return np.zeros_like(self.point)

    def update(self, state: FloatArray, block: Block) -> FloatArray:
        pairs = [(c, c) for c in range(len(self.point))]
        d = row_curvature(self.design, self.loss, self.point, block, pairs)

        def visit(phi: Any, rows: slice) -> FloatArray:
            squares = phi.multiply(phi) if hasattr(phi, "multiply") else phi * phi
            return np.asarray(squares.T @ d[rows].astype(phi.dtype), dtype=np.float64)

        squares = self.design.fold(block.X, visit, np.add)
        state[:, :-1] += self.design.scaled(self.design.scaled(squares)).T
        state[:, -1] += d.sum(axis=0)
        return state

    def merge(self, a: FloatArray, b: FloatArray) -> FloatArray:
        a += b
        return a

    def finalise(self, state: FloatArray) -> FloatArray:
        return state


def row_curvature(
    design: Design, loss: Loss, point: FloatArray, block: Block, pairs: list[tuple[int, int]]
) -> FloatArray:
    """D_ck of the rows of a block at a point, n x pairs."""
    Z = design.map_rows(block.X, point[:, :-1].T) + point[:, -1]
    y, w = targets_of(block), block.weights()
    return np.stack([loss.curvature(Z, y, w, c, k) for c, k in pairs], axis=1)


class Problem:
    """The penalised risk of one source as a function of a point; counts its passes."""

    def __init__(
        self,
        source: RowSource,
        design: Design,
        loss: Loss,
        alpha: float,
        *,
        fit_intercept: bool = True,
        hook: Hook | None = None,
    ) -> None:
        self.source, self.design, self.loss = source, design, loss
        self.alpha, self.fit_intercept, self.hook = alpha, fit_intercept, hook
        self.passes = 0

    def on(self, source: RowSource) -> Problem:
        """The same problem on other rows, without telling the hook."""
        return Problem(source, self.design, self.loss, self.alpha, fit_intercept=self.fit_intercept)

    @property
    def shape(self) -> tuple[int, int]:
        """Of a point: (C, M + 1)."""
        return self.loss.n_columns, self.design.n_features + 1

    def evaluate(self, point: FloatArray) -> Risk:
        """P and its gradient; one pass."""
        self.passes += 1
        risk = self.source.reduce(RiskSum(self.design, self.loss, point), hook=self.hook)
        theta = point[:, :-1]
        risk.value += 0.5 * self.alpha * float(np.sum(theta * theta))
        risk.gradient[:, :-1] += self.alpha * theta
        if not self.fit_intercept:
            risk.gradient[:, -1] = 0.0
        return risk

    def hessian(self, point: FloatArray, pairs: list[tuple[int, int]]) -> FloatArray:
        """Blocks (c, k) of the Hessian of P, pairs x (M + 1) x (M + 1); one pass."""
        self.passes += 1
        row_sum = HessianSum(self.design, self.loss, point, pairs)
        blocks = self.source.reduce(row_sum, hook=self.hook)
        if not self.fit_intercept:
            blocks[:, -1, :], blocks[:, :, -1] = 0.0, 0.0
        for H, (c, k) in zip(blocks, pairs, strict=True):
            if c == k:
                np.einsum("ii->i", H)[:-1] += self.alpha
        return blocks

    def gap(self, risk: Risk) -> float:
        """The duality gap; see `certificate`."""
        return certificate(risk, self.alpha, self.fit_intercept)


def certificate(risk: Risk, alpha: float, fit_intercept: bool = True) -> float:
    """|g_theta|^2 / (2 alpha), an upper bound on P - min P where g_b = 0.

    With v(r) = sum_i w_i r_i phi_i, the Fenchel dual is

        D(r) = - sum_i w_i l*(r_i) - |v(r)|^2 / (2 alpha)      over r with sum_i w_i r_i = 0

    (that constraint is the intercept's). Take r_i = l'(z_i): then l(z_i) + l*(r_i) = r_i z_i, and
    sum_i w_i r_i z_i = theta . v + b . g_b = theta . v, so

        P - D = alpha |theta|^2 / 2 + theta . v + |v|^2 / (2 alpha)
              = |alpha theta + v|^2 / (2 alpha)

    and alpha theta + v is g_theta. A remaining g_b adds what a Newton step on b would gain.
    """
    g = risk.gradient
    bound = float(np.sum(np.square(g[:, :-1])) / (2.0 * alpha))
    if not fit_intercept or not np.any(g[:, -1]):
        return bound
    step = np.linalg.lstsq(risk.curvature, g[:, -1], rcond=None)[0]
    return bound + max(0.5 * float(g[:, -1] @ step), 0.0)
