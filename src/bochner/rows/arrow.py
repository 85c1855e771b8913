"""Arrow batches as tables: types to kinds, columns to NumPy."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .block import Array
from .optional import need
from .table import Table, kind_of_strings, unusable


class ArrowTable(Table):
    """A record batch or a table of Arrow."""

    def __init__(self, data: Any, where: str) -> None:
        self.data = data
        self.where = where
        self.names = tuple(data.schema.names)
        self.n_rows = data.num_rows

    def _column(self, name: Hashable) -> Any:
        column = self.data.column(self.names.index(name))
        return column.combine_chunks() if hasattr(column, "combine_chunks") else column

    def kind(self, name: Hashable) -> tuple[str, Any]:
        field = self.data.schema.field(self.names.index(name))
        kind, dtype = kind_of_type(field.type, f"column {name!r} of {self.where}")
        if kind == "text":
            return kind_of_strings(self._column(name).to_pylist()), None
        return kind, dtype

    def numbers(self, name: Hashable) -> Array:
        column = self._column(name)
        kind = column.type.to_pandas_dtype() if column.null_count < len(column) else None
        if kind is None:
            return np.full(len(column), np.nan, dtype=np.float32)
        if not column.null_count:
            return np.asarray(column.to_numpy(zero_copy_only=False))
        if np.dtype(kind).kind == "f":
            return _with_nan(column, 0.0, np.dtype(kind))
        # Whole numbers and booleans: filled, so that Arrow does not round them on the way.
        return _with_nan(column, np.dtype(kind).type(0).item(), np.dtype(np.float64))

    def objects(self, name: Hashable) -> Array:
        column = self._column(name)
        if hasattr(column, "dictionary"):
            coded = column
        elif column.null_count == len(column):
            return np.full(len(column), None, dtype=object)
        else:
            coded = column.dictionary_encode()
        # Each distinct value becomes one Python object; the last slot is the missing one.
        values = np.empty(len(coded.dictionary) + 1, dtype=object)
        values[:-1] = coded.dictionary.to_pylist()
        codes = (
            coded.indices.fill_null(len(coded.dictionary)) if coded.null_count else coded.indices
        )
        return np.asarray(values[codes.to_numpy(zero_copy_only=False)])


def _with_nan(column: Any, filler: Any, dtype: np.dtype[Any]) -> Array:
    from .checks import refuse_inexact

    filled = column.fill_null(filler).to_numpy(zero_copy_only=False)
    refuse_inexact(filled, "a column with missing values")
    out = filled.astype(dtype)
    out[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return np.asarray(out)


def kind_of_type(arrow_type: Any, what: str) -> tuple[str, Any]:
    """The kind of an Arrow type, and the NumPy dtype where it is a number.

    Strings are "text" until their values have been seen.
    """
    types = need("pyarrow", "parquet", "Reading Arrow data").types
    if types.is_boolean(arrow_type):
        return "number", np.dtype(np.bool_)
    if types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return "number", np.dtype(arrow_type.to_pandas_dtype())
    if types.is_null(arrow_type):
        return "number", np.dtype(np.float32)
    if types.is_dictionary(arrow_type):
        return "category", None
    if any(getattr(types, f"is_{name}")(arrow_type) for name in _STRINGS):
        return "text", None
    if types.is_temporal(arrow_type):
        return "date", None
    raise TypeError(unusable(what, f"values of type {arrow_type}", types.is_decimal(arrow_type)))


_STRINGS = ("string", "large_string", "string_view")
