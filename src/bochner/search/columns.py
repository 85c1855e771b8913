"""Column treatment: from the columns a table has to the numbers a kernel needs.

Numbers are standardised (weighted mean 0, standard deviation 1); missing ones become the mean,
and a column that had any gets an indicator column. Categories become one column a value. Two
rows that differ in a category are then sqrt(2) apart in it, as are two typical rows in a
standardised number, so that neither kind drowns the other. Sparse rows pass as they are: centring
would fill them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..rows import Block, Frame, RowSource, RowSum, Schema
from ..rows.block import Array, is_sparse

#: More values than this in a column of strings make it an identifier or free text.
MAX_CATEGORIES = 1_000


@dataclass(eq=False)
class _Columns:
    """Running figures of all columns; the first four are arrays of d."""

    present: Array  # weight of rows with a value
    missing: Array  # weight of rows without
    mean: Array
    squares: Array  # weighted squared deviations from the mean
    values: list[set[Any]]  # the values of each category column, in rows that weigh anything


class ColumnSums(RowSum["_Columns | None", "_Columns"]):
    """Weighted mean, variance, missing weight and the categories of every column."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def start(self) -> _Columns | None:
        return None

    def update(self, state: _Columns | None, block: Block) -> _Columns | None:
        return self.merge(state, self._of_block(block))

    def _of_block(self, block: Block) -> _Columns:
        numbers = _numbers(block.X, self.schema)
        _refuse_infinity(numbers, self.schema)
        return _Columns(*_moments(numbers, block.weights()), _values(block, self.schema))

    def merge(self, a: _Columns | None, b: _Columns | None) -> _Columns | None:
        if a is None or b is None:
            return b if a is None else a
        present = a.present + b.present
        share = np.divide(b.present, present, out=np.zeros_like(present), where=present > 0)
        shift = b.mean - a.mean
        values = [x | y for x, y in zip(a.values, b.values, strict=True)]
        self._refuse_identifiers(values)
        return _Columns(
            present,
            a.missing + b.missing,
            a.mean + shift * share,
            a.squares + b.squares + shift**2 * a.present * share,
            values,
        )

    def _refuse_identifiers(self, values: list[set[Any]]) -> None:
        names, kinds = self.schema.names or (), self.schema.kinds or ()
        strings = [n for n, k in zip(names, kinds, strict=False) if k == "category"]
        for column, found in zip(strings, values, strict=True):
            if len(found) > MAX_CATEGORIES:
                raise ValueError(
                    f"column {column!r} has more than {MAX_CATEGORIES} different values, so it "
                    "looks like an identifier or free text rather than a category. Drop it, group "
                    "its values, or turn it into numbers first."
                )

    def finalise(self, state: _Columns | None) -> _Columns:
        if state is None:
            raise ValueError("the source holds no rows; give at least one.")
        self._refuse_identifiers(state.values)
        return state


@dataclass(frozen=True, eq=False)
class ColumnTreatment:
    """What to do to each block, learned once: a function of blocks that can be pickled."""

    schema: Schema  # of the rows given
    output: Schema  # of the rows made
    mean: Array
    scale: Array
    with_indicator: Array  # indices among the number columns
    categories: tuple[tuple[Any, ...], ...]

    def check(self, given: Schema) -> None:
        """Raise if rows of this schema are not of the kind that the treatment was learned on."""
        wanted = self.schema.kinds or ("number",) * self.schema.n_features
        kinds = given.kinds or ("number",) * given.n_features
        names = _names(given if self.schema.names is None else self.schema)
        odd = [
            f"{name!r} (a {kind} now, a {before} in fit)"
            for name, kind, before in zip(names, kinds, wanted, strict=False)
            if kind != before
        ]
        if odd:
            raise ValueError(
                f"columns changed their kind since fit: {', '.join(odd[:5])}. Give the same "
                "columns with the same types, for instance a DataFrame where fit had one."
            )

    def __call__(self, block: Block) -> Block:
        numbers = _numbers(block.X, self.schema)
        _refuse_infinity(numbers, self.schema)
        n, d = numbers.shape
        out = np.zeros((n, self.output.n_features), dtype=self.output.dtype)
        np.subtract(numbers, self.mean, out=out[:, :d], casting="same_kind")
        out[:, :d] /= self.scale
        gaps = np.isnan(out[:, :d])
        out[:, :d][gaps] = 0.0
        first = d
        for values, known in zip(_categories(block.X, self.schema), self.categories, strict=True):
            codes = {value: first + i for i, value in enumerate(known)}
            columns = np.array([codes.get(v, -1) for v in values.tolist()], dtype=np.intp)
            rows = np.nonzero(columns >= 0)[0]  # a value never seen in fit: no column is set
            out[rows, columns[rows]] = 1.0
            first += len(known)
        out[:, first:] = gaps[:, self.with_indicator]
        return block.replace(X=out)


def _refuse_infinity(numbers: Array, schema: Schema) -> None:
    if np.isfinite(np.sum(numbers, dtype=np.float64)) or not np.isinf(numbers).any():
        return
    kinds = schema.kinds or ("number",) * schema.n_features
    names = [n for n, k in zip(_names(schema), kinds, strict=True) if k == "number"]
    column = names[int(np.argmax(np.isinf(numbers).any(axis=0)))]
    raise ValueError(
        f"Input X contains infinity or a value too large for {schema.dtype}, in column "
        f"{column!r}. Infinity is at no distance from anything: clip it, or mark it as missing "
        "(NaN)."
    )


