"""Tables with named columns, whoever holds them: which columns are what, and a block made of them.

A `Table` is the small face that Arrow batches, pandas and polars show to the rest of this room;
a `Layout` is what was decided at first sight and is then held for every later block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from .block import Array, Block, Frame, working_dtype
from .checks import checked_target, checked_weight, refuse_inexact, refuse_unknown
from .source import Schema

#: Rows of a strip when columns are written into a C-ordered matrix: a strip stays in cache.
STRIP = 4096


class Table(ABC):
    """Named columns of equal length."""

    names: tuple[Hashable, ...]
    n_rows: int

    @abstractmethod
    def kind(self, name: Hashable) -> tuple[str, Any]:
        """The kind of a column, and the NumPy dtype of its numbers where it holds numbers."""

    @abstractmethod
    def numbers(self, name: Hashable) -> Array:
        """A number column as a numeric array, NaN for missing."""

    @abstractmethod
    def objects(self, name: Hashable) -> Array:
        """Any other column as an object array, None for missing."""

    def target(self, name: Hashable) -> Array:
        """A column as labels or outputs: numbers keep their dtype."""
        return self.numbers(name) if self.kind(name)[0] == "number" else self.objects(name)


@dataclass(frozen=True)
class Layout:
    """Which columns are features, target and weight, and of what kind the features are."""

    features: tuple[Hashable, ...]
    kinds: tuple[str, ...]
    dtype: np.dtype[Any]
    target: Any = None  # a name, or a list of names
    weight: Hashable | None = None
    pruned: bool = False  # were the features chosen by name?

    @property
    def targets(self) -> tuple[Hashable, ...]:
        """The target columns by name; none, one or several."""
        if self.target is None:
            return ()
        return tuple(self.target) if isinstance(self.target, list | tuple) else (self.target,)

    @property
    def columns(self) -> list[Hashable]:
        """All columns that have to be read."""
        return [*self.features, *self.targets, *([] if self.weight is None else [self.weight])]

    @property
    def numeric(self) -> bool:
        return all(kind == "number" for kind in self.kinds)

    @property
    def row_bytes(self) -> int:
        """Bytes of the features of one row (an object column holds pointers)."""
        return max(1, len(self.features)) * (self.dtype.itemsize if self.numeric else 8)

    def schema(self) -> Schema:
        several = isinstance(self.target, list | tuple)
        texts = all(isinstance(name, str) for name in self.features)
        return Schema(
            n_features=len(self.features),
            dtype=self.dtype,
            names=tuple(str(n) for n in self.features) if texts or not self.numeric else None,
            kinds=None if self.numeric else self.kinds,
            n_targets=None if self.target is None else (len(self.targets) if several else 0),
            weighted=self.weight is not None,
        )

    def with_dtype(self, dtype: Any) -> Layout:
        return replace(self, dtype=np.dtype(dtype))

    def block(self, table: Table, where: str, partition: int = 0, offset: int = 0) -> Block:
        """The block that these rows make; ``where`` names their origin in errors."""
        at = f"{where} (from row {offset})" if offset else where
        y = weight = None
        if self.targets:
            y = self._target(table, at)
        if self.weight is not None:
            values = table.target(self.weight)
            if values.dtype.kind not in "biuf":
                raise ValueError(
                    f"the weight {self.weight!r} of {at} holds text or dates; expected numbers, "
                    "not negative. Name another column."
                )
            weight = checked_weight(values, table.n_rows, f"the weight {self.weight!r} of {at}")
        return Block(self._features(table, at), y, weight, partition, offset)

    def _target(self, table: Table, at: str) -> Array:
        parts = [table.target(name) for name in self.targets]
        y = np.column_stack(parts) if isinstance(self.target, list | tuple) else parts[0]
        return checked_target(y, table.n_rows, f"the target {self.target!r} of {at}")

    def _features(self, table: Table, at: str) -> Any:
        columns: list[Array] = []
        for name, kind in zip(self.features, self.kinds, strict=True):
            if kind == "number":
                values = table.numbers(name)
                refuse_inexact(values, f"column {name!r} of {at}")
                columns.append(values)
            else:
                columns.append(table.objects(name))
        if self.numeric:
            return as_matrix(columns, table.n_rows, self.dtype)
        floats = (
            c.astype(working_dtype([c.dtype]), copy=False) if k == "number" else c
            for c, k in zip(columns, self.kinds, strict=True)
        )
        return Frame(tuple(str(n) for n in self.features), tuple(floats))


def as_matrix(columns: Sequence[Array], n_rows: int, dtype: Any) -> Array:
    """Columns side by side in a C-ordered matrix, written strip by strip."""
    out = np.empty((n_rows, len(columns)), dtype=dtype)
    for start in range(0, n_rows, STRIP):
        strip = out[start : start + STRIP]
        for j, column in enumerate(columns):
            strip[:, j] = column[start : start + STRIP]
    return out


def refuse_repeated(table: Table, where: str) -> None:
    """A column is known by its name: two of one name are refused."""
    repeated = {n for n in table.names if table.names.count(n) > 1}
    if repeated:
        raise ValueError(
            f"{where} has several columns named {sorted(map(str, repeated))}; expected unique "
            "names. Rename them."
        )


def plan(
    table: Table,
    where: str,
    *,
    target: Any = None,
    columns: Sequence[Hashable] | None = None,
    weight: Hashable | None = None,
    dtype: Any = None,
) -> Layout:
    """Decide what each column is, from the first rows of a table."""
    refuse_repeated(table, where)
    for what, given in (("target", target), ("weight", weight)):
        if hasattr(given, "__array__"):
            raise TypeError(
                f"{what} is a {type(given).__name__}, but {where} has named columns; expected the "
                f"name of one (for the target also a list of names): {what}={table.names[-1]!r}."
            )
    targets = list(target) if isinstance(target, list | tuple) else [target]
    named = [t for t in targets if t is not None]
    refuse_unknown(named, table.names, "target", where)
    refuse_unknown([] if weight is None else [weight], table.names, "weight", where)
    refuse_unknown(_checked_columns(columns) or [], table.names, "column", where)
    taken = {*named, weight} - {None}
    features = [n for n in (table.names if columns is None else columns) if n not in taken]
    if not features:
        raise ValueError(
            f"{where} has no column left for the features: the columns are {list(table.names)}, "
            f"of which the target and the weight take {sorted(map(str, taken))}."
        )
    found = [table.kind(name) for name in features]
    numbers = [d for kind, d in found if kind == "number"]
    return Layout(
        features=tuple(features),
        kinds=tuple(kind for kind, _ in found),
        dtype=np.dtype(dtype) if dtype is not None else working_dtype(numbers),
        target=target,
        weight=weight,
        pruned=columns is not None,
    )


def _checked_columns(columns: Any) -> Sequence[Hashable] | None:
    """The features asked for: a list of names, each of them once."""
    if isinstance(columns, str | bytes):
        raise TypeError(f"columns={columns!r} is one name; expected a list: columns=[{columns!r}].")
    if columns is not None and len(set(columns)) < len(columns):
        raise ValueError(f"columns={columns!r} names a column more than once; give each once.")
    return columns


def kind_of_strings(values: Sequence[Any]) -> str:
    """Tell "category" from "text", where values are sentences or nearly all different.

    Up to 50 different values are always categories, so small tables are not misread.
    """
    different = set(values) - {None}
    if len(different) <= 50:
        return "category"
    long = sum(len(str(v)) for v in different) / len(different) > 60
    return "text" if long or len(different) > 0.5 * len(values) else "category"


def kind_of_objects(values: Array, what: str) -> str:
    """The kind of an object column, from the Python types that it holds."""
    present = [v for v in values.tolist() if v is not None and v == v]  # NaN and NaT differ
    types = {type(v) for v in present}
    if all(issubclass(t, bool | int | float | np.number | np.bool_) for t in types):
        return "number" if types else "category"
    if any(issubclass(t, str) for t in types):
        return kind_of_strings(present)
    odd = next(t for t in types if not issubclass(t, bool | int | float | np.number))
    if hasattr(odd, "isoformat") or issubclass(odd, np.datetime64 | np.timedelta64):
        return "date"
    raise TypeError(unusable(what, f"Python objects of type {odd.__name__}", odd is Decimal))


def unusable(what: str, given: str, decimal: bool = False) -> str:
    """The message for a column that is neither number, category, date nor text."""
    cure = "cast it to float64" if decimal else "leave it out, or make numbers of it first"
    return (
        f"{what} holds {given}; expected numbers, booleans, strings, categories or dates. "
        f"To use this table, {cure}."
    )


def alike(then: str, now: str) -> bool:
    """May a column of one kind be read as the other? Categories and text are both strings."""
    return then == now or {then, now} <= {"category", "text"}
