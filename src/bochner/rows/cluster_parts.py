"""The partitions of a Dask collection, lazily, and how a computed one becomes blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .block import Block, is_sparse, working_dtype
from .checks import checked_target, checked_weight, refuse_inexact
from .files import cut, rows_per_block
from .frames import as_table
from .numeric import as_numeric
from .optional import is_dask, is_dask_array, is_dask_frame
from .source import Schema
from .table import Layout, plan


@dataclass(frozen=True)
class Reader:
    """Makes blocks of one computed partition; small, and picklable for the workers."""

    schema: Schema
    block_bytes: int
    layout: Layout | None = None

    def blocks(self, partition: int, X: Any, y: Any, weight: Any) -> Iterator[Block]:
        what = f"partition {partition}"
        if self.layout is not None:
            block = self.layout.block(as_table(X, what), what, partition)
        else:
            block = Block(self._matrix(X, what), partition=partition)
        n = block.n_rows
        if y is not None:
            block = block.replace(y=checked_target(y, n, f"y of {what}"))
        if weight is not None:
            block = block.replace(weight=checked_weight(weight, n, f"the weight of {what}"))
        yield from cut(block, rows_per_block(self.block_bytes, self._row_bytes(block)))

    def _row_bytes(self, block: Block) -> int:
        if self.schema.sparse:
            return 12 * max(1, int(block.X.nnz) // max(1, block.n_rows))
        return int(block.X.nbytes) // max(1, block.n_rows)

    def _matrix(self, X: Any, what: str) -> Any:
        X = as_numeric(X, what)
        if X.shape[1] != self.schema.n_features:
            raise ValueError(
                f"{what} has {X.shape[1]} columns; expected {self.schema.n_features}, as the Dask "
                "array declares. Check the function that makes its chunks."
            )
        refuse_inexact(X.data if is_sparse(X) else X, what)
        if is_sparse(X):
            return X.astype(self.schema.dtype, copy=False)
        return np.ascontiguousarray(X, dtype=self.schema.dtype)


@dataclass(frozen=True)
class Parts:
    """One delayed X, y and weight a partition (y and weight may be plain slices, or None)."""

    reader: Reader
    X: list[Any]
    y: list[Any]
    weight: list[Any]
    sizes: list[int] | None

    def at(self, partition: int) -> tuple[Any, Any, Any]:
        return self.X[partition], self.y[partition], self.weight[partition]


def parts_of(
    X: Any,
    y: Any,
    weight: Any,
    target: Any,
    columns: Sequence[Any] | None,
    dtype: Any,
    block_bytes: int,
) -> Parts:
    """Check what a Dask collection declares and split it into partitions."""
    if is_dask_frame(X):
        return _frame_parts(X, y, weight, target, columns, dtype, block_bytes)
    if is_dask_array(X):
        return _array_parts(X, y, weight, dtype, block_bytes)
    raise TypeError(
        f"X is a Dask {type(X).__name__}; expected a Dask array or a Dask DataFrame. Convert it, "
        "for instance with bag.to_dataframe() or dask.array.from_delayed."
    )


def _array_parts(X: Any, y: Any, weight: Any, dtype: Any, block_bytes: int) -> Parts:
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: the Dask array has shape {X.shape}. "
            "Reshape your data: array.reshape(-1, 1) if it has a single feature."
        )
    as_numeric(np.empty((0, 1), dtype=X.dtype), "the Dask array")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    sizes = None if any(np.isnan(c) for c in X.chunks[0]) else [int(c) for c in X.chunks[0]]
    delayed = list(X.to_delayed()[:, 0])
    ys, n_targets = _along(y, len(delayed), sizes, "y")
    weights, _ = _along(weight, len(delayed), sizes, "sample_weight")
    schema = Schema(
        n_features=int(X.shape[1]),
        dtype=np.dtype(dtype) if dtype is not None else working_dtype([X.dtype]),
        sparse=is_sparse(X._meta),
        n_targets=n_targets,
        weighted=weight is not None,
    )
    return Parts(Reader(schema, block_bytes), delayed, ys, weights, sizes)


def _frame_parts(
    X: Any,
    y: Any,
    weight: Any,
    target: Any,
    columns: Sequence[Any] | None,
    dtype: Any,
    block_bytes: int,
) -> Parts:
    from dataclasses import replace

    named = weight if isinstance(weight, str) else None
    layout = plan(
        as_table(_sample(X), "the Dask DataFrame"),
        "the Dask DataFrame",
        target=target,
        columns=columns,
        weight=named,
        dtype=dtype,
    )
    delayed = list(X[layout.columns].to_delayed())
    ys, n_targets = _along(y, len(delayed), None, "y")
    weights, _ = _along(None if named else weight, len(delayed), None, "sample_weight")
    schema = layout.schema()
    schema = replace(
        schema,
        n_targets=schema.n_targets if y is None else n_targets,
        weighted=weight is not None,
    )
    return Parts(Reader(schema, block_bytes, layout), delayed, ys, weights, None)


def _sample(X: Any) -> Any:
    """Rows to judge strings by; where the declared types tell all, none are computed."""
    meta = X._meta
    if all(getattr(t, "kind", "O") in "biufmM" for t in meta.dtypes):
        return meta
    return X.partitions[0].map_partitions(_top, meta=meta).compute()


def _top(frame: Any) -> Any:
    return frame.head(10_000)


def _along(
    values: Any, n_parts: int, sizes: list[int] | None, what: str
) -> tuple[list[Any], int | None]:
    """A vector cut as X is, and its number of outputs (0 for a vector)."""
    if values is None:
        return [None] * n_parts, None
    if is_dask(values):
        return _along_dask(values, n_parts, sizes, what)
    array = np.asarray(values)
    if sizes is None:
        raise ValueError(
            f"{what} is an array in memory, but Dask does not know how many rows each partition "
            f"of X has. Give {what} as a Dask collection or a column of the DataFrame, or call "
            "X.compute_chunk_sizes() first."
        )
    if len(array) != sum(sizes):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{sum(sizes)}, {len(array)}] for X and {what}."
        )
    return np.split(array, np.cumsum(sizes)[:-1]), 0 if array.ndim == 1 else array.shape[1]


def _along_dask(
    values: Any, n_parts: int, sizes: list[int] | None, what: str
) -> tuple[list[Any], int | None]:
    outputs = 0 if values.ndim == 1 else int(values.shape[1])
    if is_dask_array(values):
        known = not any(np.isnan(c) for c in values.chunks[0])
        if known and sizes is not None and values.shape[0] == sum(sizes):
            values = values.rechunk({0: tuple(sizes)})
        if values.ndim > 1 and values.numblocks[1] > 1:
            values = values.rechunk({1: -1})
        found = list(values.to_delayed().ravel())
        if known and sizes is not None and values.shape[0] != sum(sizes):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{sum(sizes)}, {values.shape[0]}] for X and {what}."
            )
    else:
        found = list(values.to_delayed())
    if len(found) != n_parts:
        raise ValueError(
            f"{what} has {len(found)} partitions, but X has {n_parts}; expected the same rows in "
            "each. Derive both from one collection, or rechunk one like the other."
        )
    return found, outputs
