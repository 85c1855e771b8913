"""The family of spherical harmonics."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from ...ops.projection import FloatArray
from ..base import Family
from .columns import HarmonicColumns
from .gegenbauer import series
from .indices import MOST, count, count_up_to, numbered
from .sphere import inner_products_on_sphere

#: Memory that the columns of one draw may take: refused before it is asked for.
MOST_BYTES = 2**31


class Harmonics(Family):
    """Real spherical harmonics of degree 0 .. max_degree on S^(d-1), for rows of length one.

    phi = sqrt(|S^(d-1)|) Y, with Y orthonormal: each column has mean square one on the sphere,
    and sup |phi|^2 <= N(d, l), the number of harmonics of degree l. The exact kernel is
    sum_l N(d, l) P_l(x.x') / sum_l N(d, l), with P_l Gegenbauer's polynomial, P_l(1) = 1. The
    columns are finitely many; a draw of all of them is the whole basis, low degrees first.

    A *rotation-invariant* kernel has the same weight on all harmonics of a degree. A set of
    weighted harmonics is no such kernel (Bullins et al. 2018, Theorem 2.2, misses this).
    `bochner.families.harmonics` holds the pure functions: `evaluate`, `expand`, ...

    Parameters
    ----------
    max_degree : int
        The largest degree.
    normalise : bool, default=False
        Divide each row by its length. If False, rows that are not on the sphere are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Harmonics
    >>> Harmonics(max_degree=1).exact_kernel(np.eye(2)).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    >>> Harmonics(1).draw(4, 3, np.random.default_rng(0)).names()
    ('Y[0;0]', 'Y[1;1]', 'Y[1;-1]', 'Y[1;0]')
    """

    typical: ClassVar = {"max_degree": (3, 1, 6), "normalise": (True,)}

    def __init__(self, max_degree: int = 10, *, normalise: bool = False) -> None:
        self.max_degree = max_degree
        self.normalise = normalise

    @property
    def bound(self) -> float:
        """Infinite, since a family does not know d: `bound_on` does."""
        return float("inf")

    def bound_on(self, n_features: int) -> float:
        """sup |phi| = sqrt(N(d, max_degree)), attained by the zonal harmonic (2^(1/2) at d = 2)."""
        return float(np.sqrt(count(n_features, self.max_degree)))

    @property
    def differentiable(self) -> bool:
        return False

    def n_available(self, n_features: int) -> int:
        return count_up_to(n_features, self.max_degree)

    def check(self, n_features: int) -> None:
        degree: object = self.max_degree
        if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 0:
            raise ValueError(
                f"Harmonics(max_degree={degree!r}): the degree must be a whole number, 0 or more."
            )
        if not isinstance(self.normalise, (bool, np.bool_)):
            raise ValueError(
                f"Harmonics(normalise={self.normalise!r}) is not known; use True or False."
            )
        if n_features < 2:
            raise ValueError(
                f"Harmonics need rows of at least 2 columns, got {n_features}: the sphere of the "
                "line is two points. Use another family, or add a column."
            )
        if (n := self.n_available(n_features)) >= MOST:
            raise ValueError(
                f"Harmonics(max_degree={degree}) has {n:.3g} columns on the sphere in "
                f"{n_features} dimensions, too many to be numbered: lower max_degree"
                f"{_advice(n_features, MOST)}."
            )

    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> HarmonicColumns:
        self.check(n_features)
        self._check_count(n_columns)
        n = self.n_available(n_features)
        if n_columns > n:
            raise ValueError(
                f"Harmonics(max_degree={self.max_degree}) has {n} columns on the sphere in "
                f"{n_features} dimensions, but {n_columns} were asked for. Ask for at most {n}."
            )
        self._check_memory(n_columns, n_features)
        if n_columns < n:
            numbers = np.sort(rng.choice(n, n_columns, replace=False, shuffle=False))
        else:
            numbers = np.arange(n)
        indices = numbered(n_features, int(self.max_degree), numbers.astype(np.int64))
        return HarmonicColumns(indices, bool(self.normalise))

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        t = inner_products_on_sphere(X, Y, bool(self.normalise))
        d = np.shape(X)[1]
        self.check(d)
        counts = [float(count(d, degree)) for degree in range(int(self.max_degree) + 1)]
        return series(np.array(counts) / sum(counts), d, t)

    def _check_memory(self, n_columns: int, d: int) -> None:
        """Refuse a set of columns that does not fit, before anything of its size is allocated."""
        each = 8 * (3 * int(self.max_degree) + 4)  # indices, and what is computed from them
        if n_columns * each > MOST_BYTES:
            raise ValueError(
                f"{n_columns} of the {self.n_available(d)} columns of Harmonics(max_degree="
                f"{self.max_degree}) in {d} dimensions would take {n_columns * each / 1e9:.1f} GB. "
                f"Ask for at most {MOST_BYTES // each}, or lower max_degree"
                f"{_advice(d, MOST_BYTES // each)}."
            )


def _advice(d: int, most: int) -> str:
    """The largest degree whose harmonics are at most so many."""
    degree = 0
    while count_up_to(d, degree + 1) <= most:
        degree += 1
    return f" (to {degree}: {count_up_to(d, degree)} columns)"
