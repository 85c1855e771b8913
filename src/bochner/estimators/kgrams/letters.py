"""Sequences in whatever form they come, as letters end to end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...rows import Frame
from ...rows.frames import as_table
from ...rows.optional import is_table
from .layout import Letters

_EXPECTED = (
    "Expected sequences: strings (a list, array or Series of them, or a DataFrame of one column), "
    "or an array of single letters, n x L."
)


def as_sequences(X: Any) -> Any:
    """X as a list or 1-D array of strings, or an n x L array of letters; rows can be sliced."""
    if isinstance(X, str | bytes):
        raise ValueError(f"X is one string, {X[:20]!r}. {_EXPECTED}")
    if isinstance(X, Frame):
        return _columns(X.columns)
    if is_table(X):
        table = as_table(X, "X")
        return _columns(tuple(_cells(table, name) for name in table.names))
    if not isinstance(X, list | tuple | np.ndarray):
        if not hasattr(X, "__array__") and not hasattr(X, "__array_interface__"):
            raise TypeError(f"X is a {type(X).__name__}. {_EXPECTED}")
        X = np.asarray(X)
    if isinstance(X, np.ndarray):
        return _array(X)
    if X and isinstance(X[0], list | tuple | np.ndarray):
        return _array(_rectangle(X))
    return X


def _cells(table: Any, name: Any) -> Any:
    kind, _ = table.kind(name)
    return table.numbers(name) if kind == "number" else table.objects(name)


def _columns(columns: tuple[Any, ...]) -> Any:
    return columns[0] if len(columns) == 1 else _array(np.stack(columns, axis=1))


def _rectangle(rows: Any) -> Any:
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise ValueError(
            f"The sequences are lists of letters of unequal length ({error}). Join each into a "
            "string first: [''.join(row) for row in X]."
        ) from error


def _array(X: Any) -> Any:
    if X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "USOT":
        X = X[:, 0]
    if X.ndim not in (1, 2):
        raise ValueError(f"X has shape {X.shape}. {_EXPECTED}")
    if X.ndim == 1 and X.dtype.kind not in "USOT":
        raise ValueError(
            f"X is a vector of {X.dtype}. {_EXPECTED} A single sequence of codes is X[None, :]."
        )
    return X


def letters_of(rows: Any, start: int = 0) -> Letters:
    """A slice of `as_sequences`' output as letters; ``start`` is its first row, for messages."""
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        return _from_codes(_codes(rows, start))
    if isinstance(rows, np.ndarray):
        rows = rows.tolist()
    kinds = set(map(type, rows))
    if rows and all(issubclass(kind, bytes) for kind in kinds):
        return _from_lengths(np.frombuffer(b"\0".join(rows) + b"\0", dtype=np.uint8), rows)
    _refuse_other(rows, kinds, start)
    text = "\0".join(rows) + "\0"
    if text.isascii():
        return _from_lengths(np.frombuffer(text.encode("ascii"), dtype=np.uint8), rows)
    wide = text.encode("utf-32-le", errors="surrogatepass")
    return _from_lengths(np.frombuffer(wide, dtype="<u4"), rows)


def _from_lengths(codes: Any, rows: Any) -> Letters:
    lengths = np.fromiter(map(len, rows), dtype=np.intp, count=len(rows))
    ends = np.cumsum(lengths + 1)
    return Letters(codes[: int(ends[-1]) if len(rows) else 0], ends - lengths - 1, lengths)


def _from_codes(codes: Any) -> Letters:
    n, L = codes.shape
    wide = np.zeros((n, L + 1), dtype=codes.dtype)
    wide[:, :L] = codes
    return Letters(wide.ravel(), np.arange(n, dtype=np.intp) * (L + 1), np.full(n, L, np.intp))


def _codes(cells: Any, start: int) -> Any:
    """Character codes of an n x L array of letters."""
    if cells.dtype.kind in "OT":
        cells = _single(cells, start)
    kind, size = cells.dtype.kind, cells.dtype.itemsize
    if kind in "US":
        if size > (4 if kind == "U" else 1):
            _refuse_words(cells, start)
            cells = cells.astype(f"{kind}1")
        plain = np.ascontiguousarray(cells).astype(cells.dtype.newbyteorder("="), copy=False)
        return plain.view(np.uint32 if kind == "U" else np.uint8).reshape(cells.shape)
    return _numbers(cells, start)


def _single(cells: Any, start: int) -> Any:
    flat = cells.ravel().tolist()
    kinds = set(map(type, flat))
    if flat and all(issubclass(kind, bytes) for kind in kinds):
        return np.array(flat, dtype="S").reshape(cells.shape)
    _refuse_other(flat, kinds, start, width=cells.shape[1])
    return np.array(flat, dtype="U").reshape(cells.shape)


def _refuse_words(cells: Any, start: int) -> None:
    """Raise if a cell holds more than one letter."""
    long = np.argwhere(np.char.str_len(cells) > 1)
    if len(long):
        i, j = long[0]
        raise ValueError(
            f"X has {cells.shape[1]} columns, and row {start + i} holds {cells[i, j].item()!r} in "
            f"column {j}. {_EXPECTED}"
        )


def _numbers(cells: Any, start: int) -> Any:
    """Codes given as numbers: whole, and of letters that can be printed (0 is a gap)."""
    if cells.dtype.kind not in "iuf":
        raise TypeError(f"X has dtype {cells.dtype}. {_EXPECTED}")
    if not cells.size:
        return np.zeros(cells.shape, dtype=np.uint8)
    with np.errstate(invalid="ignore"):
        bad = ~((cells == 0) | ((cells >= 32) & (cells <= 0x10FFFF) & (cells == np.floor(cells))))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            f"X has the number {cells[i, j]} in row {start + i}, column {j}; numbers are taken as "
            "character codes (65 is 'A', 0 a gap). If they count letters from zero, look these "
            "up first: np.array(list('ACGT'))[X]."
        )
    return cells if cells.dtype == np.uint8 else cells.astype(np.uint32)


def _refuse_other(rows: Any, kinds: set[type], start: int, width: int = 1) -> None:
    if all(issubclass(kind, str) for kind in kinds):
        return
    at, value = next((i, v) for i, v in enumerate(rows) if not isinstance(v, str))
    missing = value is None or str(value) in ("nan", "<NA>", "NaT")
    advice = (
        "Drop rows without a sequence, or use '' for one of no letters."
        if missing
        else "Strings and bytes do not mix: decode all, or encode all."
        if isinstance(value, bytes)
        else _EXPECTED
    )
    raise ValueError(f"Row {start + at // width} of X is {value!r}, not a sequence. {advice}")


def slices(rows: Any, step: int) -> Iterator[Letters]:
    """The letters of sequences in memory, ``step`` rows at a time."""
    for start in range(0, len(rows), step):
        yield letters_of(rows[start : start + step], start)


def n_letters(rows: Any) -> int:
    """How many letters there are, before any is looked at."""
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        return int(rows.size)
    return sum(len(row) for row in rows if isinstance(row, str | bytes))


@dataclass(frozen=True)
class Sequences:
    """Sequences with the two things that a block asks of its X."""

    rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), 1

    def __getitem__(self, rows: slice) -> Sequences:
        return Sequences(self.rows[rows])


def rows_of(X: Any) -> Any:
    """The sequences in a block."""
    return X.rows if isinstance(X, Sequences) else as_sequences(X)
