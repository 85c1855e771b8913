"""Columns k(x, x_l): the exact kernel of a family to each of some points (RBF landmarks)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops.explicit import Explicit
from ..ops.projection import FloatArray
from .base import Family


@dataclass(frozen=True, eq=False)
class KernelColumns(Explicit):
    """phi_l(x) = factor k(x, x_l) for the L rows of ``points`` (dense or CSR)."""

    family: Family
    points: Any
    factor: float = 1.0

    @property
    def n_inputs(self) -> int:
        return int(self.points.shape[1])

    @property
    def n_columns(self) -> int:
        return int(self.points.shape[0])

    @property
    def scale(self) -> float:
        return self.factor

    @property
    def atoms(self) -> Mapping[str, FloatArray]:
        return {"landmarks": self.points}

    def names(self) -> tuple[str, ...]:
        return tuple(f"landmark{column}" for column in range(self.n_columns))

    def take(self, columns: NDArray[np.intp]) -> KernelColumns:
        return replace(self, points=self.points[np.asarray(columns, dtype=np.intp)])

    def scaled(self, factor: float) -> KernelColumns:
        return replace(self, factor=self.factor * factor)

    def fill(self, X: Any, columns: slice, out: FloatArray) -> None:
        out[:] = self.family.exact_kernel(X, self.points[columns])
