"""The Taylor map of the Gaussian kernel: few explicit features that can be read."""

from __future__ import annotations

import math
import numbers
from typing import Any, ClassVar

import numpy as np

from ...ops.projection import FloatArray
from ...rows.sample import RowSample
from ..bandwidth import check_bandwidth, resolve_bandwidth
from ..base import Family
from ..distances import as_rows, divide_columns, inner_products
from . import monomials
from .columns import TaylorColumns

#: Memory that the candidates of one fit may take.
MOST_BYTES = 2**31


class Taylor(Family):
    """Terms of the Taylor expansion of the Gaussian kernel (Cotter, Keshet & Srebro 2011).

    exp(-|x - x'|^2 / 2 s^2) = sum_k exp(-|x|^2 / 2 s^2) exp(-|x'|^2 / 2 s^2) (x.x' / s^2)^k / k!
    up to k = degree. The features are exp(-|x|^2 / 2 s^2) times

        degree 0     1
        degree 1     x_i / s
        degree 2     x_i x_j / s^2,  x_i^2 / (sqrt(2) s^2)

    C(d + degree, degree) of them in all, each times the root of that count (so that the mean over
    columns is the kernel); asking for fewer gives some of them, drawn without replacement, in
    their own order.

    Parameters
    ----------
    degree : int, default=2
        From 1.
    bandwidth : float, array of d floats, "median", "neighbours" or "scale"
        s, see `bochner.families.bandwidth`. The expansion is close to the Gaussian kernel where
        rows are not much longer than s: standardise columns first.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Taylor
    >>> Taylor(degree=2, bandwidth=2.0).draw(6, 2, np.random.default_rng(0)).names()
    ('1', 'x0', 'x0^2', 'x1', 'x0*x1', 'x1^2')
    """

    typical: ClassVar = {"degree": (2, 1, 3), "bandwidth": (2.0, 1.0, 4.0)}

    def __init__(self, degree: int = 2, bandwidth: Any = "median") -> None:
        self.degree = degree
        self.bandwidth = bandwidth

    @property
    def needs_sample(self) -> bool:
        return isinstance(self.bandwidth, str)

    @property
    def bound(self) -> float:
        return float("inf")

    @property
    def differentiable(self) -> bool:
        return False

    def n_available(self, n_features: int) -> int:
        self._check_degree()
        return monomials.count(n_features, self.degree)

    def check(self, n_features: int) -> None:
        self._check_degree()
        check_bandwidth(self.bandwidth, n_features)

    def _check_degree(self) -> None:
        degree: Any = self.degree
        whole = isinstance(degree, numbers.Integral) and not isinstance(degree, bool)
        if not whole or degree < 1:
            raise ValueError(
                f"Taylor(degree={degree!r}): give a whole number from 1: 1 for single columns, 2 "
                "for their squares and products too."
            )

    def resolve(self, sample: RowSample | None) -> Family:
        resolved = super().resolve(sample)
        if self.needs_sample:
            if sample is None:
                raise ValueError(f"bandwidth={self.bandwidth!r} needs a sample of the rows.")
            self.check(sample.X.shape[1])
            length = resolve_bandwidth(self.bandwidth, sample, "euclidean")
            resolved.set_params(bandwidth=length)
        return resolved

    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> TaylorColumns:
        self.check(n_features)
        self._check_count(n_columns)
        available, d = self.n_available(n_features), n_features
        if n_columns > available:
            raise ValueError(
                f"Taylor(degree={self.degree}) has {available} columns for rows of {d}, but "
                f"{n_columns} were asked for. Ask for at most {available}."
            )
        self._check_memory(n_columns, d)
        ranks: Any = np.arange(available) if n_columns == available else None
        if ranks is None:
            ranks = np.sort(_distinct(n_columns, available, rng))
        powers = monomials.unranked(ranks, d, self.degree)
        constants = monomials.factors(powers, d)
        return TaylorColumns(d, powers, constants, self._lengths(), math.sqrt(available))

    def _check_memory(self, n_columns: int, d: int) -> None:
        """Before anything is allocated; a learner keeps about ten numbers for each candidate."""
        needed = n_columns * (12.0 * self.degree + 80.0)
        if needed > MOST_BYTES or self.n_available(d) >= 2**62:
            raise ValueError(
                f"Taylor(degree={self.degree}): {n_columns:,} candidates for rows of {d:,} columns "
                f"would take about {needed / 2**30:.3g} GiB. Use a lower degree, draw fewer "
                "(n_candidates=100_000), or choose columns first (family='linear')."
            )

    def _lengths(self) -> FloatArray:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} has to be resolved on a sample of the rows first; "
                "LearnedFeatures does so. To use a family by itself, give a number."
            )
        return np.asarray(self.bandwidth, dtype=np.float64)

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """The kernel of all terms up to ``degree``: the Gaussian kernel as the degree grows."""
        A = self._in_bandwidths(X)
        B = A if Y is None else self._in_bandwidths(Y)
        products, total = inner_products(A, B), np.ones((A.shape[0], B.shape[0]))
        for k in range(self.degree, 0, -1):  # 1 + t (1 + t / 2 (1 + t / 3 ..))
            total = 1.0 + products / k * total
        return np.asarray(_gauss(A)[:, None] * total * _gauss(B))

    def _in_bandwidths(self, X: Any) -> Any:
        X = as_rows(X)
        self.check(X.shape[1])
        return divide_columns(X, self._lengths())


def _gauss(A: Any) -> FloatArray:
    squares = A.multiply(A) if hasattr(A, "multiply") else A * A
    return np.asarray(np.exp(-0.5 * np.asarray(squares.sum(axis=1)).ravel()))


def _distinct(count: int, available: int, rng: np.random.Generator) -> Any:
    """``count`` different numbers below ``available``, however large that is."""
    if available <= 4 * count:
        return rng.permutation(available)[:count]
    found = np.unique(rng.integers(available, size=count + count // 2))
    while len(found) < count:
        found = np.union1d(found, rng.integers(available, size=count))
    return rng.permutation(found)[:count]
