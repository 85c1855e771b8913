"""Targets as factors of a label kernel: S = A A', one row of A a row of data.

    two classes           A = y in {-1, 1}                    S_ij = y_i y_j
    C > 2 classes         A = one-hot, S = 2 A A' - 1         S_ij = 1 in one class, else -1
    regression            A = y / max|y|, a column a target   S_ij in [-1, 1]
    `LabelKernel`         A as given

Centring takes the (weighted) mean row off A, and for regression then scales to [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ops import FloatArray
from ..rows import Block, RowSum
from .base import Task


@dataclass(frozen=True, eq=False)
class LabelKernel:
    """Any label kernel by a factor: S = A A'.

    Parameters
    ----------
    factor : array (n_classes, r), callable or None
        A row for each class, in the order of ``classes_``; or a function from the targets of some
        rows (class indices or numbers) to their rows of A; or None: the targets are A already.
    centered : bool
        Take the mean row off A.

    Examples
    --------
    Three grades, of which the middle one is half way:

    >>> import numpy as np
    >>> from bochner.learners import Alignment
    >>> from bochner.learners.alignment import LabelKernel
    >>> learner = Alignment(0.01, target=LabelKernel(np.array([[-1.0], [0.0], [1.0]])))
    """

    factor: FloatArray | Callable[[FloatArray], FloatArray] | None = None
    centered: bool = True

    def check(self, task: Task) -> None:
        """Refuse a factor that does not fit the targets, before any work."""
        if callable(self.factor):
            return
        classes = task.kind == "classification"
        if self.factor is None:
            if classes:
                raise ValueError(
                    "LabelKernel() takes the targets for its factor, but these are classes: give "
                    f"a table with a row for each of the {task.n_classes}, or a function."
                )
            return
        table = np.asarray(self.factor)
        if not classes:
            raise ValueError(
                f"LabelKernel(factor=<array {table.shape}>) has a row for each class, but the "
                "targets are amounts: give a function of them, or None to take them as they are."
            )
        numbers = table.ndim == 2 and table.dtype.kind in "biuf" and np.isfinite(table).all()
        if not numbers or len(table) != task.n_classes:
            raise ValueError(
                f"LabelKernel(factor=...) has shape {table.shape} of {table.dtype}: give a table "
                f"of finite numbers with a row for each of the {task.n_classes} classes."
            )

    def rows(self, y: FloatArray) -> FloatArray:
        """A for rows with these targets."""
        if self.factor is None:
            return y
        if not callable(self.factor):
            return np.asarray(self.factor)[y.astype(np.intp)]
        A = np.asarray(self.factor(y))
        if A.ndim not in (1, 2) or len(A) != len(y) or not np.isfinite(A).all():
            raise ValueError(
                f"the function of this LabelKernel made shape {A.shape} of {len(y)} targets: it "
                "must return a row of finite numbers for each of them."
            )
        return A


@dataclass(frozen=True, eq=False)
class Target:
    """What is summed for the scores: R = (A - shift) * scale, and how sums become scores."""

    task: Task
    kernel: LabelKernel | None
    centered: bool
    shift: FloatArray | None = None
    scale: FloatArray | None = None

    @property
    def similarity(self) -> str:
        """What S is made of: "classes", "amounts" or a "factor"."""
        if self.kernel is not None:
            return "factor"
        return "classes" if self.task.kind == "classification" else "amounts"

    @property
    def one_hot(self) -> bool:
        """Is A one column a class, with S = 2 A A' - 1?"""
        return self.kernel is None and self.task.kind == "classification" and self._classes > 2

    @property
    def _classes(self) -> int:
        return self.task.n_classes or 0

    def factor(self, block: Block) -> FloatArray:
        """A, n x r."""
        if block.y is None:
            raise ValueError("these rows have no targets; give y, or a source with target=...")
        if self.kernel is not None:
            A = self.kernel.rows(block.y)
        elif self.one_hot:
            A = block.y.reshape(-1, 1) == np.arange(self._classes)
        elif self.task.kind == "classification":
            A = 2.0 * block.y - 1.0
        else:
            A = block.y
        return np.asarray(A, dtype=np.float64).reshape(block.n_rows, -1)

    def __call__(self, block: Block) -> FloatArray:
        """R, n x r."""
        R = self.factor(block)
        if self.shift is not None:
            R = R - self.shift
        return R if self.scale is None else R * self.scale

    def scores(self, s: FloatArray) -> FloatArray:
        """v_m = sum_ij S_ij phi_m(x_i) phi_m(x_j) from s = Phi' R, N x r."""
        v = np.einsum("mc,mc->m", s, s)
        if self.one_hot:  # 2 sum_c s_c^2 - s^2; centred sums add up to zero
            v = 2.0 * v if self.centered else 2.0 * v - s.sum(axis=1) ** 2
        elif self.kernel is None:
            v = v / s.shape[1]
        return v

    def own(self, block: Block) -> FloatArray:
        """S_ii of each row."""
        R = self(block)
        square = np.einsum("ic,ic->i", R, R)
        if self.one_hot:
            return 2.0 * square if self.centered else square
        return square if self.kernel is not None else square / R.shape[1]

    @property
    def needs_figures(self) -> bool:
        """Is a pass over the targets needed before the scores?"""
        return self.centered or (self.kernel is None and self.task.kind == "regression")

    def fitted(self, figures: tuple[FloatArray, FloatArray, FloatArray]) -> Target:
        """With shift and scale from `FactorFigures`."""
        mean, low, high = figures
        shift = mean if self.centered else None
        scale = None
        if self.kernel is None and self.task.kind == "regression":
            middle = mean if self.centered else 0.0
            most = np.maximum(np.abs(high - middle), np.abs(low - middle))
            scale = 1.0 / np.where(most > 0, most, 1.0)
        return Target(self.task, self.kernel, self.centered, shift, scale)


Figures = tuple[float, Any, Any, Any]


class FactorFigures(RowSum[Figures, tuple[FloatArray, FloatArray, FloatArray]]):
    """The weighted mean, least and largest row of A, by column, of rows with a positive weight."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def start(self) -> Figures:
        return 0.0, 0.0, np.inf, -np.inf

    def update(self, state: Figures, block: Block) -> Figures:
        A, w = self.target.factor(block), block.weights()
        if not np.all(w > 0):
            A, w = A[w > 0], w[w > 0]
        if len(w) == 0:
            return state
        return self.merge(state, (float(w.sum()), w @ A, A.min(axis=0), A.max(axis=0)))

    def merge(self, a: Figures, b: Figures) -> Figures:
        return a[0] + b[0], a[1] + b[1], np.minimum(a[2], b[2]), np.maximum(a[3], b[3])

    def finalise(self, state: Figures) -> tuple[FloatArray, FloatArray, FloatArray]:
        total, sums, low, high = state
        if total == 0.0:
            raise ValueError(
                "no rows with a positive weight to align with: check sample_weight, or raise "
                "subsample."
            )
        return sums / total, low, high


def as_target(target: Any, task: Task) -> Target:
    """The target from the setting of the learner; "auto" is centred."""
    if isinstance(target, LabelKernel):
        target.check(task)
        return Target(task, target, target.centered)
    return Target(task, None, target != "raw")
