"""The solution of a ridge, by the cheapest route that the condition number allows.

    products in the rows' dtype  ->  products in float64  ->  a tall-skinny QR

With kappa the norm of the products before centring over the smallest eigenvalue of gram + alpha,
and eps the precision of the products, a solution is off by about kappa eps, relatively. Below
``Rows.safe`` that is left alone. Below `REFINABLE` a pass of exact residuals and a step with the
same factors leave only that fraction of the error. Above it the next route is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cho_solve, lapack

from ..ops import FloatArray, blas_for
from ..rows import Hook, RowSource
from .design import Design
from .losses import Squared
from .model import LinearModel
from .moments import FactorSum, MomentSum, Normal, Triangle
from .risk import Risk, RiskSum
from .spectrum import EPS, LeaveOneOutSum, RidgePath, Spectrum, alpha_grid

REFINABLE = 0.1
#: Rows x columns^2 up to which float32 rows are multiplied in float64: it takes no time.
PRECISE_WORK = 2e9


@dataclass(frozen=True)
class Route:
    """A way to the solution: "gram" (products, of relative precision eps) or "qr"."""

    name: str
    precise: bool
    eps: float


class Cholesky:
    """gram + alpha factored for one alpha; a small part of an eigendecomposition's time."""

    def __init__(self, normal: Normal, alpha: float) -> None:
        self.mean_x, self.mean_y = normal.mean_x, normal.mean_y
        self.total, self.n_rows, self.squares = normal.total, normal.n_rows, normal.squares
        self.cross, self.size = normal.cross, normal.size
        A = normal.gram.copy(order="F")
        A.T.flat[:: len(A) + 1] += alpha
        self.norm = float(np.abs(A).sum(axis=0).max(initial=0.0))
        with blas_for(len(A) ** 3 / 3):
            self.L, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
            rcond = 0.0 if failed else float(lapack.dpocon(self.L, self.norm, uplo="L")[0])
        self.condition = 1.0 / rcond if rcond > 0 else float("inf")

    def kappa(self, alphas: FloatArray) -> float:
        """As of a `Spectrum`, from LAPACK's estimate of the norm of the inverse."""
        return self.condition * max(1.0, self.size / max(self.norm, 1e-300))

    def coefficients(self, alphas: FloatArray) -> FloatArray:
        return self.solve(self.cross, alphas)

    def solve(self, right: FloatArray, alphas: FloatArray) -> FloatArray:
        return np.asarray(cho_solve((self.L, True), right, check_finite=False))


System: TypeAlias = Spectrum | Cholesky


