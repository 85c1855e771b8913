"""Columns that are not one linear form and one scalar function each.

`Projection` has the fused path. Everything else is a `ColumnSet`, which brings its own sums:
`Explicit` evaluates columns by a formula, `Stack` sets several kinds side by side, `Mixed` adds
groups of columns up to one each. The functions of this package hand over to these methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .projection import FloatArray, Projection

if TYPE_CHECKING:
    from .tiles import Rows


class ColumnSet(ABC):
    """M columns phi_m(x) of rows with d inputs. Shapes: R n x C, T M x C, scale M, out n x M."""

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """d."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """M."""

    @property
    @abstractmethod
    def atoms(self) -> Mapping[str, FloatArray]:
        """The parameters of the columns."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """A readable name for each column."""

    @abstractmethod
    def take(self, columns: NDArray[np.intp]) -> ColumnSet:
        """These columns only, in this order."""

    @abstractmethod
    def scaled(self, factor: float) -> ColumnSet:
        """Every column times a number."""

    @abstractmethod
    def define(self, X: FloatArray) -> FloatArray:
        """phi_m(x_i) of dense float64 rows, n x M: the slow definition of all that follows."""

    @abstractmethod
    def write(self, rows: Rows, scale: FloatArray, out: FloatArray, threads: int | None) -> None:
        """out[i, m] = scale_m phi_m(x_i), in the dtype of ``out``."""

    @abstractmethod
    def project(self, rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
        """sum_i phi_m(x_i) R_ic, M x C in float64."""

    @abstractmethod
    def map_rows(self, rows: Rows, T: FloatArray, threads: int | None) -> FloatArray:
        """phi(x_i) T, n x C in float64; ``T`` is float64."""

    @property
    def differentiable(self) -> bool:
        """Can `pull` move the atoms?"""
        return False

    def pull(
        self, rows: Rows, R: FloatArray, T: FloatArray, threads: int | None
    ) -> dict[str, FloatArray]:
        """sum_i (R T')_im d phi_m(x_i) / d atom_m, one array per atom parameter."""
        raise self._fixed()

    def slope(self) -> ColumnSet:
        """d phi_m / d z, for columns of one linear form each."""
        raise self._fixed()

    def _fixed(self) -> ValueError:
        return ValueError(
            f"{type(self).__name__} columns have no derivative with respect to their atoms: use "
            "a Fourier family or ArcCosine(order=1) where atoms are to be moved."
        )


AnyColumns: TypeAlias = Projection | ColumnSet
