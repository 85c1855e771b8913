"""Products with the columns in play: held in memory, or made anew in every pass over the rows.

Weights of the rows sum to nothing (sum_i w_i r_i = 0), so S is the same for columns less their
means, and f but for a constant that the shift b takes up. Columns that are centred have a much
smaller largest singular value (a quarter, for Gaussian features of a9a), and steps are that much
longer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ... import statistics
from ...feature_map import FeatureMap
from ...ops import FloatArray
from .ledger import Ledger, state_as_coefficients


class Products(ABC):
    """phi, n x M, where M columns are in play; coefficients may have a column for each game."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """M."""

    @abstractmethod
    def scores(self, u: FloatArray) -> FloatArray:
        """phi u."""

    @abstractmethod
    def sums(self, r: FloatArray, weight: FloatArray) -> FloatArray:
        """phi' (w r)."""


@dataclass(frozen=True, eq=False)
class Held(Products):
    """In memory."""

    phi: FloatArray

    @property
    def n_columns(self) -> int:
        return int(self.phi.shape[1])

    def scores(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.phi @ u.astype(self.phi.dtype), dtype=np.float64)

    def sums(self, r: FloatArray, weight: FloatArray) -> FloatArray:
        weighted = (weight * r.T).T
        return np.asarray(self.phi.T @ weighted.astype(self.phi.dtype), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Streamed(Products):
    """A pass over the rows for each product: nothing of size n x M exists."""

    ledger: Ledger
    fm: FeatureMap
    mean: FloatArray

    @classmethod
    def of(cls, ledger: Ledger, fm: FeatureMap) -> Streamed:
        """Columns less their means, which take a pass."""
        total = summed(ledger, fm, np.ones(len(ledger)))
        return cls(ledger, fm, total / ledger.weight.sum())

    @property
    def n_columns(self) -> int:
        return self.fm.n_features

    def scores(self, u: FloatArray) -> FloatArray:
        return self.ledger.scores(self.fm, u) - self.mean @ u

    def sums(self, r: FloatArray, weight: FloatArray) -> FloatArray:
        """The pass itself weighs the rows."""
        S, mass = summed(self.ledger, self.fm, r), weight @ r
        return S - (np.outer(self.mean, mass) if r.ndim > 1 else self.mean * mass)


def centred(phi: FloatArray, weight: FloatArray) -> FloatArray:
    """Columns less their means."""
    return np.asarray(phi - ((weight @ phi) / weight.sum()).astype(phi.dtype))


def summed(ledger: Ledger, fm: FeatureMap, r: FloatArray) -> FloatArray:
    """S = sum_i w_i r_i phi(x_i), one pass; in the shape of r."""
    S = statistics.project(
        ledger.source,
        fm,
        state_as_coefficients,
        hook=ledger.hook,
        row_state=ledger.state(r),
    )
    return S[:, 0] if r.ndim == 1 else S
