"""Ridge mathematics from one decomposition: any alpha, the whole path, exact leave-one-out.

Symbols: phi~ = sqrt(w) (phi - mean) = U diag(s) V', n x M; lambda = s^2 (r,); V M x r;
rotated = V' phi~'Y~ = diag(s) U'Y~, r x k; W = sum w.

    theta(alpha) = V (rotated / (lambda + alpha))                                        M x k
    h_i(alpha)   = 1 / W + sum_j (phi_i - mean) . v_j ^2 / (lambda_j + alpha)   of a unit of weight

Leave-one-out for weighted rows. A row of weight w counts as w copies, and one copy is left out:
taking the mass delta = min(1, w) from row i changes its residual e_i to  e_i / (1 - delta h_i)
(Sherman-Morrison on the augmented system [1, phi], whose inverse gives h_i with the 1 / W). So

    LOO(alpha) = sum_i w_i (e_i / (1 - delta_i h_i))^2 / W

which for whole weights is exactly the leave-one-out error of the rows written out, and for
weights up to one leaves the whole row out. 1 / W goes where there is no intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..ops import FloatArray, blas_for
from ..rows import Block, RowSum
from .design import Design
from .moments import Normal, Triangle, columns_of

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The decomposition; see the module. ``values`` descend."""

    values: FloatArray  # lambda, r
    vectors: FloatArray  # V, M x r
    rotated: FloatArray  # r x k
    squares: FloatArray  # sum w (y - mean)^2, k
    mean_x: FloatArray
    mean_y: FloatArray
    total: float
    n_rows: int
    floor: float  # eigenvalues up to here are rounding
    size: float  # of the products before centring

    @classmethod
    def of_normal(cls, normal: Normal, eps: float) -> Spectrum:
        """From B'B, whose small eigenvalues are only known up to eps times its norm."""
        with blas_for(9.0 * len(normal.gram) ** 3):
            values, vectors = np.linalg.eigh(normal.gram)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        floor = eps * len(values) * normal.size
        rest = (normal.squares, normal.mean_x, normal.mean_y, normal.total, normal.n_rows)
        return cls(values, vectors, vectors.T @ normal.cross, *rest, floor, normal.size)

    @classmethod
    def of_triangle(cls, triangle: Triangle) -> Spectrum:
        """From R: the singular values themselves are known up to eps times the largest."""
        with blas_for(20.0 * triangle.phi.size * min(triangle.phi.shape)):
            U, s, Vt = np.linalg.svd(triangle.phi, full_matrices=False)
        size = float(np.max(s, initial=0.0)) ** 2 + _mean_square(triangle)
        floor = (EPS * max(triangle.phi.shape)) ** 2 * size
        squares = np.einsum("ij,ij->j", triangle.Y, triangle.Y)
        rest = (squares, triangle.mean_x, triangle.mean_y, triangle.total, triangle.n_rows)
        return cls(s**2, Vt.T, s[:, None] * (U.T @ triangle.Y), *rest, floor, size)

    @property
    def largest(self) -> float:
        return float(self.values[0]) if len(self.values) else 0.0

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.values > self.floor))

    def shrinkage(self, alphas: FloatArray) -> FloatArray:
        """1 / (lambda + alpha), r x L; where alpha is zero, 0 for eigenvalues that are rounding."""
        total = self.values[:, None] + np.atleast_1d(alphas)
        kept = (np.atleast_1d(alphas) > 0) | (self.values[:, None] > self.floor)
        return np.divide(1.0, total, out=np.zeros_like(total), where=kept & (total > 0))

    def coefficients(self, alphas: FloatArray) -> FloatArray:
        """theta, M x k, with one alpha a target."""
        return np.asarray(self.vectors @ (self.rotated * self.shrinkage(alphas)))

    def solve(self, right: FloatArray, alphas: FloatArray) -> FloatArray:
        """(gram + alpha)^-1 right, M x k, with one alpha a target."""
        return np.asarray(self.vectors @ ((self.vectors.T @ right) * self.shrinkage(alphas)))

    def kappa(self, alphas: FloatArray) -> float:
        """Size of the products over the smallest eigenvalue of gram + alpha."""
        M, r = self.vectors.shape
        smallest = (float(self.values[-1]) if r == M and r else 0.0) + float(np.min(alphas))
        return (self.size + float(np.min(alphas))) / smallest if smallest > 0 else float("inf")


def _mean_square(triangle: Triangle) -> float:
    return triangle.total * float(triangle.mean_x @ triangle.mean_x)


