"""DataFrames in memory as tables, and the source they make. Neither package is imported here."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .arrow import ArrowTable
from .block import Array
from .checks import refuse_inexact
from .memory import MemorySource
from .optional import is_pandas, is_polars
from .source import BLOCK_BYTES
from .table import Table, kind_of_objects, kind_of_strings, plan, unusable


class PandasTable(Table):
    """A pandas DataFrame: NumPy, nullable, Arrow-backed and categorical columns alike."""

    def __init__(self, data: Any, where: str = "the DataFrame") -> None:
        self.data = data
        self.where = where
        self.names = tuple(data.columns)
        self.n_rows = len(data)

    def _column(self, name: Hashable) -> Any:
        return self.data.iloc[:, self.names.index(name)]

    def kind(self, name: Hashable) -> tuple[str, Any]:
        column = self._column(name)
        letter = getattr(column.dtype, "kind", "O")
        what = f"column {name!r} of {self.where}"
        if letter in "biuf":
            return "number", _numpy_dtype(column.dtype)
        if letter in "mM" or str(column.dtype).startswith("period"):
            return "date", None
        if letter == "c":
            raise TypeError(unusable(what, f"complex numbers ({column.dtype})"))
        if hasattr(column, "cat"):
            return "category", None
        kind = kind_of_objects(self.objects(name), what)
        return kind, np.dtype(np.float64) if kind == "number" else None

    def numbers(self, name: Hashable) -> Array:
        column = self._column(name)
        dtype = column.dtype
        if isinstance(dtype, np.dtype) and dtype.kind != "O":
            return np.asarray(column.to_numpy())
        missing = column.isna().to_numpy()
        plain = _numpy_dtype(dtype) if getattr(dtype, "kind", "O") in "biuf" else np.float64
        wanted: np.dtype[Any] = np.dtype(plain)
        # Missing entries are filled first, so that whole numbers are not rounded on the way.
        filled = column.where(~missing, wanted.type(0).item()) if missing.any() else column
        values = np.asarray(filled.to_numpy(dtype=wanted))
        if not missing.any():
            return values
        refuse_inexact(values, f"column {name!r} of {self.where}")
        out = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
        out[missing] = np.nan
        return np.asarray(out)

    def objects(self, name: Hashable) -> Array:
        column = self._column(name)
        values = np.array(column, dtype=object)
        values[column.isna().to_numpy()] = None
        return values


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype behind a pandas dtype of numbers."""
    for name in ("numpy_dtype", "subtype"):
        dtype = getattr(dtype, name, dtype)
    plain: np.dtype[Any] = np.dtype(dtype)
    return plain


class PolarsTable(Table):
    """A polars DataFrame."""

    def __init__(self, data: Any, where: str = "the DataFrame") -> None:
        self.data = data
        self.where = where
        self.names = tuple(data.columns)
        self.n_rows = data.height

    def kind(self, name: Hashable) -> tuple[str, Any]:
        column = self.data[name]
        dtype = column.dtype
        text = str(dtype)
        what = f"column {name!r} of {self.where}"
        if text == "Boolean" or text == "Null":
            return "number", np.dtype(np.bool_)
        if dtype.is_float() or dtype.is_integer():
            return "number", np.dtype(column.head(0).to_numpy().dtype)
        if dtype.is_temporal():
            return "date", None
        if text.startswith(("Categorical", "Enum")):
            return "category", None
        if text == "String":
            return kind_of_strings(column.to_list()), None
        if text == "Object":
            kind = kind_of_objects(self.objects(name), what)
            return kind, np.dtype(np.float64) if kind == "number" else None
        raise TypeError(unusable(what, f"values of type {text}", dtype.is_decimal()))

    def numbers(self, name: Hashable) -> Array:
        column = self.data[name]
        if str(column.dtype) in ("Null", "Object"):
            values = [np.nan if v is None else float(v) for v in column.to_list()]
            return np.array(values, dtype=np.float64)
        if column.null_count() and column.dtype.is_integer():
            refuse_inexact(column.drop_nulls().to_numpy(), f"column {name!r} of {self.where}")
        if column.null_count() and str(column.dtype) == "Boolean":
            column = column.cast(type(self.data)({"x": [1.0]})["x"].dtype)
        return np.asarray(column.to_numpy())

    def objects(self, name: Hashable) -> Array:
        values = np.empty(self.n_rows, dtype=object)
        values[:] = self.data[name].to_list()
        return values


def as_table(data: Any, where: str = "the DataFrame") -> Table:
    """Any DataFrame or Arrow table in memory behind the one face."""
    if is_pandas(data):
        return PandasTable(data, where)
    if is_polars(data):
        return PolarsTable(data, where)
    return ArrowTable(data, where)


def frame_source(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[Hashable] | None = None,
    weight: Hashable | None = None,
    dtype: Any = None,
    block_bytes: int = BLOCK_BYTES,
) -> MemorySource:
    """The source of a table in memory; target, columns and weight by name."""
    table = as_table(data)
    layout = plan(
        table, "the DataFrame", target=target, columns=columns, weight=weight, dtype=dtype
    )
    whole = layout.block(table, "the DataFrame")
    schema = layout.schema()
    return MemorySource(
        whole.X,
        whole.y,
        whole.weight,
        names=schema.names,
        kinds=schema.kinds,
        dtype=schema.dtype,
        block_bytes=block_bytes,
    )
