"""Distances between rows, dense or sparse, computed so that a large common offset does no harm."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from ..ops.projection import FloatArray


def as_rows(X: Any) -> Any:
    """X as float64 rows for an exact kernel: an array, or CSR if it was sparse."""
    rows = X.tocsr().astype(np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(
            f"an exact kernel takes rows x columns, got an array with {rows.ndim} dimension(s); "
            "reshape one row with X.reshape(1, -1)."
        )
    return rows


def divide_columns(X: Any, lengths: FloatArray) -> Any:
    """Each column over its length (one number, or one for each column)."""
    if sparse.issparse(X):
        return (X @ sparse.diags_array(np.broadcast_to(1.0 / lengths, X.shape[1:]))).tocsr()
    return X / lengths


def distances(X: Any, Y: Any = None, metric: str = "euclidean") -> FloatArray:
    """Distances between the rows of X and of Y (or of X), n x m in float64."""
    if not (sparse.issparse(X) or sparse.issparse(Y)):
        # |x|^2 - 2 x.y + |y|^2 cancels when all rows lie far from zero: move them there
        centre = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        X, Y = X - centre, None if Y is None else Y - centre
    return np.asarray(pairwise_distances(X, Y, metric=metric), dtype=np.float64)


def inner_products(X: Any, Y: Any = None) -> FloatArray:
    """X Y', n x m."""
    product = X @ (X if Y is None else Y).T
    return np.asarray(product.toarray() if sparse.issparse(product) else product)
