"""Monomials of d columns by number: which columns each multiplies, without writing them all down.

The monomials of degree up to k are the multisets of k of the d columns and the constant 1, which
stands for "no column" and is written as column d. Sorted falling, a multiset a_1 >= .. >= a_k is
the combination c_i = a_i + k - i of k out of d + k, whose place in colexicographic order is

    sum_i C(c_i, k - i + 1)

Counted that way the monomials that need the first columns only come first; the constant is made
the first of all by writing it as 0 and column j as j + 1 inside this file.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ops import FloatArray

Powers = NDArray[np.int32]


def count(d: int, degree: int) -> int:
    """How many monomials of degree up to ``degree`` there are: 1 is one of them."""
    return comb(d + degree, degree)


def unranked(ranks: Any, d: int, degree: int) -> Powers:
    """The columns of each monomial, N x degree, rising; d where there is none."""
    left = np.array(ranks, dtype=np.int64)
    columns = np.empty((len(left), degree), dtype=np.int32)
    for k in range(degree, 0, -1):
        table = np.array([comb(c, k) for c in range(d + degree + 1)], dtype=np.int64)
        c = np.searchsorted(table, left, side="right") - 1
        left -= table[c]
        columns[:, k - 1] = c - (k - 1) - 1
    columns[columns < 0] = d
    return np.sort(columns, axis=1)


def factors(columns: Powers, d: int) -> FloatArray:
    """1 / sqrt(product of the factorials of the exponents): x^2 has 1 / sqrt(2)."""
    run, product = np.ones(len(columns)), np.ones(len(columns))
    for k in range(1, columns.shape[1]):
        again = (columns[:, k] == columns[:, k - 1]) & (columns[:, k] < d)
        run = np.where(again, run + 1.0, 1.0)
        product *= run
    return np.asarray(1.0 / np.sqrt(product))


def name(columns: NDArray[np.int32], d: int) -> str:
    """x3*x7, x2^2; "1" for the constant."""
    inside, powers = np.unique(columns[columns < d], return_counts=True)
    parts = (f"x{j}" if p == 1 else f"x{j}^{p}" for j, p in zip(inside, powers, strict=True))
    return "*".join(parts) or "1"
