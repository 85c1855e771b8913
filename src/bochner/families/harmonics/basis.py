"""Real orthonormal spherical harmonics on S^(d-1), from Cartesian coordinates.

With r_k^2 = x_1^2 + ... + x_k^2 a harmonic with angular order m and n_k units at coordinate k is

    Y(x) = c  {Re or Im} (x_1 + i x_2)^|m|  prod_{k=3}^d  r_k^{n_k} p_{n_k}(x_k / r_k)

where p_0, p_1, ... are the orthonormal polynomials of (1 - t^2)^(j + (k-3)/2) on [-1, 1], divided
by p_0; j = l_{k-2} is |m| plus the units below k. They are Gegenbauer's with parameter
lambda = j + (k-2)/2, and satisfy

    beta_n p_n = t p_{n-1} - beta_{n-1} p_{n-2},
    beta_n^2 = n (n + 2 lambda - 1) / (4 (n + lambda) (n + lambda - 1)).

1. The powers of sin(theta_k) of the textbook formula are in the other factors: r_{k-1}^{l_{k-2}}.
   So each factor is a polynomial in the coordinates: no angle, no division, nothing that a pole
   could spoil; and coordinates without units cost nothing, whatever d is.
2. What is left are the norms of p_0. Over coordinates a .. b with the same j they telescope:
   prod_k int (1 - t^2)^(j + (k-3)/2) dt = pi^((b-a+1)/2) Gamma(j + (a-1)/2) / Gamma(j + b/2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ...ops.projection import FloatArray
from .indices import Indices, Whole


def area(d: int) -> float:
    """|S^(d-1)| = 2 pi^(d/2) / Gamma(d/2)."""
    return float(2.0 * np.pi ** (d / 2) / special.gamma(d / 2))


def evaluate(X: Any, indices: Indices) -> FloatArray:
    """Y_m(x_i) of rows on the sphere, n x M: int Y_m Y_l = 1 if m = l, else 0."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty((len(X), len(indices)))
    Plan.of(indices).fill(X, out)
    return np.asarray(out / np.sqrt(area(indices.d)))


@dataclass(frozen=True, eq=False)
class Plan:
    """How some harmonics are computed: runs of polynomials, and which factors each one has.

    A run is p_1 .. p_n of one coordinate and one lambda, shared by all harmonics that need it.
    coordinate, length: (runs,); beta: (sum of lengths,); angular, constants: (M,);
    factors: (M, F), places in the table of factors, padded with 0, which holds a one.
    """

    max_order: int
    coordinate: Whole
    length: Whole
    beta: FloatArray
    angular: Whole
    factors: Whole
    constants: FloatArray

    @classmethod
    def of(cls, indices: Indices) -> Plan:
        order, units, degree = indices.order, indices.units, indices.degree
        row, slot = np.nonzero(_last_of_run(units))
        k, n = units[row, slot], _position_in_run(units)[row, slot]
        below = degree[row] - slot - 1  # j, since units come highest first
        runs, which = np.unique(np.stack([k, below]), axis=1, return_inverse=True)
        coordinate, lambdas = runs[0], runs[1] + (runs[0] - 2) / 2
        length = np.zeros(len(coordinate), np.int64)
        np.maximum.at(length, which, n)
        most = int(np.abs(order).max(initial=0))
        start = 1 + 2 * most + np.cumsum(length) - length
        return cls(
            max_order=most,
            coordinate=coordinate,
            length=length,
            beta=_betas(lambdas, length),
            angular=np.where(order == 0, 0, 2 * np.abs(order) - (order > 0)),
            factors=_packed(len(indices), row, start[which] + n - 1),
            constants=_constants(indices),
        )

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """sqrt |S^(d-1)| Y of unit rows, in the dtype of ``out``."""
        from . import kernel

        fields = (self.coordinate, self.length, self.beta, self.angular, self.factors)
        kernel.fill(X, self.max_order, *fields, self.constants, out)


def _position_in_run(units: Whole) -> Whole:
    """How many equal coordinates in a row end at this one, within each harmonic."""
    position = np.ones_like(units)
    for slot in range(1, units.shape[1]):
        same = units[:, slot] == units[:, slot - 1]
        position[:, slot] = np.where(same, position[:, slot - 1] + 1, 1)
    return position


def _last_of_run(units: Whole) -> Any:
    after = np.zeros_like(units)
    after[:, :-1] = units[:, 1:]
    return (units > 0) & (units != after)


def _betas(lambdas: FloatArray, length: Whole) -> FloatArray:
    """beta_1 .. beta_n of each run."""
    if not len(length):
        return np.zeros(0)
    lam = np.repeat(lambdas, length)
    n = np.concatenate([np.arange(1, count + 1) for count in length])
    # n = 1 cancels one factor, which would be 0 / 0 at lambda = 0
    tail = np.where(n == 1, 2.0, (n + 2 * lam - 1) / np.maximum(n + lam - 1, 0.5))
    return np.sqrt(n * tail / (4 * (n + lam)))


def _packed(n_rows: int, row: Whole, places: Whole) -> Whole:
    """The factors of each harmonic side by side, rows in order."""
    per_row = np.bincount(row, minlength=n_rows)
    packed = np.zeros((n_rows, int(per_row.max(initial=0))), np.int64)
    first = np.cumsum(per_row) - per_row
    packed[row, np.arange(len(row)) - first[row]] = places
    return packed


def _constants(indices: Indices) -> FloatArray:
    """c sqrt |S^(d-1)|, from the norms of p_0 (note 2)."""
    units, d = indices.units, indices.d
    low = np.concatenate([np.where(units > 0, units, 2), np.full((len(units), 1), 2)], axis=1)
    high = np.concatenate([np.full((len(units), 1), d), low[:, :-1]], axis=1)
    j = np.maximum(indices.degree[:, None] - np.arange(low.shape[1]), 0)
    log_norms = special.gammaln(j + low / 2) - special.gammaln(j + high / 2)
    logs = (
        np.log(2.0) - special.gammaln(d / 2) - log_norms.sum(axis=1)
    )  # powers of pi cancel but one
    return np.sqrt(np.where(indices.order == 0, 0.5, 1.0)) * np.exp(0.5 * logs)
