"""Kernel alignment losses of single frequencies, O(n) each (Letarte et al. 2019, eqs 7 to 10).

    h_m(x - x') = cos(w_m.(x - x'))         lambda in [-1, 1]: how alike two targets are
    second order  L_m   = mean over i != j of (1 - lambda_ij h_m(x_i - x_j)) / 2        (9)
    first order   L^l_m = mean over j      of (1 - lambda_lj h_m(x_l - x_j)) / 2        (10)

Both are in [0, 1]; 1/2 is what a frequency without any relation to the targets has. A row of weight
w stands for w rows, so n is the sum of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...families.base import check_option
from ...ops import FloatArray

SIMILARITIES = ("classes", "factor")


def losses(
    sums: Any, n: float, *, similarity: str = "classes", own: float | None = None
) -> FloatArray:
    """L_m of every frequency from sums over rows: the U-statistic of eq. (9).

    Parameters
    ----------
    sums : complex array (N, C)
        With similarity="classes" S_mc = sum of exp(i w_m.x_j) over the rows j of class c, and
        sum over i != j of lambda_ij h_m(x_i - x_j) = 2 sum_c |S_mc|^2 - |S_m|^2 - n.
        With similarity="factor", where lambda_ij = a_i.a_j, S_mc = sum over all rows of
        a_jc exp(i w_m.x_j); two classes are the factor -1 and 1. The sum over pairs is then
        sum_c |S_mc|^2 - own.
    n : float
        How many rows.
    own : float, optional
        The sum of lambda_jj, the pairs i = j; n unless given.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.learners import pseudo_posterior
    >>> z = np.exp(1j * np.array([0.0, 0.1, 3.0]))  # one frequency, three rows
    >>> S = [[z[0] + z[1], z[2]]]  # of classes 0, 0 and 1
    >>> pseudo_posterior.losses(S, n=3).round(3)
    array([0.007])
    """
    check_option("losses", "similarity", similarity, SIMILARITIES)
    n = check_rows(n)
    power = _power(np.atleast_2d(np.asarray(sums)))
    total = power.sum(axis=1)
    if similarity == "classes":
        total = 2.0 * total - _power(np.sum(sums, axis=1))
    return as_loss((total - (n if own is None else own)) / (n * (n - 1.0)))


def as_loss(alignment: FloatArray) -> FloatArray:
    """(1 - mean of lambda h) / 2, eq. (7)."""
    return np.asarray(0.5 - 0.5 * alignment)


def check_rows(n: Any) -> float:
    """n as a float: a pair needs two rows."""
    n = float(n)
    if not 1.0 + 1e-9 < n < np.inf:  # shares add up to one only up to rounding
        raise ValueError(
            f"the alignment loss is a mean over pairs of rows, but there are {n:g} rows (weights "
            "count rows): give at least two, and weights that are not shares."
        )
    return n


def _power(S: Any) -> FloatArray:
    return np.asarray(np.square(S.real) + np.square(S.imag), dtype=np.float64)
