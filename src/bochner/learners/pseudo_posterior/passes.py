"""One pass for the losses: frequency sums, and beside them how many rows went in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ... import statistics
from ...feature_map import FeatureMap
from ...ops import AnyColumns, FloatArray, Projection, Stack
from ...rows import Block, Hook, RowSource, RowSum
from ...rows.block import Array
from ..held_out import HeldOut, MarkHeld, unmarked
from ..label_kernel import Target
from ..shares import HeldApart
from .losses import check_rows, losses

State: TypeAlias = tuple["FloatArray | None", Array]


@dataclass(frozen=True, eq=False)
class Sums:
    """s = sum_j w_j phi_m(x_j) R_j over pair columns, n = sum_j w_j, own = sum_j w_j lambda_jj."""

    target: Target
    scale: float
    s: FloatArray
    n: float
    own: float

    def __add__(self, other: Sums) -> Sums:
        both = (self.s + other.s, self.n + other.n, self.own + other.own)
        return Sums(self.target, self.scale, *both)

    @property
    def losses(self) -> FloatArray:
        """L_m of each frequency."""
        S = (self.s[0::2] + 1j * self.s[1::2]) / self.scale
        similarity = "classes" if self.target.one_hot else "factor"
        return losses(S, self.n, similarity=similarity, own=self.own)


class LossSum(RowSum[State, "tuple[FloatArray, Array]"]):
    """Frequency sums and (n, own, A'w) in one pass; of held-out rows apart, if marked."""

    def __init__(
        self, pairs: FeatureMap, target: Target, marked: bool, n_targets: int | None
    ) -> None:
        coefficients = HeldApart(target, n_targets) if marked else target
        self.inner = statistics.ProjectSum(pairs, coefficients)
        self.target, self.marked, self.n_targets = target, marked, n_targets

    def start(self) -> State:
        return self.inner.start(), np.zeros((2, 1))

    def update(self, state: State, block: Block) -> State:
        w, y, held = block.weights(), block.y, np.zeros(block.n_rows, dtype=bool)
        if self.marked:
            y, held = unmarked(y, self.n_targets)
        plain = block.replace(y=y)
        own, A = self.target.own(plain), self.target.factor(plain)
        figures = np.column_stack([w, w * own, w[:, None] * A])
        counted = np.stack([~held, held]) @ figures
        return self.inner.update(state[0], block), state[1] + counted

    def merge(self, a: State, b: State) -> State:
        return self.inner.merge(a[0], b[0]), a[1] + b[1]

    def finalise(self, state: State) -> tuple[FloatArray, Array]:
        return self.inner.finalise(state[0]), state[1]


def loss_sums(
    source: RowSource, fm: FeatureMap, target: Target, held_out: HeldOut | None, hook: Hook
) -> tuple[Sums, Sums]:
    """Sums over the rows to learn from, and over all of them, from one pass; fm: candidates."""
    pairs, scale = as_pairs(fm.projection, "PseudoPosterior")
    inner = FeatureMap(fm.family, pairs, np.ones(pairs.n_columns))
    row_sum = LossSum(inner, target, held_out is not None, source.schema.n_targets)
    if held_out is not None:
        source = source.mapped(MarkHeld(held_out), source.schema)
    s, counts = source.reduce(row_sum, hook=hook)
    check_rows(counts[:, 0].sum())
    check_classes(target, counts.sum(axis=0))
    if held_out is None:
        found = Sums(target, scale, s, float(counts[0, 0]), float(counts[0, 1]))
        return found, found
    width = s.shape[1] // 2
    learned, held = (
        Sums(target, scale, s[:, k * width : (k + 1) * width], float(n), float(own))
        for k, (n, own) in enumerate(counts[:, :2])
    )
    return learned, learned + held


def check_classes(target: Target, counts: Array) -> None:
    """Two classes at least, two rows in each: below that a mean over pairs does not exist."""
    if target.task.kind != "classification" or target.kernel is not None:
        return
    rows = counts[2:]
    if not target.one_hot:
        rows = np.array([counts[0] - rows[0], counts[0] + rows[0]]) / 2.0
    few = [c for c in range(len(rows)) if rows[c] < 1.0 + 1e-9]
    if (target.task.n_classes or 0) < 2 or counts[0] in rows:
        raise ValueError(
            "all rows are of one class, so there is nothing to align with; give rows of two "
            "classes at least."
        )
    if few:
        names = target.task.classes
        label = few[0] if names is None else names[few[0]]
        raise ValueError(
            f"the class {label!r} has one row, so there is no pair within it to align; "
            "give it another row, merge it with another class, or leave it out."
        )


def as_pairs(columns: AnyColumns, who: str) -> tuple[AnyColumns, float]:
    """(cos w.x, sin w.x) of every frequency, whatever form its columns have; and their scale.

    Of a union of Fourier families, the frequencies of all: their measures mixed, where all columns
    have one scale (the prior is uniform over the candidates).
    """
    if isinstance(columns, Stack):
        return _pairs_of_stack(columns, who)
    if not isinstance(columns, Projection) or columns.activation not in ("cos", "pair"):
        kind = getattr(columns, "activation", type(columns).__name__)
        raise ValueError(
            f"{who} weighs the frequencies of a translation-invariant kernel, but these features "
            f"are {kind!r}: use a Fourier family (Gaussian, Laplace, Cauchy, Matern), a union of "
            "them, or the learner Alignment, which takes any features."
        )
    return Projection(columns.operator, "pair", columns.scale), float(columns.scale)


def _pairs_of_stack(columns: Stack, who: str) -> tuple[Stack, float]:
    made = [as_pairs(part, who) for part in columns.parts]
    scales = np.array([scale for _, scale in made])
    wide = [
        pairs.n_columns != part.n_columns
        for (pairs, _), part in zip(made, columns.parts, strict=True)
    ]
    if np.ptp(scales) > 1e-9 * scales.max() or any(wide) != all(wide):
        raise ValueError(
            f"{who} starts from a uniform prior over the candidates, but the families of this "
            'Union differ in weight, count or form: leave weights="uniform", counts="auto", and '
            "give all of them the same form."
        )
    where = columns.where
    if any(wide):  # a column becomes two
        where = tuple((2 * at[:, None] + np.arange(2)).ravel() for at in where)
    return Stack(tuple(pairs for pairs, _ in made), where, columns.labels), float(scales[0])
