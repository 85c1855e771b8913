"""The pseudo-posterior, eqs (12) and (19):  Q_m = exp(-beta sqrt(n) L_m) / Z.

It minimises  L^(Q) + KL(Q | uniform) / (beta sqrt(n)), the trade-off of Theorem 3 at
t = beta sqrt(n). Losses enter as their distance from the least one, so nothing overflows.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from ...ops import FloatArray
from ..base import Selection
from .losses import check_rows

_HALVINGS = 60


def posterior(losses: Any, n: float, beta: float) -> FloatArray:
    """Q over N frequencies; any finite beta > 0, any finite losses.

    Examples
    --------
    >>> from bochner.learners import pseudo_posterior
    >>> pseudo_posterior.posterior([0.3, 0.5, 0.5], n=100, beta=0.5).round(3)
    array([0.576, 0.212, 0.212])
    >>> pseudo_posterior.posterior([0.3, 0.5, 0.5], n=100, beta=1e308)
    array([1., 0., 0.])
    """
    return _weights(_excess(losses), check_rows(n), check_beta(beta))


def path(losses: Any, n: float, betas: Any) -> PosteriorPath:
    """Posteriors for many beta, each O(N) and made when it is looked at.

    Examples
    --------
    >>> from bochner.learners import pseudo_posterior
    >>> found = pseudo_posterior.path([0.4, 0.5, 0.5], n=100, betas=[1.0, 4.0])
    >>> found[0].weights.round(2)
    array([0.58, 0.21, 0.21])
    """
    given = np.atleast_1d(np.asarray(betas, dtype=np.float64))
    if given.ndim != 1:
        raise ValueError(f"betas must be a vector, got an array of {given.ndim} dimensions.")
    checked = np.array([check_beta(float(beta)) for beta in given])
    return PosteriorPath(np.asarray(losses, dtype=np.float64), check_rows(n), checked)


@dataclass(frozen=True, eq=False)
class PosteriorPath(Sequence[Selection]):
    """Posteriors by beta. A frequency has ``columns_per_atom`` columns, which share its weight."""

    losses: FloatArray
    n: float
    betas: FloatArray
    columns_per_atom: int = 1
    excess: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "excess", _excess(self.losses))

    def __len__(self) -> int:
        return len(self.betas)

    @overload
    def __getitem__(self, index: int) -> Selection: ...
    @overload
    def __getitem__(self, index: slice) -> PosteriorPath: ...
    def __getitem__(self, index: int | slice) -> Selection | PosteriorPath:
        if isinstance(index, slice):
            return PosteriorPath(self.losses, self.n, self.betas[index], self.columns_per_atom)
        return self.at(float(self.betas[index]))

    def weights(self, beta: float) -> FloatArray:
        """Q over the frequencies."""
        return _weights(self.excess, self.n, beta)

    def at(self, beta: float) -> Selection:
        """The posterior at any beta, over candidate columns: what `selection_` is made of."""
        k, Q = self.columns_per_atom, self.weights(check_beta(beta))
        columns = np.repeat(Q / k, k)
        status = "uniform" if not self.excess.any() else "posterior"
        stats = {"beta": beta, **figures(Q, self.losses)}
        scores = np.repeat(1.0 - 2.0 * self.losses, k)
        return Selection(status, scores, columns, np.flatnonzero(columns), stats)

    @property
    def effective(self) -> FloatArray:
        """The effective sample size 1 / sum Q^2, in frequencies, at each beta."""
        return np.array([effective(self.weights(float(beta))) for beta in self.betas])

    def beta_of(self, size: float) -> float:
        """The beta whose effective sample size is ``size``, to within rounding of beta."""
        spread = float(self.excess.max()) * np.sqrt(self.n)
        if spread == 0.0:
            return 1.0
        low, high = np.log(1e-9 / spread), np.log(1e9 / spread)  # at the low end all are equal
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            many = effective(self.weights(float(np.exp(middle)))) > size
            low, high = (middle, high) if many else (low, middle)
        return float(np.exp(low))


def figures(Q: FloatArray, losses: FloatArray) -> dict[str, float]:
    """What there is to know of a posterior against the uniform prior."""
    return {"effective": effective(Q), "kl": kl_from_uniform(Q), "loss": float(Q @ losses)}


def effective(Q: FloatArray) -> float:
    """1 / sum Q^2: how many equally weighted atoms are worth as much."""
    return float(1.0 / (Q @ Q))


def kl_from_uniform(Q: FloatArray) -> float:
    """KL(Q | uniform) = ln N + sum Q ln Q."""
    inside = Q[Q > 0]
    return max(0.0, float(np.log(len(Q)) + inside @ np.log(inside)))


def check_beta(beta: Any) -> float:
    """A finite inverse temperature above 0."""
    ok = isinstance(beta, numbers.Real) and not isinstance(beta, bool)
    if not ok or not 0.0 < float(beta) < np.inf:
        raise ValueError(
            f"beta={beta!r}: give a finite number above 0 (1 is where the bound converges; towards "
            "0 the posterior is the prior, towards infinity it is the single best frequency)."
        )
    return float(beta)


def _excess(losses: Any) -> FloatArray:
    x = np.asarray(losses, dtype=np.float64)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise ValueError(
            f"losses must be a vector of finite numbers, one a frequency, got shape {x.shape}."
        )
    return x - x.min()


def _weights(excess: FloatArray, n: float, beta: float) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        Q = np.exp(-(excess * beta) * np.sqrt(n))  # in this order: zero stays zero, never NaN
    return np.asarray(Q / Q.sum())
