"""Array-likes as numeric arrays of two dimensions, or a refusal that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from .block import Array, is_sparse


def as_numeric(X: Any, what: str = "X") -> Any:
    """A numeric array or a SciPy sparse matrix of two dimensions, copied only where it must be.

    Memory maps stay memory maps, and object arrays of numbers become float64.
    """
    if is_sparse(X):
        return _real(X if X.format == "csr" else X.tocsr(), what)
    out = X if isinstance(X, np.ndarray) else _array(X, what)
    if out.ndim != 2:
        raise ValueError(_advice_on_shape(out, what))
    if out.dtype.kind == "O":
        out = _from_objects(out, what)
    return _real(out, what)


def _array(X: Any, what: str) -> Array:
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"{what} is a {type(X).__name__} that does not make an array ({error}). Expected rows "
            "of equal length (rows x features). If it is a list of chunks of rows, wrap it: "
            "bochner.scan(chunks)."
        ) from error


def _advice_on_shape(X: Array, what: str) -> str:
    head = f"Expected 2D array, got {X.ndim}D array instead: {what} has shape {X.shape}."
    if X.ndim > 2:
        return f"{head} Flatten each row first: X.reshape(len(X), -1)."
    return (
        f"{head} Reshape your data either using array.reshape(-1, 1) if your data has a single "
        "feature or array.reshape(1, -1) if it contains a single sample."
    )


def _from_objects(X: Array, what: str) -> Array:
    from .checks import refuse_inexact

    try:
        whole = all(isinstance(v, int | np.integer) for v in X.flat)
        if whole and X.size:
            refuse_inexact(X.astype(np.int64), what)
        return X.astype(np.float64)
    except OverflowError as error:
        raise ValueError(
            f"{what} holds a whole number too large for 64 bits ({error}). Numbers this long are "
            "most often identifiers: leave the column out, or divide it to a sensible scale."
        ) from error
    except (TypeError, ValueError) as error:
        if "2**53" in str(error):
            raise
        raise type(error)(
            f"{what} has dtype object and holds something that is not a number ({error}). Expected "
            "numbers: give a DataFrame to KernelClassifier / KernelRegressor, which take "
            "categories, or encode the column first (sklearn.preprocessing.OneHotEncoder)."
        ) from error


def _real(X: Any, what: str) -> Any:
    if X.dtype.kind in "biuf":
        return X
    if X.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {what} has dtype {X.dtype}. Give the real and the "
            "imaginary part as columns of their own."
        )
    error = ValueError if X.dtype.kind in "SU" else TypeError
    raise error(
        f"{what} has dtype {X.dtype}; expected numbers. Give text and dates as columns of a "
        "DataFrame to KernelClassifier / KernelRegressor, or encode them as numbers first."
    )
