"""Arrays in memory or mapped from a file, with target, weight and features by index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .adapt import with_targets
from .block import Block, is_sparse
from .mapped_file import base_memmap, gathered
from .memory import MemorySource
from .numeric import as_numeric
from .optional import is_dask
from .source import BLOCK_BYTES, RowSource


@dataclass(frozen=True)
class KeepColumns:
    """A block function that keeps some columns; picklable for a cluster."""

    keep: tuple[int, ...]

    def __call__(self, block: Block) -> Block:
        kept = block.X[:, list(self.keep)]
        return block.replace(X=kept if is_sparse(kept) else np.ascontiguousarray(kept))


def array_source(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    weight: Any = None,
    dtype: Any = None,
    block_bytes: int = BLOCK_BYTES,
) -> RowSource:
    """The source of an array; target and weight are arrays or indices of its columns."""
    X = as_numeric(data, "the array")
    width = int(X.shape[1])
    y, taken_y = array_column(X, target, width, "target")
    weights, taken_w = array_column(X, weight, width, "weight")
    keep = kept_columns(width, columns, taken_y + taken_w)
    source = with_targets(MemorySource(X, dtype=dtype, block_bytes=block_bytes), y, weights)
    if len(keep) == width:
        return source
    if keep == tuple(range(keep[0], keep[-1] + 1)):  # a view, so a memory map stays one
        view = X[:, keep[0] : keep[-1] + 1]
        return with_targets(MemorySource(view, dtype=dtype, block_bytes=block_bytes), y, weights)
    return source.mapped(KeepColumns(keep), replace(source.schema, n_features=len(keep)))


def array_column(X: Any, which: Any, width: int, what: str) -> tuple[Any, list[int]]:
    """The values of a target or weight, and the columns of X that it takes."""
    if which is None or not indexes(which, X.shape[0]):
        return _as_array(which, what), []
    several = isinstance(which, list | tuple)
    taken = [column_index(i, width, what) for i in (which if several else [which])]
    values = _values(X, taken)
    return values if several else values[:, 0], taken


def _values(X: Any, columns: list[int]) -> Any:
    mapped = None if is_dask(X) else base_memmap(X)
    if mapped is not None:
        return gathered(mapped, X, columns)
    return X[:, columns].toarray() if is_sparse(X) else X[:, columns]


def indexes(which: Any, n_rows: float) -> bool:
    """Tell the index of a column, or a list of such, from one value a row."""
    if isinstance(which, list | tuple):
        whole = all(isinstance(i, int | np.integer) for i in which)
        return whole and len(which) > 0 and not len(which) >= n_rows  # NaN where Dask does not know
    return isinstance(which, int | np.integer) and not isinstance(which, bool)


def _as_array(which: Any, what: str) -> Any:
    if isinstance(which, str):
        raise ValueError(
            f"{what} is {which!r}, but an array has no column names; expected the index of a "
            f"column or an array of values: {what}=-1 for the last column."
        )
    return which


def column_index(index: Any, width: int, what: str) -> int:
    """A column counted from either end, as one counted from the front."""
    if not -width <= index < width:
        raise ValueError(
            f"{what} {index} is not a column of an array of {width} columns; expected "
            f"{-width}..{width - 1}."
        )
    return int(index) % width


def kept_columns(width: int, columns: Sequence[Any] | None, taken: list[int]) -> tuple[int, ...]:
    """The features by index: those asked for, less what target and weight take."""
    if columns is not None and any(isinstance(c, str) for c in columns):
        raise ValueError(f"columns is {list(columns)!r}, but an array has no names; give indices.")
    wanted = (
        range(width) if columns is None else [column_index(c, width, "column") for c in columns]
    )
    keep = tuple(c for c in wanted if c not in taken)
    if not keep:
        raise ValueError(
            f"No column of {width} is left for the features; give fewer to the target."
        )
    return keep