def _names(schema: Schema) -> tuple[str, ...]:
    return schema.names or tuple(f"x{j}" for j in range(schema.n_features))


def learn_treatment(source: RowSource) -> ColumnTreatment | None:
    """One pass over the rows; None where the rows pass as they are (sparse)."""
    schema = source.schema
    if schema.sparse:
        return None
    _refuse_kinds(schema)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = source.reduce(ColumnSums(schema))
    _refuse_overflow(sums, schema)
    variance = np.divide(
        sums.squares, sums.present, out=np.zeros_like(sums.squares), where=sums.present > 0
    )
    scale = np.sqrt(variance)
    constant = (
        scale <= 1e-7 * np.abs(sums.mean)
        if schema.dtype == np.float32
        else (scale <= 1e-14 * np.abs(sums.mean))
    )
    scale[constant | (scale == 0)] = 1.0
    mean, scale = _coarse(sums.mean, scale)
    with_indicator = np.nonzero((sums.missing > 0) & (sums.present > 0))[0]
    categories = tuple(tuple(sorted(found, key=_sort_key)) for found in sums.values)
    output = _output_schema(schema, with_indicator, categories)
    dtype = schema.dtype
    return ColumnTreatment(
        schema, output, mean.astype(dtype), scale.astype(dtype), with_indicator, categories
    )


def _refuse_overflow(sums: _Columns, schema: Schema) -> None:
    """Squares of finite numbers may still leave the range of float64: no scale can be told then."""
    bad = ~np.isfinite(sums.squares)
    if not bad.any():
        return
    kinds = schema.kinds or ("number",) * schema.n_features
    names = [n for n, k in zip(_names(schema), kinds, strict=True) if k == "number"]
    raise ValueError(
        f"column {names[int(np.argmax(bad))]!r} holds numbers so large that their squares overflow "
        "float64; expected numbers below about 1e150. Divide the column to a sensible scale."
    )


def _coarse(mean: Array, scale: Array) -> tuple[Array, Array]:
    """Both rounded to about a millionth of the scale.

    Samples of treated rows are chosen by a hash of their content. Sums that differ in the last bit
    (another engine, another order of rows) must therefore not change a single treated number.
    """
    grain = np.exp2(np.floor(np.log2(scale)) - 20)
    return np.round(mean / grain) * grain, np.round(scale / grain) * grain


def _output_schema(
    schema: Schema, with_indicator: Array, categories: tuple[tuple[Any, ...], ...]
) -> Schema:
    given = _names(schema)
    kinds = schema.kinds or ("number",) * schema.n_features
    numbers = [n for n, k in zip(given, kinds, strict=True) if k == "number"]
    strings = [n for n, k in zip(given, kinds, strict=True) if k == "category"]
    names = numbers.copy()
    for column, values in zip(strings, categories, strict=True):
        names += [f"{column}={value}" for value in values]
    names += [f"{numbers[j]} missing" for j in with_indicator]
    return replace(schema, n_features=len(names), names=tuple(names), kinds=None)


def _numbers(X: Any, schema: Schema) -> Array:
    """The number columns of a block, n x (how many)."""
    if is_sparse(X):  # fitted on dense rows: a block of them is dense too
        return np.asarray(X.toarray())
    if not isinstance(X, Frame):
        return np.asarray(X)
    if schema.kinds is None:  # a frame of numbers only
        return np.stack(X.columns, axis=1).astype(schema.dtype, copy=False)
    chosen = [c for c, k in zip(X.columns, schema.kinds, strict=True) if k == "number"]
    if not chosen:
        return np.empty((len(X), 0), dtype=schema.dtype)
    return np.stack(chosen, axis=1).astype(schema.dtype, copy=False)


def _categories(X: Any, schema: Schema) -> list[Array]:
    if not isinstance(X, Frame):
        return []
    assert schema.kinds is not None
    return [c for c, k in zip(X.columns, schema.kinds, strict=True) if k == "category"]


def _values(block: Block, schema: Schema) -> list[set[Any]]:
    there = slice(None) if block.weight is None else block.weight > 0
    return [set(column[there].tolist()) for column in _categories(block.X, schema)]


def _moments(X: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """(present, missing, mean, squares) of each column of a block, ignoring NaN."""
    here = ~np.isnan(X)
    present = weight @ here
    missing = weight @ ~here  # not the total less present: rounding would leave what is not there
    filled = X if here.all() else np.where(here, X, 0.0)
    total = weight @ filled.astype(np.float64, copy=False)
    mean = np.divide(total, present, out=np.zeros_like(total), where=present > 0)
    deviations = np.where(here, X - mean, 0.0)
    squares = weight @ np.square(deviations)
    return present, missing, mean, squares


def _refuse_kinds(schema: Schema) -> None:
    """Dates and free text have no distance of their own: refuse them by name."""
    advice = {
        "date": "turn it into numbers that matter (year, month, hours since an event) or drop it",
        "text": "drop it, or turn it into numbers first (for instance with TfidfVectorizer)",
    }
    for name, kind in zip(schema.names or (), schema.kinds or (), strict=False):
        if kind in advice:
            held = "a date" if kind == "date" else "text"
            raise ValueError(
                f"column {name!r} holds {held}, which no kernel here can use: {advice[kind]}."
            )


def _sort_key(value: Any) -> tuple[bool, str]:
    return value is None, str(value)
