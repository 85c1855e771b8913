"""`scan`: a lazy source of rows from a path or an object, to go where X goes."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .array_source import array_source
from .block import is_sparse
from .checks import checked_dtype
from .chunks import ChunkSource
from .files import find_files
from .frames import frame_source
from .optional import is_dask, is_table
from .source import BLOCK_BYTES, RowSource


def scan(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[Hashable] | None = None,
    weight: Any = None,
    block_bytes: int = BLOCK_BYTES,
    dtype: Any = None,
    format: str | None = None,
    passes: int | None = None,
    **options: Any,
) -> RowSource:
    """A lazy source of rows that goes where ``X`` goes (leave ``y`` out).

    Parameters
    ----------
    data : path, array, DataFrame, Dask collection or chunks
        A Parquet file, directory or glob; a CSV file (also compressed), directory or glob; a
        ``.npy`` file, which is mapped; an svmlight file; anything `as_source` takes; a list of
        chunks, an object that can be iterated again, or a function that returns a fresh iterator.
        A chunk is X, (X, y) or (X, y, weight).
    target : name, list of names, int or array
        The target: a column by name (several make an n x k target), of an array the column by
        index or an array of its own. svmlight files and chunks bring their own.
    columns : sequence of names or ints
        The features, if not all columns but target and weight.
    weight : name, int or array
        The weights, given as the target is.
    block_bytes : int
        Bytes of X in one block.
    dtype : dtype
        Of X: by default float32 where it holds every value exactly, else float64.
    format : {"parquet", "csv", "svmlight", "npy"}
        Of the files, where their ending does not tell.
    passes : int
        How often chunks may be read; ``passes=1`` admits an iterator that can be read only once.
    **options
        ``delimiter``, ``header``, ``missing`` for CSV; ``n_features``, ``zero_based`` for svmlight.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import scan
    >>> chunks = [(np.eye(3), np.arange(3)), (np.ones((2, 3)), np.zeros(2))]
    >>> source = scan(lambda: iter(chunks))
    >>> source.n_features
    3
    """
    dtype = checked_dtype(dtype)
    common = {"columns": columns, "weight": weight, "dtype": dtype, "block_bytes": block_bytes}
    if isinstance(data, str | os.PathLike):
        return _scan_files(data, target, format, common, options)
    if options or format:
        raise TypeError(
            f"scan got the options {sorted([*options, *(['format'] if format else [])])}, which "
            f"are for files, together with a {type(data).__name__}; leave them out."
        )
    if is_dask(data):
        from .cluster import scan_dask

        source: RowSource = scan_dask(data, target, **common)
        return source
    if isinstance(data, RowSource):
        raise TypeError(f"scan was given a {type(data).__name__}: it is a source already, use it.")
    if is_table(data):
        return frame_source(data, target, **common)
    if isinstance(data, np.ndarray) or is_sparse(data) or _array_like(data):
        return array_source(data, target, **common)
    return ChunkSource(data, target, passes=passes, **common)


def _array_like(data: Any) -> bool:
    return hasattr(data, "__array__") and not isinstance(data, list | tuple)


def _scan_files(
    path: Any, target: Any, given: str | None, common: dict[str, Any], options: dict[str, Any]
) -> RowSource:
    kind, paths = find_files(path, given)
    allowed = {"csv": {"delimiter", "header", "missing"}, "svmlight": {"n_features", "zero_based"}}
    odd = set(options) - allowed.get(kind, set())
    if odd:
        raise TypeError(
            f"scan got {sorted(odd)} for a {kind} file; it takes "
            f"{sorted(allowed.get(kind, set())) or 'no further options'}."
        )
    if kind == "parquet":
        from .parquet_file import ParquetSource

        return ParquetSource(paths, target, **common)
    if kind == "csv":
        from .csv_file import CsvSource, dialect_of

        return CsvSource(paths, target, dialect=dialect_of(paths[0], options), **common)
    if kind == "svmlight":
        return _scan_svmlight(paths, target, common, options)
    if kind == "npy":
        return _scan_npy(paths, target, common)
    raise ValueError(f"format is {kind!r}; expected 'parquet', 'csv', 'svmlight' or 'npy'.")


def _scan_svmlight(
    paths: list[str], target: Any, common: dict[str, Any], options: dict[str, Any]
) -> RowSource:
    from .svmlight_file import SvmlightSource

    given = [n for n, v in (("target", target), *common.items()) if v is not None and n in _NAMED]
    if given:
        raise ValueError(
            f"{paths[0]}: an svmlight file brings its own labels and has no column names, but "
            f"{given} was given; leave it out."
        )
    return SvmlightSource(
        paths, dtype=common["dtype"], block_bytes=common["block_bytes"], **options
    )


_NAMED = ("target", "columns", "weight")


def _scan_npy(paths: list[str], target: Any, common: dict[str, Any]) -> RowSource:
    from .files import readable

    if len(paths) > 1:
        raise ValueError(
            f"scan found {len(paths)} .npy files ({paths[:3]}); expected one. Give a list of "
            "memory maps as chunks: scan([np.load(p, mmap_mode='r') for p in paths])."
        )
    with readable(paths[0], "a .npy array"):
        mapped = np.load(paths[0], mmap_mode="r")
    return array_source(mapped, target, **common)
