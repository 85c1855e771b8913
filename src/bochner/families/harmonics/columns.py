"""Columns of a feature map that are harmonics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...ops.explicit import Explicit
from ...ops.projection import FloatArray
from .basis import Plan
from .indices import Indices, neighbours
from .sphere import unit_rows


@dataclass(frozen=True, eq=False)
class HarmonicColumns(Explicit):
    """phi_m(x) = scale sqrt |S^(d-1)| Y_m(x / |x|), whose mean square on the sphere is scale^2."""

    tile_columns: ClassVar[int] = 512  # they share their factors

    indices: Indices
    normalise: bool = False
    scale: float = 1.0
    #: Plans by their slice of columns: they cost as much as some hundred rows.
    _plans: dict[tuple[int, int], Plan] = field(default_factory=dict, repr=False)

    @property
    def n_inputs(self) -> int:
        return self.indices.d

    @property
    def n_columns(self) -> int:
        return len(self.indices)

    @property
    def atoms(self) -> Mapping[str, FloatArray]:
        """Degree l, angular order m (negative: sine), coordinates of the units; see `indices`."""
        indices = self.indices
        return {"order": indices.order, "units": indices.units, "degree": indices.degree}

    def names(self) -> tuple[str, ...]:
        return self.indices.names()

    def take(self, columns: NDArray[np.intp]) -> HarmonicColumns:
        return HarmonicColumns(self.indices.take(columns), self.normalise, self.scale)

    def scaled(self, factor: float) -> HarmonicColumns:
        return HarmonicColumns(self.indices, self.normalise, self.scale * factor)

    def fill(self, X: Any, columns: slice, out: FloatArray) -> None:
        self._plan(columns).fill(unit_rows(X, self.normalise), out)

    def neighbours(
        self, max_degree: int, rng: np.random.Generator
    ) -> tuple[HarmonicColumns, FloatArray]:
        """A random step from each column, and q(back) / q(there): see `indices.neighbours`."""
        indices, ratio = neighbours(self.indices, max_degree, rng)
        return HarmonicColumns(indices, self.normalise, self.scale), ratio

    def joined(self, others: HarmonicColumns) -> HarmonicColumns:
        """These and those of the others that are new, each once, behind them."""
        return HarmonicColumns(self.indices.joined(others.indices), self.normalise, self.scale)

    def _plan(self, columns: slice) -> Plan:
        at = (columns.start, columns.stop)
        if at not in self._plans:
            self._plans[at] = Plan.of(self.indices.take(columns))
        return self._plans[at]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plans": {}}
