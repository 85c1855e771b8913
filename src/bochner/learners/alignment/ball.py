"""Problem (4) of Sinha & Duchi 2016, solved exactly for every order k > 1.

    maximise  q'v   over the simplex with   mean((N q)^k) - 1 <= rho

    v: the scores (N); q: the weights; eta: the threshold, q ~ [v - eta]_+^(1/(k-1))

1. The printed solution of (8) drops a factor k in lambda. Normalising removes lambda, so the nested
   search of Algorithm 1 is one scalar root, and for k = 2 a closed form; neither needs an epsilon.
2. Every solution carries its gap to a dual bound (`dense`), measured on the weights as returned.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from ...ops import FloatArray
from ..base import Selection
from .anyorder import AnyOrder
from .dense import selection
from .depths import Depths, depths
from .level import Level
from .quadratic import Quadratic


def solve(scores: Any, rho: float, order: float = 2.0) -> Selection:
    """The weights that maximise the mean score in the divergence ball of radius rho.

    Parameters
    ----------
    scores : array of N
        v; any finite numbers.
    rho : float
        The radius, >= 0; from (N/T)^(k-1) - 1 on, with T scores tied for the best, it is idle.
    order : float
        k > 1.

    Returns
    -------
    Selection
        ``status`` is "uniform" (rho = 0, or all scores equal), "active" (the radius binds) or
        "inactive" (all weight on the best). ``stats``: "gap" (dual bound minus value), "eta",
        "rho", "divergence", "value" and "effective" (the number of atoms 1 / sum q^2).

    Examples
    --------
    >>> from bochner.learners import alignment
    >>> found = alignment.solve([3.0, 1.0, 0.0, 0.0], rho=1.0)
    >>> found.status, found.weights.round(3), found.support
    ('active', array([0.658, 0.25 , 0.046, 0.046]), array([0, 1, 2, 3]))
    """
    if np.ndim(rho) != 0:
        raise ValueError(f"solve takes one radius, got rho={rho!r}: path(scores, rhos) takes many.")
    return _path(np.asarray(scores), _radii([rho]), _order(order))[0]


def path(scores: Any, rhos: Any, order: float = 2.0) -> Path:
    """The solutions for many radii from one sort; weights are computed when one is asked for.

    Examples
    --------
    >>> from bochner.learners import alignment
    >>> [len(found.support) for found in alignment.path([3.0, 1.0, 0.0, 0.0], [0.5, 2.0, 3.0])]
    [4, 2, 1]
    """
    given = np.array(scores)  # a copy: weights made later are still those of these scores
    return _path(given, _radii(rhos), _order(order))


def _path(scores: FloatArray, radii: FloatArray, k: float) -> Path:
    x = depths(scores)
    return Path(scores, radii, k, x, Quadratic(x) if k == 2.0 else AnyOrder(x, k))


def _order(order: Any) -> float:
    if isinstance(order, numbers.Real) and 1.0 < float(order) < np.inf:
        return float(order)
    raise ValueError(
        f"order={order!r}: the divergence is mean((N q)^order) - 1 with order > 1; the paper uses "
        "2."
    )


def _radii(rhos: Any) -> FloatArray:
    given = np.atleast_1d(np.asarray(rhos))
    if given.ndim == 1 and (given.dtype.kind in "iuf" or len(given) == 0):
        radii = given.astype(np.float64)
        bad = radii[~(radii >= 0.0)].tolist()
    else:
        bad = [rhos]
    if bad:
        raise ValueError(
            f"rho={bad[0]!r}: a radius is a number >= 0 (0 gives uniform weights; give a vector of "
            "them for a path)."
        )
    return radii


@dataclass(frozen=True, eq=False)
class Path(Sequence[Selection]):
    """Solutions by radius, each made when it is looked at."""

    scores: FloatArray
    rhos: FloatArray
    order: float
    depths: Depths
    solver: Quadratic | AnyOrder
    _levels: dict[float, tuple[str, Level]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rhos)

    @overload
    def __getitem__(self, index: int) -> Selection: ...
    @overload
    def __getitem__(self, index: slice) -> Path: ...
    def __getitem__(self, index: int | slice) -> Selection | Path:
        if isinstance(index, slice):
            rhos = self.rhos[index]
            return Path(self.scores, rhos, self.order, self.depths, self.solver, self._levels)
        return self.at(float(self.rhos[index]))

    def at(self, rho: float) -> Selection:
        """The solution at any radius."""
        return selection(self.scores, self.depths, rho, self.order, *self.level(rho))

    def level(self, rho: float) -> tuple[str, Level]:
        """Status and threshold at a radius: all of the solution but its dense weights."""
        if rho not in self._levels:
            self._levels[rho] = self._find(rho)
        return self._levels[rho]

    def _find(self, rho: float) -> tuple[str, Level]:
        x, k = self.depths, self.order
        if rho == 0.0 or x.flat:
            return "uniform", Level(x.n, float(x.ranked[-1]), np.inf)
        if np.log1p(rho) >= (k - 1.0) * np.log(x.n / x.ties) * (1.0 - 2.0**-52):
            return "inactive", Level(x.ties, 0.0, 0.0)
        return "active", self.solver.level(rho)

    @property
    def etas(self) -> FloatArray:
        """The threshold eta at each radius."""
        return np.array([self.depths.score(level.height) for _, level in self._all()])

    @property
    def nnz(self) -> FloatArray:
        """How many weights are not zero at each radius."""
        return np.array([level.n_active for _, level in self._all()])

    @cached_property
    def useful(self) -> float:
        """The radius from which on all weight is on the best: (N/T)^(k-1) - 1."""
        with np.errstate(over="ignore"):
            logarithm = (self.order - 1.0) * np.log(self.depths.n / self.depths.ties)
            return float(np.expm1(logarithm))

    def _all(self) -> Iterator[tuple[str, Level]]:
        return (self.level(float(rho)) for rho in self.rhos)
