"""The fast Walsh-Hadamard product of ``Structured``; imports numba, so imported at first use.

Sixteen rows are transformed together, interleaved: element (k, l) of the buffer is coordinate k of
row l. A butterfly over coordinates at distance h is then one contiguous loop of 16 h elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import compiled
from .projection import FloatArray

#: Rows per transform: one AVX-512 register of float32.
LANES = 16


@compiled
def _butterfly2(a: FloatArray, start: int, h: int) -> None:
    x, y = a[start : start + h], a[start + h : start + 2 * h]
    for k in range(h):
        s, t = x[k], y[k]
        x[k] = s + t
        y[k] = s - t


@compiled
def _butterfly4(a: FloatArray, start: int, h: int) -> None:
    """Two stages at once: half the traffic of two passes."""
    x0, x1 = a[start : start + h], a[start + h : start + 2 * h]
    x2, x3 = a[start + 2 * h : start + 3 * h], a[start + 3 * h : start + 4 * h]
    for k in range(h):
        s, t = x0[k] + x1[k], x0[k] - x1[k]
        u, v = x2[k] + x3[k], x2[k] - x3[k]
        x0[k] = s + u
        x1[k] = t + v
        x2[k] = s - u
        x3[k] = t - v


@compiled
def transform(a: FloatArray) -> None:
    """In place H a for a flat p x LANES buffer, wide strides first: later ones stay in L1."""
    block = a.size
    while block >= 4 * LANES:
        h = block // 4
        for start in range(0, a.size, block):
            _butterfly4(a, start, h)
        block = h
    if block == 2 * LANES:
        for start in range(0, a.size, block):
            _butterfly2(a, start, LANES)


@compiled
def structured_forms(
    X: FloatArray, signs: Any, ends: Any, source: Any, radii: FloatArray, Z: FloatArray
) -> None:
    """Z_ik <- radii_k (H D3 H D2 H D1 x_i)_source_k; block c makes columns up to ``ends[c]``."""
    n = X.shape[0]
    blocks, _, p = signs.shape
    rows, a = np.zeros((p, LANES), X.dtype), np.empty((p, LANES), X.dtype)
    for top in range(0, n, LANES):
        lanes = min(LANES, n - top)
        _interleave(X[top : top + lanes], rows)
        start = 0
        for c in range(blocks):
            _three_products(rows, signs[c], a)
            stop = ends[c]
            _separate(a, source[start:stop], radii[start:stop], Z[top : top + lanes, start:stop])
            start = stop


@compiled
def _interleave(X: FloatArray, rows: FloatArray) -> None:
    """rows_km <- X_mk, in squares that stay in L1."""
    lanes, d = X.shape
    for first in range(0, d, LANES):
        for m in range(lanes):
            for k in range(first, min(first + LANES, d)):
                rows[k, m] = X[m, k]


@compiled
def _separate(a: FloatArray, source: Any, radii: FloatArray, Z: FloatArray) -> None:
    """Z_mk <- radii_k a_source(k),m, by squares: gathered row by row, then turned."""
    lanes, width = Z.shape
    square = np.zeros((LANES, LANES), a.dtype)
    for first in range(0, width, LANES):
        here = min(LANES, width - first)
        for k in range(here):
            row, radius = source[first + k], radii[first + k]
            for m in range(LANES):
                square[k, m] = radius * a[row, m]
        if here == LANES:
            for m in range(lanes):
                for k in range(LANES):  # a constant count: unrolled
                    Z[m, first + k] = square[k, m]
        else:
            for m in range(lanes):
                for k in range(here):
                    Z[m, first + k] = square[k, m]


@compiled
def _three_products(rows: FloatArray, signs: Any, a: FloatArray) -> None:
    """a <- H D3 H D2 H D1 rows."""
    for k in range(a.shape[0]):
        sign = a.dtype.type(signs[0, k])
        for m in range(LANES):
            a[k, m] = sign * rows[k, m]
    transform(a.reshape(-1))
    for product in range(1, 3):
        for k in range(a.shape[0]):
            sign = a.dtype.type(signs[product, k])
            for m in range(LANES):
                a[k, m] *= sign
        transform(a.reshape(-1))
