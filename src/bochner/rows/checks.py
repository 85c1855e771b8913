"""What every source refuses, in the same words."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .block import Array, Block, Frame, is_sparse

#: Integers beyond this have neighbours that float64 cannot tell apart.
EXACT_INTEGER = 2**53


def refuse_inexact(values: Array, what: str) -> None:
    """Raise if a whole number would change on its way to float64."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return
    low, high = int(values.min()), int(values.max())
    if max(high, -low) > EXACT_INTEGER:
        worst = high if high > EXACT_INTEGER else low
        raise ValueError(
            f"{what} holds the whole number {worst}, which float64 cannot hold exactly (it is "
            f"beyond 2**53), so distinct values would become equal. Numbers this long are most "
            "often identifiers: leave the column out, or turn it into text if it is a category; "
            "convert it to float yourself if the last digits do not matter."
        )


def checked_dtype(dtype: Any) -> np.dtype[Any] | None:
    """The dtype that a caller asks to work in: None, float32 or float64."""
    if dtype is None:
        return None
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found not in (np.float32, np.float64):
        raise ValueError(
            f"dtype={dtype!r} cannot be worked in; expected 'float32', 'float64', or None for the "
            "smaller one that holds the values exactly."
        )
    return found


def checked_weight(weight: Any, n_rows: int, what: str = "sample_weight") -> Array:
    """Weights as float64, one a row, finite and not negative."""
    out = np.asarray(weight, dtype=np.float64)
    if out.shape != (n_rows,):
        raise ValueError(
            f"{what} has shape {out.shape}, but there are {n_rows} rows: expected ({n_rows},), "
            "one weight a row."
        )
    bad = ~(np.isfinite(out) & (out >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{what} must be finite and not negative, but row {row} has weight {out[row]}. "
            "Use weight 0 to leave a row out."
        )
    return out


def checked_target(y: Any, n_rows: int, what: str = "y") -> Array:
    """A target as an array of one entry (or one row of outputs) per row, none missing."""
    out = np.asarray(y)
    if out.ndim not in (1, 2) or len(out) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{n_rows}, {len(out) if out.ndim else 1}]. {what} has shape {out.shape}; expected "
            f"({n_rows},), or ({n_rows}, k) for k outputs."
        )
    missing = _missing(out)
    if missing.any():
        row = int(np.argwhere(missing)[0][0])
        raise ValueError(
            f"{what} has a missing value in row {row}: Input y contains NaN or infinity. "
            "Drop the rows whose target is unknown."
        )
    return out


def _missing(y: Array) -> Array:
    if y.dtype.kind == "f":
        return np.asarray(~np.isfinite(y))
    if y.dtype.kind == "O":
        missing = np.frompyfunc(lambda v: v is None or v != v, 1, 1)
        return np.asarray(missing(y), dtype=bool)
    return np.zeros(y.shape, dtype=bool)


def refuse_unknown(
    wanted: Sequence[Hashable], known: Sequence[Hashable], what: str, where: str
) -> None:
    """Raise if a wanted column is not there, naming those that are and the closest of them."""
    for name in wanted:
        if name in known:
            continue
        close = difflib.get_close_matches(str(name), [str(k) for k in known], n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        shown = ", ".join(repr(k) for k in known[:20]) + (", ..." if len(known) > 20 else "")
        raise ValueError(
            f"{what} {name!r} is not a column of {where}.{hint} "
            f"The {len(known)} columns are: {shown}."
        )


def refuse_non_finite(X: Any, start: int = 0) -> None:
    """Raise if X (dense or sparse) holds NaN or infinity, naming the first such entry."""
    entries = X.data if is_sparse(X) else X
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(np.sum(entries, dtype=np.float64)) or np.isfinite(entries).all():
            return
    at = tuple(np.argwhere(~np.isfinite(entries))[0])
    coo = X.tocoo() if is_sparse(X) else None
    row, column = at if coo is None else (coo.row[at], coo.col[at])
    raise ValueError(
        f"Input X contains NaN or infinity: row {start + row}, column {column} is {entries[at]}. "
        "Impute missing values first (for instance with sklearn.impute.SimpleImputer), or use "
        "KernelClassifier / KernelRegressor, which take NaN as missing."
    )


@dataclass(frozen=True)
class RefuseNonFinite:
    """A block function that lets finite numbers pass; picklable for a cluster."""

    def __call__(self, block: Block) -> Block:
        if not isinstance(block.X, Frame):
            refuse_non_finite(block.X, block.offset)
        return block
