"""Exact kernels on a part of the rows: what feature maps are compared with.

An SVC for classes, ridge regression for amounts, both scikit-learn's, on the Gram matrix of a
family's ``exact_kernel``. Their penalty is chosen on held-out rows of (a part of) the subsample.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from ..families import Gaussian, Linear, Union
from ..families.base import Family
from ..rows import MemorySource, draw_sample
from .describe import Outcome
from .methods import loss
from .multiple_kernels.kernels import BUDGET, check_memory
from .splits import Split, held_out, part_of

#: Bytes for each pair of rows: the Gram matrix, and the copy that a solver makes.
BYTES = 16.0
CHOICE_ROWS = 3000
SAMPLE_ROWS = 20_000
PENALTIES = (1e-2, 1e-1, 1e0, 1e1, 1e2)


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """A kernel machine on a ``share`` of the training rows, ``most_rows`` at most.

    ``penalties`` are alpha of ridge regression, and 1 / C of an SVC.
    """

    name: str
    family: Family
    share: float = 1.0
    most_rows: int = 8000
    penalties: Sequence[float] = PENALTIES

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        n = min(round(self.share * len(split.y)), self.most_rows)
        check_memory(n, BYTES, BUDGET, self.name)
        part = part_of(split, n, seed)
        start = time.perf_counter()
        sample = draw_sample(MemorySource(part.X), SAMPLE_ROWS, seed)
        family = self.family.resolve(sample)
        penalty, error = self._choose(family, part, seed)
        choice = time.perf_counter() - start
        start = time.perf_counter()
        K = family.exact_kernel(part.X)
        made = time.perf_counter() - start
        start = time.perf_counter()
        machine = Machine.fit(K, part.y, penalty, split.task)
        seconds = {"features": made, "head": time.perf_counter() - start, "choice": choice}
        stats = {"rows": n, "penalty": penalty, "held-out error": error}
        return Outcome(
            lambda X: machine.predict(family.exact_kernel(X, part.X)), None, seconds, stats
        )

    def _choose(self, family: Family, part: Split, seed: int) -> tuple[float, float]:
        """The penalty of the least held-out error, the stronger of equals."""
        inner = held_out(part, seed, most=CHOICE_ROWS)
        K, J = family.exact_kernel(inner.X), family.exact_kernel(inner.X_test, inner.X)
        penalties = sorted(self.penalties, reverse=True)
        errors = [
            loss(inner.y_test, Machine.fit(K, inner.y, p, part.task).predict(J), part.task)
            for p in penalties
        ]
        best = int(np.argmin(errors))
        return penalties[best], errors[best]


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted machine of scikit-learn on Gram matrices; amounts are fitted less their mean."""

    model: Any
    mean: float = 0.0

    @classmethod
    def fit(cls, K: Any, y: Any, penalty: float, task: str) -> Machine:
        if task == "classification":
            return cls(SVC(C=1.0 / penalty, kernel="precomputed", cache_size=500).fit(K, y))
        mean = float(np.mean(y))
        return cls(KernelRidge(alpha=penalty, kernel="precomputed").fit(K, y - mean), mean)

    def predict(self, K: Any) -> Any:
        found = self.model.predict(K)
        return found + self.mean if self.mean else found


def gaussian(share: float = 1.0, most_rows: int = 8000, bandwidth: Any = "neighbours") -> Any:
    """GK: the Gaussian kernel."""
    return KernelMachine("GK", Gaussian(bandwidth), share, most_rows)


def gaussian_and_linear(
    share: float = 1.0, most_rows: int = 8000, bandwidth: Any = "neighbours"
) -> Any:
    """GLK: half the Gaussian kernel and half the linear one (x.x' over the number of columns)."""
    both = Union([Gaussian(bandwidth), Linear()])
    return KernelMachine("GLK", both, share, most_rows)
