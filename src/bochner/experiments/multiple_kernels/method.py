"""The baselines as methods of an experiment: a subset of the rows, weights, an SVC, chunks.

C is chosen on held-out rows of the subset with equal weights of the kernels, once for both: the
papers do not say how they chose theirs. Kernels against test rows are made with support vectors
only, a chunk at a time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from ...ops import FloatArray
from ..describe import Outcome
from ..splits import Split
from .aligned import alignment_weights
from .joint import joint_weights
from .kernels import BLOCK, BUDGET, BaseKernel, base_kernels, check_memory, combined, gram

#: Bytes for each pair of rows: the combination in float64, its copy while it is scaled, and
#: for the joint method three Gram matrices in float32 beside it.
ALIGNED_BYTES, JOINT_BYTES = 8.0, 8.0 + 8.0 + 3 * 4.0
#: Rows on which C is chosen.
CHOICE_ROWS = 3000


@dataclass(frozen=True)
class AlignedSVM:
    """ABMKSVM(ratio): weights by alignment, then an SVM."""

    name: str = "ABMKSVM(ratio)"
    most_rows: int = 17_500
    Cs: tuple[float, ...] = (1.0, 10.0, 100.0)
    budget: float = BUDGET

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        X, y, classes = subset(split, self.most_rows, seed)
        check_memory(len(y), ALIGNED_BYTES, self.budget, self.name)
        C, choice = _choose(X, y, self.Cs, seed)
        start = time.perf_counter()
        kernels = base_kernels(X, seed)
        weights = alignment_weights(kernels, X, y)
        learned = time.perf_counter() - start
        start = time.perf_counter()
        K = combined(kernels, weights, X, X, np.empty((len(y), len(y))))
        svm = SVC(C=C, kernel="precomputed", cache_size=500).fit(K, y)
        seconds = {"features": learned, "head": time.perf_counter() - start, "choice": choice}
        dual, at = svm.dual_coef_[0], svm.support_
        machine = Machine(kernels, weights, X[at], dual, float(svm.intercept_[0]), classes)
        return Outcome(machine, None, seconds, _stats(weights, C, len(y), len(at)))


@dataclass(frozen=True)
class JointSVM:
    """MKSVM: weights and SVM together, to a duality gap."""

    name: str = "MKSVM"
    most_rows: int = 7500
    Cs: tuple[float, ...] = (1.0, 10.0, 100.0)
    gap: float = 1e-2
    budget: float = BUDGET

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        X, y, classes = subset(split, self.most_rows, seed)
        check_memory(len(y), JOINT_BYTES, self.budget, self.name)
        C, choice = _choose(X, y, self.Cs, seed)
        start = time.perf_counter()
        kernels = base_kernels(X, seed)
        made = joint_weights([gram(kernel, X) for kernel in kernels], y, C, self.gap)
        seconds = {"features": 0.0, "head": time.perf_counter() - start, "choice": choice}
        at = np.flatnonzero(made.dual)
        machine = Machine(kernels, made.weights, X[at], made.dual[at], made.intercept, classes)
        stats = {"gap": made.gap, "svm solves": made.n_svm, "status": made.status}
        return Outcome(
            machine, None, seconds, {**_stats(made.weights, C, len(y), len(at)), **stats}
        )


@dataclass(frozen=True, eq=False)
class Machine:
    """Predictions from support vectors."""

    kernels: Sequence[BaseKernel]
    weights: FloatArray
    vectors: Any
    dual: FloatArray
    intercept: float
    classes: Any

    def __call__(self, X: Any) -> Any:
        f = np.empty(X.shape[0])
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            part = X[rows]
            K = np.empty((part.shape[0], self.vectors.shape[0]))
            f[rows] = combined(self.kernels, self.weights, part, self.vectors, K) @ self.dual
        return self.classes[(f + self.intercept > 0).astype(np.intp)]


def subset(split: Split, most: int, seed: int) -> tuple[Any, FloatArray, Any]:
    """At most so many training rows, classes in proportion; labels as signs, and the classes."""
    classes, index = np.unique(split.y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"an SVM with learned weights needs two classes, got {len(classes)}.")
    rows = np.arange(len(index))
    if len(rows) > most:
        rows, _ = train_test_split(rows, train_size=most, random_state=seed, stratify=index)
        rows = np.sort(rows)
    return split.X[rows], 2.0 * index[rows] - 1.0, classes


def _choose(X: Any, y: FloatArray, Cs: Sequence[float], seed: int) -> tuple[float, float]:
    """The C of least held-out error under equal weights, the smaller of equals; and its seconds."""
    start = time.perf_counter()
    rows = np.arange(len(y))
    if len(rows) > CHOICE_ROWS:
        rows, _ = train_test_split(rows, train_size=CHOICE_ROWS, random_state=seed, stratify=y)
    learn, judge = train_test_split(rows, test_size=0.25, random_state=seed, stratify=y[rows])
    kernels = base_kernels(X[learn], seed)
    equal = np.full(len(kernels), 1.0 / len(kernels))
    K = combined(kernels, equal, X[learn], X[learn], np.empty((len(learn), len(learn))))
    J = combined(kernels, equal, X[judge], X[learn], np.empty((len(judge), len(learn))))
    errors = []
    for C in sorted(Cs):
        svm = SVC(C=C, kernel="precomputed").fit(K, y[learn])
        errors.append(float(np.mean(svm.predict(J) != y[judge])))
    return sorted(Cs)[int(np.argmin(errors))], time.perf_counter() - start


def _stats(weights: FloatArray, C: float, n: int, n_support: int) -> dict[str, Any]:
    return {
        "weights": [float(w) for w in weights],
        "C": C,
        "rows": n,
        "support vectors": n_support,
    }
