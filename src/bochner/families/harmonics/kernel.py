"""The compiled loop of the harmonics; imports numba, so it is imported at first use.

Some rows go side by side, so that every step is one over a vector of them.
"""

from __future__ import annotations

import numpy as np

from ...ops.kernels import compiled
from ...ops.projection import FloatArray
from .indices import Whole

#: Rows side by side.
WIDTH = 16


@compiled
def fill(
    X: FloatArray,
    max_order: int,
    coordinate: Whole,
    length: Whole,
    beta: FloatArray,
    angular: Whole,
    factors: Whole,
    constants: FloatArray,
    out: FloatArray,
) -> None:
    """out_ij <- constants_j * angular factor * Gegenbauer factors, symbols as in `basis`."""
    n, M = len(X), len(constants)
    table = np.empty((1 + 2 * max_order + len(beta), WIDTH))
    square = np.empty(WIDTH)
    value = np.empty(WIDTH)
    x = np.zeros((X.shape[1], WIDTH))
    for start in range(0, n, WIDTH):
        width = min(WIDTH, n - start)
        for r in range(width):
            for k in range(X.shape[1]):
                x[k, r] = X[start + r, k]
        _tabulate(x, max_order, coordinate, length, beta, square, table)
        for j in range(M):
            place = angular[j]
            for r in range(WIDTH):
                value[r] = constants[j] * table[place, r]
            for f in range(factors.shape[1]):
                place = factors[j, f]
                if place == 0:  # the rest is padding
                    break
                for r in range(WIDTH):
                    value[r] *= table[place, r]
            for r in range(width):
                out[start + r, j] = value[r]


@compiled
def _tabulate(
    x: FloatArray,
    max_order: int,
    coordinate: Whole,
    length: Whole,
    beta: FloatArray,
    square: FloatArray,
    table: FloatArray,
) -> None:
    """1; Re and Im of (x_1 + i x_2)^m for m = 1 .. max_order; p_1, p_2, ... of run after run."""
    for r in range(WIDTH):
        table[0, r] = 1.0
        square[r] = 0.0
    for m in range(max_order):
        for r in range(WIDTH):
            re = table[2 * m - 1, r] if m else 1.0
            im = table[2 * m, r] if m else 0.0
            table[2 * m + 1, r] = re * x[0, r] - im * x[1, r]
            table[2 * m + 2, r] = re * x[1, r] + im * x[0, r]
    at, entry, seen = 1 + 2 * max_order, 0, 0
    for c in range(len(coordinate)):
        k = coordinate[c] - 1
        while seen <= k:  # runs come by rising coordinate
            for r in range(WIDTH):
                square[r] += x[seen, r] * x[seen, r]
            seen += 1
        for step in range(length[c]):
            inverse = 1.0 / beta[entry]
            ratio = beta[entry - 1] * inverse if step else 0.0
            for r in range(WIDTH):
                p = table[at - 1, r] if step else 1.0
                before = table[at - 2, r] if step > 1 else 1.0
                table[at, r] = inverse * x[k, r] * p - ratio * square[r] * before
            at += 1
            entry += 1
