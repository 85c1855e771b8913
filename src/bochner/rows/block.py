"""A block: some consecutive rows, their targets and weights, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of unlike kinds, before a column treatment has made numbers of them.

    Numbers are float arrays with NaN for missing; everything else is an object array with None.
    """

    names: tuple[str, ...]
    columns: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    def __getitem__(self, rows: Any) -> Frame:
        return Frame(self.names, tuple(c[rows] for c in self.columns))

    @property
    def nbytes(self) -> int:
        return sum(c.nbytes for c in self.columns)


@dataclass(frozen=True, eq=False)
class Block:
    """Rows ``offset .. offset + n`` of one partition of a source.

    X is C-ordered float32/float64 (n x d), CSR of the same dtypes, or a `Frame`;
    y is n, n x k, or None; weight is float64 of length n, or None for all ones;
    state is the slice of a `RowState` that travels with these rows, or None.
    """

    X: Any
    y: Array | None = None
    weight: Array | None = None
    partition: int = 0
    offset: int = 0
    state: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def weights(self) -> Array:
        """The weights, ones where none were given."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def replace(self, **changes: Any) -> Block:
        return replace(self, **changes)


def is_sparse(X: Any) -> bool:
    """`scipy.sparse.issparse`, which tells a type checker less."""
    return bool(sparse.issparse(X))


def working_dtype(dtypes: Sequence[Any]) -> np.dtype[Any]:
    """float32 where it holds every value exactly, else float64.

    float32, float16, booleans and integers up to 16 bits work in float32; all else in float64.
    """
    dtype = np.result_type(*dtypes) if len(dtypes) else np.dtype(np.float64)
    small = dtype.itemsize <= 2 or dtype == np.float32
    return np.dtype(np.float32 if small and dtype.kind in "biuf" else np.float64)
