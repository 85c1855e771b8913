"""Rows on the sphere: refused or normalised, never moved silently."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...ops.projection import FloatArray
from ..distances import as_rows, inner_products

#: How far from 1 the length of a row may be: what float32 rounds, and little more.
ON_SPHERE = 1e-5


def unit_rows(X: Any, normalise: bool) -> FloatArray:
    """The rows as C-ordered float64, divided by their lengths, which have to be 1 unless asked.

    Rounding of a row on the sphere is divided out as well, so that harmonics are never evaluated
    off the sphere.
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    rows = np.array(dense, dtype=np.float64, order="C")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    check_lengths(lengths, normalise)
    rows /= lengths[:, None]
    return rows


def inner_products_on_sphere(X: Any, Y: Any, normalise: bool) -> FloatArray:
    """x.x' / (|x| |x'|), in [-1, 1]."""
    X = as_rows(X)
    Y = X if Y is None else as_rows(Y)
    a, b = (np.sqrt(np.asarray(_squares(Z), dtype=np.float64).ravel()) for Z in (X, Y))
    for lengths in (a, b):
        check_lengths(lengths, normalise)
    return np.clip(inner_products(X, Y) / a[:, None] / b, -1.0, 1.0)


def check_lengths(lengths: FloatArray, normalise: bool) -> None:
    """Refuse rows off the sphere, and rows without a direction."""
    if normalise:
        if not np.all(lengths > 0):
            raise ValueError(
                f"Harmonics(normalise=True): row {int(np.argmin(lengths > 0))} of a block is all "
                "zeros and has no direction; leave such rows out, or add a constant column."
            )
        return
    off = np.abs(lengths - 1.0)
    if not np.all(off <= ON_SPHERE):
        raise ValueError(
            "Harmonics take rows on the sphere: a row has length "
            f"{float(lengths[int(np.argmax(off))]):.6g}, expected 1. Divide each row by its length "
            "(sklearn.preprocessing.normalize), or use Harmonics(normalise=True), which does."
        )


def _squares(X: Any) -> Any:
    return X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
