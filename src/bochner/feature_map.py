"""The result of learning: a frozen, finite, explicit feature map."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import ops
from .families import Family
from .ops import AnyColumns, FloatArray


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Columns s_m phi_m(x), m = 1 .. M: atoms of a family, each with its weight s_m.

    The learned kernel is k(x, x') = sum_m s_m^2 phi_m(x) phi_m(x'); with s_m = 1 / sqrt(M) it is
    the plain Monte Carlo estimate of the family's exact kernel.

    All methods take rows in memory (array or CSR); `bochner.statistics` runs the same sums over
    any source.

    Parameters
    ----------
    family : Family
        With its bandwidth resolved to a number.
    projection : Projection or ColumnSet
        The atoms, in the form that the hot loops read.
    weights : array of M
        s_m.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import FeatureMap
    >>> from bochner.families import Gaussian
    >>> fm = FeatureMap.uniform(Gaussian(bandwidth=1.0), 2000, 3, np.random.default_rng(0))
    >>> x = np.zeros((1, 3))
    >>> bool(abs(fm.kernel(x, x)[0, 0] - 1.0) < 0.1)
    True
    """

    family: Family
    projection: AnyColumns
    weights: FloatArray

    @classmethod
    def uniform(
        cls, family: Family, n_columns: int, n_inputs: int, rng: np.random.Generator
    ) -> FeatureMap:
        """Columns drawn from the family, each with weight 1 / sqrt(M)."""
        weights = np.full(n_columns, 1.0 / np.sqrt(max(1, n_columns)))
        return cls(family, family.draw(n_columns, n_inputs, rng), weights)

    @property
    def n_features(self) -> int:
        """M, the number of columns."""
        return self.projection.n_columns

    @property
    def n_inputs(self) -> int:
        """d, the number of columns of X."""
        return self.projection.n_inputs

    @cached_property
    def atoms(self) -> Mapping[str, FloatArray]:
        """The parameters of the atoms, one row an atom: what `pull` differentiates by."""
        return self.projection.atoms

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A readable name for each column."""
        return self.projection.names()

    @property
    def input_columns(self) -> NDArray[np.intp] | None:
        """The columns of X that the features are; None where they are something else."""
        p = self.projection
        if isinstance(p, ops.ColumnSet) or p.activation != "identity":
            return None
        return p.operator.index if isinstance(p.operator, ops.Columns) else None

    def sparse(self, X: Any) -> Any:
        """The features as CSR where rows are sparse and features columns of them, else None."""
        return ops.sparse_columns(X, self.projection, self.weights)

    def __call__(self, X: Any) -> FloatArray:
        """The features of the rows, n x M, in the dtype of X."""
        return ops.features(X, self.projection, column_scale=self.weights)

    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """The learned kernel between the rows of X and of Y, n x m."""
        left = self(X)
        return left @ (left if Y is None else self(Y)).T

    def project(self, X: Any, R: FloatArray) -> FloatArray:
        """``fm(X).T @ R`` without the features in memory, M x C in float64."""
        R = np.asarray(R)
        if R.ndim == 1:
            return self.weights * ops.project(X, self.projection, R[:, None])[:, 0]
        return self.weights[:, None] * ops.project(X, self.projection, R)

    def gram(
        self, X: Any, weights: FloatArray | None = None, derivative: bool = False
    ) -> FloatArray:
        """``fm(X).T @ (weights[:, None] * fm(X))``; of the derivative features if asked."""
        if derivative:
            self._check_derivative()
        inner = ops.gram(X, self.projection, weights, derivative=derivative)
        return self.weights[:, None] * inner * self.weights

    def pull(
        self, X: Any, R: FloatArray, T: FloatArray, *, out: dict[str, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """sum_i (R T')_im d(s_m phi_m(x_i)) / d atom_m, one array per atom parameter.

        The sums are added to the arrays of ``out`` where it is given.
        """
        self._check_derivative()
        R, T = (A[:, None] if A.ndim == 1 else A for A in (np.asarray(R), self._checked(T)))
        known = None if out is None else dict(out)
        gradient = ops.pull(X, self.projection, R, self.weights[:, None] * T, out=known)
        return {name: gradient[name] for name in self.atoms}

    def _check_derivative(self) -> None:
        if not self.family.differentiable:
            raise ValueError(
                f"the atoms of {self.family!r} cannot be moved: its features have no derivative "
                "with respect to them. Use a Fourier family or ArcCosine(order=1)."
            )

    def _checked(self, T: Any) -> FloatArray:
        """T with one row a column of the map."""
        T = np.asarray(T)
        if T.ndim not in (1, 2) or len(T) != self.n_features:
            raise ValueError(
                f"T has shape {T.shape}, expected ({self.n_features}, C): one row per column of "
                "the map"
            )
        return T

    def map_rows(self, X: Any, T: FloatArray) -> FloatArray:
        """``fm(X) @ T`` without the features in memory, n x C in the dtype of X."""
        T = self._checked(T)
        if T.ndim == 1:
            return ops.map_rows(X, self.projection, (self.weights * T)[:, None])[:, 0]
        return ops.map_rows(X, self.projection, self.weights[:, None] * T)

    def take(self, columns: NDArray[np.intp]) -> FeatureMap:
        """The map with these columns only, weights kept."""
        columns = np.asarray(columns, dtype=np.intp)
        return FeatureMap(self.family, self.projection.take(columns), self.weights[columns])

    def truncate(self, M: int) -> FeatureMap:
        """The map of the first M columns, weights kept."""
        given: Any = M
        whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
        if not whole or not 0 < M <= self.n_features:
            raise ValueError(
                f"truncate(M={M!r}): this map has {self.n_features} columns; M must be a whole "
                "number between 1 and that."
            )
        return self.take(np.arange(M))
