"""The columns of X themselves as candidates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..ops.projection import Columns, FloatArray, Projection
from .base import Family
from .distances import as_rows, inner_products


class Linear(Family):
    """phi(x, j) = x_j, with j uniform over the columns (Sinha & Duchi 2016, section 4.2).

    The exact kernel is x.x' / d. Columns are drawn without replacement, in their own order, so
    asking for all d candidates gives X itself; sparse rows are never made dense. It has no
    parameters, and no derivative: its atoms are column numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Linear
    >>> Linear().exact_kernel(np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    typical: ClassVar = {}

    def __init__(self) -> None:
        pass

    @property
    def bound(self) -> float:
        return float("inf")

    @property
    def differentiable(self) -> bool:
        return False

    def n_available(self, n_features: int) -> int:
        return n_features

    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> Projection:
        self._check_count(n_columns)
        if n_columns > n_features:
            raise ValueError(
                f"Linear has one candidate a column, {n_features} here, but {n_columns} were asked "
                f"for. Ask for at most {n_features}."
            )
        index = np.sort(rng.permutation(n_features)[:n_columns]).astype(np.intp)
        return Projection(Columns(n_features, index), "identity")

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        X, Y = as_rows(X), None if Y is None else as_rows(Y)
        return np.asarray(inner_products(X, Y) / X.shape[1])
