"""Ridge regression: the settings, and the order in which routes to the solution are tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import Hook, RowSource
from .closed_form import REFINABLE, Cholesky, Route, Rows, System
from .design import Design, in_views
from .model import LinearModel, check_intercept
from .moments import Normal, Triangle
from .spectrum import RidgePath, Spectrum


class Ridge(BaseEstimator):
    """Ridge regression: sum_i w_i |y_i - f(x_i)|^2 + alpha |theta|^2, the intercept free.

    Parameters
    ----------
    alpha : float, array of one a target, or "auto", default=1.0
        scikit-learn's alpha. "auto" takes the least exact leave-one-out error over ``alphas``: one
        alpha for all targets, each target's error counted relative to its variance. 0 gives least
        squares, of minimum norm where features depend on each other.
    alphas : array, default=None
        The regularisation path to compute. None: with "auto" two a decade, scaled to the largest
        eigenvalue of the Gram matrix; else no path.
    solver : {"auto", "gram", "qr"}, default="auto"
        "gram" sums products, "qr" (a tall-skinny QR, about four times the time) keeps twice the
        digits; "auto" decides by the condition number and the number of rows.
    fit_intercept : bool, default=True

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import Ridge
    >>> from bochner.rows import MemorySource
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = Ridge(alpha=0.0).fit(MemorySource(X, 2.0 * X[:, 0] + 1.0), None)
    >>> model.coef.round(6), model.intercept.round(6)
    (array([[2.]]), array([1.]))
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        alphas: Any = None,
        solver: str = "auto",
        fit_intercept: bool = True,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.solver = solver
        self.fit_intercept = fit_intercept

    def fit(
        self,
        source: RowSource,
        fm: FeatureMap | None,
        *,
        n_classes: int | None = None,
        start: LinearModel | None = None,
        hook: Hook | None = None,
    ) -> LinearModel:
        """The minimiser, in closed form; ``n_classes`` and ``start`` are what other heads need."""
        self._check()
        design = Design.of(source, fm)
        rows = Rows(in_views(source) if fm is None else source, design, self.fit_intercept, hook)
        for route in rows.routes(self.solver):
            sums = rows.sums(route)
            system = self._system(sums, route)
            path = None
            if self._searches and isinstance(system, Spectrum):
                path = rows.path(system, route, self.alphas)
            alphas = self._alphas(sums, path)
            doubt = system.kappa(alphas) * route.eps
            if doubt <= REFINABLE:
                break
        return rows.model(system, route, alphas, path)

    def _check(self) -> None:
        check_intercept(self)
        if self.solver not in ("auto", "gram", "qr"):
            raise ValueError(f'Ridge(solver={self.solver!r}): expected "auto", "gram" or "qr".')
        for name, value in (("alpha", self.alpha), ("alphas", self.alphas)):
            if value is None or (name == "alpha" and isinstance(value, str) and value == "auto"):
                continue
            try:
                numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
            except (TypeError, ValueError):
                numbers = np.array([np.nan])
            if numbers.ndim != 1 or numbers.size == 0 or not np.all(np.isfinite(numbers)):
                raise ValueError(
                    f"Ridge({name}={value!r}): expected finite numbers"
                    + (' (one, one a target, or "auto").' if name == "alpha" else ".")
                )
            if np.any(numbers < 0):
                raise ValueError(f"Ridge({name}={value!r}): a penalty cannot be negative; give 0.")

    def _system(self, sums: Normal | Triangle, route: Route) -> System:
        """Cholesky for one alpha, the decomposition for several, or where that one fails."""
        if isinstance(sums, Triangle):
            return Spectrum.of_triangle(sums)
        if not self._searches and np.ptp(self._alphas(sums, None)) == 0.0:
            system = Cholesky(sums, float(self._alphas(sums, None)[0]))
            if np.isfinite(system.condition):
                return system
        return Spectrum.of_normal(sums, route.eps)

    def _alphas(self, sums: Normal | Triangle, path: RidgePath | None) -> FloatArray:
        """One alpha a target."""
        chosen = path.best if path is not None and isinstance(self.alpha, str) else self.alpha
        given, k = np.atleast_1d(np.asarray(chosen, dtype=np.float64)), len(sums.mean_y)
        if len(given) not in (1, k):
            raise ValueError(
                f"Ridge(alpha=...) has {len(given)} values for {k} targets; give one number, or "
                "one a target."
            )
        return np.array(np.broadcast_to(given, (k,)))

    @property
    def _searches(self) -> bool:
        return isinstance(self.alpha, str) or self.alphas is not None
