"""Mean and variance of all entries of X, row by row weighted, as a sum that merges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .block import Array

_STRIP = 2**17  # entries that are float64 at a time: no second copy of the block


@dataclass(frozen=True)
class Moments:
    """``total`` weight of the rows; ``mean`` and ``squares`` (of deviations) of the entries."""

    total: float
    mean: float
    squares: float
    width: int

    @classmethod
    def of(cls, X: Any, weight: Array) -> Moments:
        """The moments of a block of rows, in two sweeps: one for the mean, one around it."""
        total, d = float(weight.sum()), int(X.shape[1])
        if total == 0 or d == 0:
            return cls(total, 0.0, 0.0, d)
        if sparse.issparse(X):
            return cls._of_sparse(X, weight, total)
        mean = float(weight @ X.sum(axis=1, dtype=np.float64)) / (total * d)
        squares, step = 0.0, max(1, _STRIP // d)
        for start in range(0, X.shape[0], step):
            strip = X[start : start + step].astype(np.float64) - mean
            squares += float(weight[start : start + step] @ np.einsum("ij,ij->i", strip, strip))
        return cls(total, mean, squares, d)

    @classmethod
    def _of_sparse(cls, X: Any, weight: Array, total: float) -> Moments:
        d = int(X.shape[1])
        filled = np.diff(X.indptr)
        each = np.repeat(weight, filled)
        data = X.data.astype(np.float64)
        mean = float(each @ data) / (total * d)
        zeros = float(weight @ (d - filled))
        squares = float(each @ np.square(data - mean)) + zeros * mean**2
        return cls(total, mean, squares, d)

    def join(self, other: Moments) -> Moments:
        """Chan's formula for the moments of a union."""
        total = self.total + other.total
        if total == 0:
            return self
        shift = other.mean - self.mean
        between = self.width * shift**2 * self.total * other.total / total
        mean = self.mean + shift * other.total / total
        return Moments(total, mean, self.squares + other.squares + between, self.width)

    @property
    def variance(self) -> float:
        """The variance of the entries; zero where only rounding keeps them apart."""
        if self.total == 0 or self.width == 0:
            return 0.0
        variance = self.squares / (self.total * self.width)
        noise = 64 * float(np.finfo(np.float64).eps) * abs(float(self.mean))
        return variance if variance > noise * noise else 0.0