class LeaveOneOutSum(RowSum["FloatArray | None", FloatArray]):
    """LOO(alpha) W before the division: L x k, one pass for all alphas and targets."""

    def __init__(
        self,
        design: Design,
        spectrum: Spectrum,
        alphas: FloatArray,
        fit_intercept: bool,
        *,
        precise: bool = True,
    ) -> None:
        self.design, self.spectrum = design, spectrum
        self.alphas, self.precise = alphas, precise
        self.edge = 1.0 / spectrum.total if fit_intercept else 0.0

    def start(self) -> FloatArray | None:
        return None

    def update(self, state: FloatArray | None, block: Block) -> FloatArray:
        s, Y, w = self.spectrum, columns_of(block), block.weights()
        dtype = np.dtype(np.float64) if self.precise else block.X.dtype
        V = np.ascontiguousarray(self.design.scaled(s.vectors), dtype=dtype)
        centre, shrunk = s.mean_x @ s.vectors, s.shrinkage(self.alphas)

        def visit(phi: Any, rows: slice) -> FloatArray:
            T = np.asarray(phi.astype(dtype, copy=False) @ V, dtype=np.float64) - centre
            return leave_one_out(T, Y[rows] - s.mean_y, w[rows], s.rotated, shrunk, self.edge)

        return self._sum(state, self.design.fold(block.X, visit, np.add))

    def merge(self, a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
        return a if b is None else self._sum(a, b)

    def _sum(self, a: FloatArray | None, b: FloatArray) -> FloatArray:
        return b if a is None else a + b

    def finalise(self, state: FloatArray | None) -> FloatArray:
        if state is None:
            raise ValueError("the source holds no rows; give at least one.")
        return state


def leave_one_out(
    T: FloatArray,
    Y: FloatArray,
    w: FloatArray,
    rotated: FloatArray,
    shrunk: FloatArray,
    edge: float,
) -> FloatArray:
    """sum_i w_i (e_i / (1 - delta_i h_i))^2, L x k.

    T = (phi - mean) V n x r, Y centred n x k, rotated r x k, shrunk = 1 / (lambda + alpha) r x L.
    """
    h = edge + np.square(T) @ shrunk
    remains = np.maximum(1.0 - np.minimum(w, 1.0)[:, None] * h, 1e-15)
    sums = np.empty((shrunk.shape[1], Y.shape[1]))
    for t in range(Y.shape[1]):
        e = Y[:, t, None] - T @ (rotated[:, t, None] * shrunk)
        sums[:, t] = w @ np.square(e / remains)
    return sums


def alpha_grid(spectrum: Spectrum, eps: float) -> FloatArray:
    """Two a decade, from what the precision can resolve up to ten times the largest eigenvalue."""
    if spectrum.largest <= 0:
        return np.ones(1)
    low = float(np.ceil(np.log10(max(10 * eps, 1e-10))))
    return np.asarray(spectrum.largest * np.logspace(low, 1.0, round(2 * (1.0 - low)) + 1))


@dataclass(frozen=True, eq=False)
class RidgePath:
    """The regularisation path of a ridge, from the decomposition that its fit made anyway.

    Attributes
    ----------
    alphas : array of L
    loo : array of L x k
        Mean squared leave-one-out error of each target; see `bochner.linear.spectrum`.
    relative : array of L
        Mean over the targets of loo divided by the target's variance: what alpha="auto" minimises.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import Ridge
    >>> from bochner.rows import MemorySource
    >>> rows = MemorySource(np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0.0, 1.0, 2.0, 4.5]))
    >>> path = Ridge("auto", alphas=[0.01, 1.0, 100.0]).fit(rows, None).path
    >>> path.best, path.loo[:, 0].round(2)
    (0.01, array([0.09, 0.59, 4.67]))
    """

    alphas: FloatArray
    loo: FloatArray
    spectrum: Spectrum

    @cached_property
    def relative(self) -> FloatArray:
        variance = self.spectrum.squares / self.spectrum.total
        scale = np.where(variance > 0, variance, 1.0)
        return np.asarray(np.mean(self.loo / scale, axis=1))

    @property
    def best(self) -> float:
        """The alpha with the least leave-one-out error; the larger one of equals."""
        close = self.relative <= self.relative.min() * (1 + 1e-12)
        return float(np.max(self.alphas[close]))

    @cached_property
    def coefs(self) -> FloatArray:
        """L x k x M, made when first asked for."""
        return np.stack([self.coef(alpha) for alpha in self.alphas])

    @cached_property
    def intercepts(self) -> FloatArray:
        """L x k."""
        return np.asarray(self.spectrum.mean_y - self.coefs @ self.spectrum.mean_x)

    def coef(self, alpha: float) -> FloatArray:
        """k x M, for any alpha."""
        k = self.spectrum.rotated.shape[1]
        return self.spectrum.coefficients(np.full(k, alpha)).T
