"""Refusals that advise: what was given, what was expected, what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from .column_set import AnyColumns
from .projection import DIFFERENTIABLE, FloatArray, Projection
from .tiles import Rows


def rows_of(X: Any, p: AnyColumns) -> Rows:
    """X as rows that fit the projection."""
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(
            f"X has {X.ndim} dimension(s), expected 2 (rows x columns); "
            "reshape one row with X.reshape(1, -1)"
        )
    rows = Rows.of(X)
    if rows.n_inputs != p.n_inputs:
        raise ValueError(
            f"X has {rows.n_inputs} columns, but these features were drawn for {p.n_inputs}; "
            "give the same columns in the same order"
        )
    return rows


def thin(matrix: Any, name: str, rows: int, of_what: str) -> FloatArray:
    """R or T as a two-dimensional array with the right number of rows; a vector is one column."""
    array = np.asarray(matrix)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != rows:
        raise ValueError(
            f"{name} has shape {np.shape(matrix)}, expected ({rows}, C): one row per {of_what}"
        )
    return array


def row_weights(w: Any, n: int) -> FloatArray | None:
    if w is None:
        return None
    array = np.asarray(w)
    if array.shape != (n,):
        raise ValueError(f"w has shape {array.shape}, expected ({n},): one weight per row of X")
    return array


def total(out: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
    """Where a sum goes: a fresh zero array, or the caller's own, which is added to."""
    if out is None:
        fresh = np.empty(shape)
        fresh.fill(0.0)  # touches its pages at once: threads that fault them in together are slow
        return fresh
    if out.shape != shape or out.dtype != np.float64 or not out.flags.carray:
        raise ValueError(
            f"out is {_describe(out)}; expected a writeable, C-contiguous float64 array of shape "
            f"{shape}: sums over rows are kept in float64, and what `out` holds is added to"
        )
    return out


def written(out: FloatArray | None, shape: tuple[int, int], dtype: np.dtype[Any]) -> FloatArray:
    """Where values go that are not sums: fresh memory, or the caller's, which is overwritten."""
    if out is None:
        return np.empty(shape, dtype)
    if out.shape != shape or out.dtype != dtype or not out.flags.writeable:
        raise ValueError(
            f"out is {_describe(out)}; expected a writeable {dtype} array of shape {shape}"
        )
    return out


def same_width(R: FloatArray, T: FloatArray) -> None:
    if R.shape[1] != T.shape[1]:
        raise ValueError(
            f"R has {R.shape[1]} column(s) and T has {T.shape[1]}: the coefficient of row i and "
            "column m is (R T')_im, so both need the same number"
        )


def differentiable(p: Projection) -> None:
    if p.activation not in DIFFERENTIABLE:
        raise ValueError(
            f"a {p.activation} has no useful derivative: `pull` and `derivative=True` need an "
            f"activation among {sorted(DIFFERENTIABLE)}; use ArcCosine(order=1) instead of order=0"
        )


def _describe(array: FloatArray) -> str:
    flags = "" if array.flags.c_contiguous else ", not C-contiguous"
    return f"{array.dtype} {array.shape}{flags}{'' if array.flags.writeable else ', read-only'}"
