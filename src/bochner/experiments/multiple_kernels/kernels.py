"""The base kernels, each with a unit diagonal, their Gram matrices, and what those take.

    linear       x.x'
    polynomial   (1 + x.x')^2
    gaussian     exp(-|x - x'|^2 / (2 s^2)), s the median distance

each divided by sqrt(k(x, x) k(x', x')), as is usual for combinations of kernels (Goenen & Alpaydin
2011): a weight then means as much for one kernel as for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...families import Gaussian
from ...ops import FloatArray
from ...rows import MemorySource, draw_sample

KERNELS = ("linear", "polynomial", "gaussian")
#: Rows of a Gram matrix that are made at once, and bytes that a baseline may take.
BLOCK = 1000
BUDGET = 3.0 * 2**30


@dataclass(frozen=True)
class BaseKernel:
    """One of `KERNELS`; ``bandwidth`` is of the Gaussian."""

    kind: str
    bandwidth: float = 1.0

    def __call__(self, X: Any, Y: Any) -> FloatArray:
        """k(x_i, y_j), n x m."""
        inner = X @ Y.T
        inner = inner.toarray() if sparse.issparse(inner) else np.asarray(inner)
        a, b = squares(X)[:, None], squares(Y)[None, :]
        inner = inner.astype(np.float64)
        match self.kind:
            case "linear":
                return np.asarray(inner / np.sqrt(np.where(a > 0, a, 1) * np.where(b > 0, b, 1)))
            case "polynomial":
                return np.asarray((1.0 + inner) ** 2 / ((1.0 + a) * (1.0 + b)))
            case _:
                distances = np.maximum(a + b - 2.0 * inner, 0.0)
                return np.asarray(np.exp(distances / (-2.0 * self.bandwidth**2)))


def squares(X: Any) -> FloatArray:
    """|x_i|^2."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def base_kernels(X: Any, seed: int = 0) -> tuple[BaseKernel, ...]:
    """The three kernels, the bandwidth from the training rows."""
    family = Gaussian("median").resolve(draw_sample(MemorySource(X), 2000, seed))
    return tuple(BaseKernel(kind, float(family.bandwidth)) for kind in KERNELS)


def combined(
    kernels: Sequence[BaseKernel], weights: FloatArray, X: Any, Y: Any, out: FloatArray
) -> FloatArray:
    """sum_m weights_m K_m(X, Y) into ``out``, a block of rows at a time."""
    for start in range(0, X.shape[0], BLOCK):
        rows = slice(start, start + BLOCK)
        used = [(w, k) for w, k in zip(weights, kernels, strict=True) if w > 0]
        out[rows] = sum(w * kernel(X[rows], Y) for w, kernel in used)
    return out


def gram(kernel: BaseKernel, X: Any, dtype: Any = np.float32) -> FloatArray:
    """K(X, X), made a block of rows at a time."""
    n = X.shape[0]
    return combined([kernel], np.ones(1), X, X, np.empty((n, n), dtype=dtype))


def check_memory(n: int, bytes_a_pair: float, budget: float, what: str) -> float:
    """The bytes that n rows will take; an error, before anything is allocated, where too many."""
    needed = n * n * bytes_a_pair
    if needed > budget:
        fits = int((budget / bytes_a_pair) ** 0.5)
        raise MemoryError(
            f"{what} on {n:,} rows needs about {needed / 2**30:.1f} GiB of Gram matrices, more "
            f"than the {budget / 2**30:.1f} GiB it may take. Use at most {fits:,} rows "
            "(most_rows=...), or raise budget=..."
        )
    return needed