class Rows:
    """What a ridge asks of its rows; counts the passes."""

    def __init__(
        self, source: RowSource, design: Design, fit_intercept: bool, hook: Hook | None
    ) -> None:
        self.source, self.design = source, design
        self.fit_intercept, self.hook = fit_intercept, hook
        self.passes = 0
        work = (source.n_rows or np.inf) * float(design.n_features) ** 2
        self.single = source.schema.dtype == np.float32 and not source.schema.sparse
        self.hurried = self.single and work > PRECISE_WORK
        # Measured at kappa eps = 1e-3 in float32: coefficients off by 2e-6, the objective by 1e-13.
        self.safe = max(1e-9, 1e4 * float(np.finfo(source.schema.dtype).eps))

    def routes(self, solver: str) -> Sequence[Route]:
        """The routes to try, cheapest first; the last one is taken whatever it finds."""
        # Errors of float32 products average out over the 1024-row pieces that float64 adds up.
        single = Route("gram", False, float(np.finfo(np.float32).eps))
        double, qr = Route("gram", self.single, EPS), Route("qr", True, 0.0)
        grams = [single, double] if self.hurried else [double]
        few = self.source.n_rows is not None and self.source.n_rows <= self.design.n_features
        if solver == "qr" or (solver == "auto" and few):
            return [qr]
        return grams if solver == "gram" else [*grams, qr]

    def sums(self, route: Route) -> Normal | Triangle:
        """One pass."""
        self.passes += 1
        if route.name == "qr":
            return self.source.reduce(FactorSum(self.design, self.fit_intercept), hook=self.hook)
        row_sum = MomentSum(self.design, self.fit_intercept, precise=route.precise)
        return self.source.reduce(row_sum, hook=self.hook)

    def path(self, spectrum: Spectrum, route: Route, alphas: Any) -> RidgePath:
        """Leave-one-out errors along a path; one pass."""
        grid = alpha_grid(spectrum, route.eps) if alphas is None else np.asarray(alphas, float)
        self.passes += 1
        grid = np.atleast_1d(grid)
        row_sum = LeaveOneOutSum(
            self.design, spectrum, grid, self.fit_intercept, precise=not self.hurried
        )
        sums = self.source.reduce(row_sum, hook=self.hook)
        return RidgePath(grid, sums / spectrum.total, spectrum)

    def model(
        self, system: System, route: Route, alphas: FloatArray, path: RidgePath | None
    ) -> LinearModel:
        """The solution, refined where that pays, with what is known of its quality."""
        coef = system.coefficients(alphas).T
        point = np.column_stack([coef, system.mean_y - coef @ system.mean_x])
        doubt, steps, gap = system.kappa(alphas) * route.eps, 0, 0.0
        if self.safe < doubt <= REFINABLE:
            point, gap, steps = self._refined(point, system, alphas, doubt)
        shared = bool(np.ptp(alphas) == 0.0)
        stats = {
            "n_rows": system.n_rows,
            "passes": self.passes,
            "solver": route.name,
            "alpha": float(alphas[0]) if shared else alphas,
            "condition": system.kappa(alphas),
            "refinements": steps,
        }
        status = "optimal" if doubt <= REFINABLE else "precision"
        if isinstance(system, Spectrum) and not alphas.all() and system.rank < point.shape[1] - 1:
            status = "minimum_norm"
        return LinearModel(point[:, :-1], point[:, -1], status, 1 + steps, gap, stats, path)

    def _refined(
        self, point: FloatArray, system: System, alphas: FloatArray, doubt: float
    ) -> tuple[FloatArray, float, int]:
        """Newton steps with exact residuals and the factors at hand: point, gap, steps.

        A step multiplies the gap by doubt^2 or less, so the last one need not be looked at.
        """
        best, least = point, float("inf")
        for step in range(4):
            risk = self._residuals(point, alphas)
            change, gap = newton_step(risk.gradient, system, alphas, self.fit_intercept)
            if gap > 0.01 * least:  # rounding: the better of the two
                return (point, gap, step) if gap < least else (best, least, step - 1)
            best, least, point = point, gap, point - change
            if gap * doubt**2 <= 1e-14 * risk.value:
                return point, gap * doubt**2, step + 1
        return point, least * doubt**2, 4

    def _residuals(self, point: FloatArray, alphas: FloatArray) -> Risk:
        """The ridge objective and its gradient by theta and b; one pass in float64."""
        self.passes += 1
        row_sum = RiskSum(self.design, Squared(len(point)), point, precise=True)
        risk = self.source.reduce(row_sum, hook=self.hook)
        theta = point[:, :-1]
        risk.value += float(alphas @ np.square(theta).sum(axis=1))
        risk.gradient[:, :-1] += 2.0 * alphas[:, None] * theta
        return risk


def newton_step(
    gradient: FloatArray, system: System, alphas: FloatArray, fit_intercept: bool
) -> tuple[FloatArray, float]:
    """The step to the minimiser of a ridge, k x (M + 1), and by how much it lowers the objective.

    With q = gradient / 2 and the intercept eliminated, theta moves by (gram + alpha)^-1 of
    q_theta - mean q_b, the intercept by q_b / W - mean . (step of theta); the objective is
    quadratic, so  (q_theta - mean q_b) . step + q_b^2 / W  is its distance from the optimum.
    """
    q, q_b = 0.5 * gradient[:, :-1], 0.5 * gradient[:, -1]
    if not fit_intercept:
        q_b = np.zeros_like(q_b)
    centred = q - q_b[:, None] * system.mean_x
    step = system.solve(centred.T, alphas).T
    gap = float(np.sum(centred * step) + np.sum(np.square(q_b)) / system.total)
    return np.column_stack([step, q_b / system.total - step @ system.mean_x]), max(gap, 0.0)
