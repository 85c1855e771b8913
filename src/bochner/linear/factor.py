"""Coordinates in which the risk is round: T = L^-T u, where L L' is the Hessian of a sample.

Symbols: D = M + 1, a point T is C x D. A factor has one block for each class, one shared by all
classes, one for all classes together (C D x C D), or only the diagonal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import solve_triangular

from ..ops import FloatArray, blas_for
from .risk import DiagonalSum, Problem

#: What the blocks of a factor may take; beyond it classes share a block, then the diagonal is left.
FACTOR_BYTES = 2**28


class Factor(ABC):
    """A change of coordinates for points and gradients, both C x D."""

    @abstractmethod
    def gradient(self, g: FloatArray) -> FloatArray:
        """L^-1 g: the gradient in the coordinates u."""

    @abstractmethod
    def step(self, u: FloatArray) -> FloatArray:
        """L^-T u: a step in the coordinates of the point."""


class Blocks(Factor):
    """Cholesky factors of D' x D' blocks, scaled first so that units of columns do not matter."""

    def __init__(self, hessians: list[FloatArray]) -> None:
        self.scales = [_inverse_root(np.diag(H)) for H in hessians]
        self.L = [_cholesky(s[:, None] * H * s) for s, H in zip(self.scales, hessians, strict=True)]

    def gradient(self, g: FloatArray) -> FloatArray:
        return self._solve(g, 0)

    def step(self, u: FloatArray) -> FloatArray:
        return self._solve(u, 1)

    def _solve(self, v: FloatArray, trans: int) -> FloatArray:
        """(scale H scale)^-1/2 by blocks: L^-1 (scale v), or scale (L^-T v)."""
        rows = []
        with blas_for(v.size * len(self.scales[0])):
            for i, row in enumerate(self._cut(v)):
                scale = self._scale(i)
                right = row if trans else scale * row
                solved = solve_triangular(
                    self._block(i), right, lower=True, trans=trans, check_finite=False
                )
                rows.append(scale * solved if trans else solved)
        return np.concatenate(rows).reshape(v.shape)

    def _cut(self, v: FloatArray) -> FloatArray:
        return v.reshape(-1, len(self.scales[0]))

    def _block(self, i: int) -> FloatArray:
        return self.L[i if len(self.L) > 1 else 0]

    def _scale(self, i: int) -> FloatArray:
        return self.scales[i if len(self.L) > 1 else 0]


class Centred(Factor):
    """Another factor, kept to steps that sum to zero over the classes.

    Softmax does not see an equal change of all classes' scores, so only the penalty curves that
    direction, and the optimum sums to zero. A factor that took it for curved would crawl along it.
    """

    def __init__(self, inner: Factor) -> None:
        self.inner = inner

    def gradient(self, g: FloatArray) -> FloatArray:
        return self.inner.gradient(g - g.mean(axis=0))

    def step(self, u: FloatArray) -> FloatArray:
        T = self.inner.step(u)
        return T - T.mean(axis=0)


class Diagonal(Factor):
    """The diagonal of the Hessian, C x D, where a block would not fit."""

    def __init__(self, diagonal: FloatArray) -> None:
        self.scale = _inverse_root(diagonal)

    def gradient(self, g: FloatArray) -> FloatArray:
        return self.scale * g

    def step(self, u: FloatArray) -> FloatArray:
        return self.scale * u


def sample_factor(sample: Problem, point: FloatArray) -> Factor:
    """The factor at a point, of the richest kind that fits."""
    C, D = sample.shape
    inner: Factor
    if D * D * 8 > FACTOR_BYTES:
        inner = Diagonal(_diagonal(sample, point))
    elif C * D * D * 8 <= FACTOR_BYTES:
        inner = Blocks(list(sample.hessian(point, [(c, c) for c in range(C)])))
    else:
        inner = Blocks([sum(sample.hessian(point, [(c, c)])[0] / C for c in range(C))])
    return Centred(inner) if sample.loss.coupled else inner


def full_factor(problem: Problem, point: FloatArray) -> Factor:
    """The factor of the exact Hessian at a point: what makes a step a Newton step."""
    C, D = problem.shape
    if not problem.loss.coupled:
        return Blocks(list(problem.hessian(point, [(c, c) for c in range(C)])))
    pairs = [(c, k) for c in range(C) for k in range(c, C)]
    H = np.empty((C, D, C, D))
    for (c, k), block in zip(pairs, problem.hessian(point, pairs), strict=True):
        H[c, :, k, :] = block
        H[k, :, c, :] = block
    # Equal steps of all intercepts change nothing: give that direction some curvature.
    H[:, -1, :, -1] += max(float(np.mean(np.einsum("cc->c", H[:, -1, :, -1]))), 1e-300) / C
    return Blocks([H.reshape(C * D, C * D)])


def _diagonal(sample: Problem, point: FloatArray) -> FloatArray:
    diagonal = sample.source.reduce(DiagonalSum(sample.design, sample.loss, point))
    diagonal[:, :-1] += sample.alpha
    return diagonal


def _inverse_root(diagonal: FloatArray) -> FloatArray:
    """1 / sqrt(h), with h bounded away from zero: an absent curvature must not make a long step."""
    floor = max(float(np.max(diagonal)) * 1e-14, 1e-300)
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0, np.maximum(diagonal, floor), 1.0)))


def _cholesky(H: FloatArray) -> FloatArray:
    """L with L L' = H plus as little of the identity as makes it definite."""
    jitter = 1e-14 * len(H)
    while True:
        try:
            with blas_for(len(H) ** 3 / 3):
                return np.linalg.cholesky(H + jitter * np.eye(len(H)))
        except np.linalg.LinAlgError:
            if not np.isfinite(H).all():
                raise ValueError(
                    "the curvature of the loss is not finite: the features overflow. Rescale the "
                    "columns (StandardScaler), or give float64 rows."
                ) from None
            jitter *= 100.0
