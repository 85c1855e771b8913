"""What a ridge needs of the rows, as one sum: products, or a triangle that squares to them.

With B = sqrt(w) [1, phi, Y] (n x (1 + M + k)), `MomentSum` adds up B'B and `FactorSum` the R of
B = QR, R'R = B'B; two triangles merge as the R of one on top of the other (a tall-skinny QR). The
first is one matrix product, the second keeps twice the digits.

Centring, which is what a free intercept amounts to, is exact for both: a Schur complement by the
first row and column of B'B, or all rows of R but the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ops import Columns, FloatArray, Projection, blas_for
from ..rows import Block, RowSum
from .design import Design, targets_of


@dataclass(frozen=True, eq=False)
class Normal:
    """The (centred) normal equations  (gram + alpha) theta = cross, and what centring took away.

    gram M x M, cross M x k, squares (k,) = sum w (y - mean)^2, mean_x (M,), mean_y (k,),
    total = sum w, n_rows of positive weight. The means are zero without an intercept.
    """

    gram: FloatArray
    cross: FloatArray
    squares: FloatArray
    mean_x: FloatArray
    mean_y: FloatArray
    total: float
    n_rows: int

    @property
    def size(self) -> float:
        """A bound on the norm of the products before centring: rounding scales with it."""
        return float(np.linalg.norm(self.gram)) + self.total * float(self.mean_x @ self.mean_x)


@dataclass(eq=False)
class _Moments:
    gram: FloatArray  # M x M
    thin: FloatArray  # M x (1 + k): phi' w [1, Y - shift]
    outer: FloatArray  # (1 + k) x (1 + k): [1, Y - shift]' w [1, Y - shift]
    shift: FloatArray  # (k,), near the mean of Y: products with float32 keep the digits of Y
    n_rows: int = 0


class MomentSum(RowSum["_Moments | None", Normal]):
    """B'B; ``precise`` multiplies in float64 whatever the dtype of the rows."""

    def __init__(self, design: Design, fit_intercept: bool, *, precise: bool = False) -> None:
        self.design, self.fit_intercept, self.precise = design, fit_intercept, precise

    def start(self) -> _Moments | None:
        return None

    def update(self, state: _Moments | None, block: Block) -> _Moments | None:
        w = block.weights()
        if not np.any(w > 0):
            return state
        Y = columns_of(block)
        shift = w @ Y / w.sum() if state is None else state.shift
        R = np.concatenate([np.ones((len(Y), 1)), Y - shift], axis=1)
        gram, thin = self._products(block, w[:, None] * R)
        fresh = _Moments(gram, thin, R.T @ (w[:, None] * R), shift, int(np.count_nonzero(w > 0)))
        return self.merge(state, fresh)

    def _products(self, block: Block, wR: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self.precise or block.X.dtype == np.float64:
            return self.design.gram_and_project(block.X, wR, block.weight)
        M = self.design.n_features
        gram, thin = np.zeros((M, M)), np.zeros((M, wR.shape[1]))
        plain = Design(Projection(Columns(M, np.arange(M)), "identity"))
        for rows in _strips(block.n_rows, M):  # float64 copies of the float32 features
            phi = self.design.features(block.X[rows]).astype(np.float64)
            w = None if block.weight is None else block.weight[rows]
            sums = plain.gram_and_project(phi, wR[rows], w)
            gram += sums[0]
            thin += sums[1]
        return gram, thin

    def merge(self, a: _Moments | None, b: _Moments | None) -> _Moments | None:
        if a is None or b is None:
            return b if a is None else a
        move = np.eye(len(b.outer))
        move[0, 1:] = b.shift - a.shift  # [1, Y - a] = [1, Y - b] move
        a.gram += b.gram
        a.thin += b.thin @ move
        a.outer += move.T @ b.outer @ move
        a.n_rows += b.n_rows
        return a

    def finalise(self, state: _Moments | None) -> Normal:
        if state is None:
            raise no_rows()
        total, sums = float(state.outer[0, 0]), state.thin[:, 0]
        around, shift = state.outer[0, 1:] / total, state.shift
        if self.fit_intercept:
            mean_x, mean_y = sums / total, shift + around
            gram = state.gram - np.outer(sums, mean_x)
            cross = state.thin[:, 1:] - np.outer(sums, around)
            squares = np.diag(state.outer)[1:] - total * around**2
        else:
            mean_x, mean_y = np.zeros(len(sums)), np.zeros(len(shift))
            gram, cross = state.gram, state.thin[:, 1:] + np.outer(sums, shift)
            squares = np.diag(state.outer)[1:] + total * shift * (2 * around + shift)
        return Normal(gram, cross, squares, mean_x, mean_y, total, state.n_rows)


@dataclass(frozen=True, eq=False)
class Triangle:
    """R of the (centred) B without its first column, cut into the columns of phi and of Y."""

    phi: FloatArray  # r x M
    Y: FloatArray  # r x k
    mean_x: FloatArray
    mean_y: FloatArray
    total: float
    n_rows: int


@dataclass(eq=False)
class _Stack:
    R: FloatArray
    n_rows: int = 0
    total: float = 0.0


class FactorSum(RowSum["_Stack | None", Triangle]):
    """The R of B, in float64."""

    def __init__(self, design: Design, fit_intercept: bool) -> None:
        self.design, self.fit_intercept = design, fit_intercept

    def start(self) -> _Stack | None:
        return None

    def update(self, state: _Stack | None, block: Block) -> _Stack | None:
        w = block.weights()
        positive = np.nonzero(w > 0)[0]
        Y = columns_of(block)
        for at in _strips(len(positive), self.design.n_features + Y.shape[1] + 1):
            rows = positive[at]
            phi = self.design.features(block.X[rows])
            phi = phi.toarray() if hasattr(phi, "toarray") else phi
            B = np.concatenate([np.ones((len(rows), 1)), phi, Y[rows]], axis=1, dtype=np.float64)
            B *= np.sqrt(w[rows])[:, None]
            state = self.merge(state, _Stack(B, len(rows), float(w[rows].sum())))
        return state

    def merge(self, a: _Stack | None, b: _Stack | None) -> _Stack | None:
        if a is None or b is None:
            return b if a is None else a
        return _Stack(
            _shortened(np.concatenate([a.R, b.R])), a.n_rows + b.n_rows, a.total + b.total
        )

    def finalise(self, state: _Stack | None) -> Triangle:
        if state is None:
            raise no_rows()
        M = self.design.n_features
        R = triangle_of(state.R)
        mean = R[0, 1:] / R[0, 0] if self.fit_intercept else np.zeros(R.shape[1] - 1)
        rest = R[1:, 1:] if self.fit_intercept else R[:, 1:]
        return Triangle(rest[:, :M], rest[:, M:], mean[:M], mean[M:], state.total, state.n_rows)


def _shortened(B: FloatArray) -> FloatArray:
    """B while it is short, else the triangle with the same products."""
    return triangle_of(B) if len(B) > B.shape[1] else B


def triangle_of(B: FloatArray) -> FloatArray:
    """R of B = QR."""
    with blas_for(2.0 * B.size * min(B.shape)):
        return np.asarray(np.linalg.qr(B, mode="r"))


def _strips(n_rows: int, width: int) -> list[slice]:
    """Pieces tall enough that stacking a triangle on each costs little."""
    step = max(4 * width, 2**23 // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def columns_of(block: Block) -> FloatArray:
    """Y, n x k in float64."""
    return targets_of(block).reshape(block.n_rows, -1).astype(np.float64, copy=False)


def no_rows() -> ValueError:
    return ValueError(
        "no rows with a positive weight: a ridge needs at least one. Check the source and "
        "sample_weight."
    )
