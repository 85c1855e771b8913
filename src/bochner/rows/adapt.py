"""Whatever a user gives as X, y and weights, as a source of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .block import Array, Block, Frame
from .checks import RefuseNonFinite, checked_target, checked_weight
from .frames import frame_source
from .memory import MemorySource
from .numeric import as_numeric
from .optional import is_dask, is_table
from .source import BLOCK_BYTES, RowSource


def as_source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    allow_frame: bool,
    dtype: Any = None,
    check_finite: bool = False,
    block_bytes: int = BLOCK_BYTES,
) -> RowSource:
    """The rows of X with their targets and weights, on the engine where X lives.

    Dask comes first, because everything after it would gather it. ``allow_frame`` admits columns
    that are not numbers; ``check_finite`` refuses NaN and infinity, block by block.
    """
    if is_dask(X):
        from .cluster import DaskSource

        source: RowSource = DaskSource(X, y, sample_weight, dtype=dtype, block_bytes=block_bytes)
    elif isinstance(X, RowSource):
        source = _as_given(X, y, sample_weight, dtype)
    else:
        source = _in_memory(X, y, sample_weight, dtype, block_bytes)
    if not allow_frame:
        refuse_frame(source)
    if not check_finite:
        return source
    if type(source) is MemorySource:
        source.check_finite = True
        return source
    return source.mapped(RefuseNonFinite(), source.schema)


def _in_memory(X: Any, y: Any, sample_weight: Any, dtype: Any, block_bytes: int) -> MemorySource:
    if is_table(X):
        source = frame_source(X, dtype=dtype, block_bytes=block_bytes)
        return with_targets(source, y, sample_weight)
    refuse_unreadable(X)
    X = X if isinstance(X, Frame) else as_numeric(X)
    source = MemorySource(X, dtype=dtype, block_bytes=block_bytes)
    return with_targets(source, y, sample_weight)


def with_targets(source: MemorySource, y: Any, sample_weight: Any) -> MemorySource:
    """The same rows in memory with checked targets and weights."""
    n = source.n_rows
    if is_dask(y) or is_dask(sample_weight):
        raise TypeError(
            "y or sample_weight is a Dask collection, but X is in memory; expected both in one "
            "place. Call .compute() on it, or give X as a Dask collection too."
        )
    return MemorySource(
        source.X,
        None if y is None else checked_target(y, n),
        None if sample_weight is None else checked_weight(sample_weight, n),
        names=source.schema.names,
        kinds=source.schema.kinds,
        dtype=source.schema.dtype,
        block_bytes=source.block_bytes,
    )


def _as_given(source: RowSource, y: Any, sample_weight: Any, dtype: Any) -> RowSource:
    for name, value, option in (("y", y, "target"), ("sample_weight", sample_weight, "weight")):
        if value is not None:
            raise ValueError(
                f"X is a {type(source).__name__} that brings its own rows, and {name} was given "
                f"besides; expected {name}=None. Name it when the source is made: "
                f"bochner.scan(..., {option}=...)."
            )
    wanted = source.schema.dtype if dtype is None else np.dtype(dtype)
    if source.schema.kinds is not None or wanted == source.schema.dtype:
        return source
    from dataclasses import replace

    return source.mapped(Cast(wanted), replace(source.schema, dtype=wanted))


@dataclass(frozen=True)
class Cast:
    """A block function to another dtype; picklable for a cluster."""

    dtype: np.dtype[Any]

    def __call__(self, block: Block) -> Block:
        cast: Array = block.X.astype(self.dtype, copy=False)
        return block.replace(X=cast)


def refuse_frame(source: RowSource) -> None:
    """Raise if some columns are not numbers, naming them."""
    kinds = source.schema.kinds
    if kinds is None:
        return
    names = source.schema.names or tuple(str(i) for i in range(len(kinds)))
    odd = [f"{n!r} ({k})" for n, k in zip(names, kinds, strict=True) if k != "number"]
    shown = ", ".join(odd[:10]) + (", ..." if len(odd) > 10 else "")
    raise TypeError(
        f"Expected numbers only, but {len(odd)} of {len(kinds)} columns are not: {shown}. Use "
        "KernelClassifier or KernelRegressor, which treat such columns, or encode them first (for "
        "instance with sklearn.preprocessing.OneHotEncoder in a ColumnTransformer)."
    )


def refuse_unreadable(X: Any) -> None:
    """Raise for what holds rows but is not rows: a path, a lazy frame, an iterator."""
    if isinstance(X, str | bytes) or hasattr(X, "__fspath__"):
        raise TypeError(
            f"X is the path {X!r}; expected rows. Make a source of it first: "
            "bochner.scan(path, target=...)."
        )
    if type(X).__module__.startswith("polars") and hasattr(X, "collect"):
        raise TypeError(
            "X is a polars LazyFrame; expected rows. Call .collect() on it, or write it to "
            "Parquet and give bochner.scan(path)."
        )
    if X is None or isinstance(X, dict | set | frozenset):
        given = "None" if X is None else f"a {type(X).__name__}"
        raise TypeError(
            f"X is {given}; expected an array, a DataFrame, a sparse matrix, a scan or a Dask "
            "collection: rows x features. A dict of columns becomes one by pandas.DataFrame(X)."
        )
    if hasattr(X, "__next__"):
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read only once; expected an array. Give "
            "chunks through bochner.scan(lambda: read_chunks())."
        )
