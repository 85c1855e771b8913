"""The passes: what is summed over rows, written once for every engine.

Each function takes any source of rows and a feature map, and runs one pass. A row of weight w
counts w times in every one of them. Symbols as in `feature_map`: phi is n x M with the map's
weights, R the row coefficients n x C, T the column coefficients M x C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from . import ops
from .feature_map import FeatureMap
from .ops import Dense, FloatArray, Projection
from .rows import Block, Hook, RowSource, RowState, RowSum

#: Row coefficients of a block, n x C, from its targets and state (weights are applied for you).
Coefficients: TypeAlias = Callable[[Block], FloatArray]


class _ArraySum(RowSum["FloatArray | None", FloatArray]):
    """A sum whose state is one float64 array."""

    def start(self) -> FloatArray | None:
        return None

    def update(self, state: FloatArray | None, block: Block) -> FloatArray:
        part = self.of_block(block)
        if state is None:
            return part
        state += part
        return state

    def of_block(self, block: Block) -> FloatArray:
        raise NotImplementedError

    def merge(self, a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
        if a is None or b is None:
            return b if a is None else a
        return a + b

    def finalise(self, state: FloatArray | None) -> FloatArray:
        if state is None:
            raise ValueError("the source holds no rows; give at least one.")
        return state


class ProjectSum(_ArraySum):
    """sum_i w_i phi_m(x_i) R_ic, M x C."""

    def __init__(self, fm: FeatureMap, coefficients: Coefficients) -> None:
        self.fm, self.coefficients = fm, coefficients

    def of_block(self, block: Block) -> FloatArray:
        return self.fm.project(block.X, weigh(self.coefficients(block), block))


class GramSum(_ArraySum):
    """sum_i w_i c_i phi_m(x_i) phi_l(x_i), M x M, c_i from ``coefficients`` or one."""

    def __init__(self, fm: FeatureMap, coefficients: Coefficients | None, derivative: bool) -> None:
        self.fm, self.coefficients, self.derivative = fm, coefficients, derivative

    def of_block(self, block: Block) -> FloatArray:
        weights = block.weight
        if self.coefficients is not None:
            weights = weigh(self.coefficients(block), block)
        return self.fm.gram(block.X, weights, self.derivative)


class PullSum(RowSum["dict[str, FloatArray]", "dict[str, FloatArray]"]):
    """sum_i w_i (R T')_im d phi_m(x_i) / d atom_m, one array per atom parameter."""

    def __init__(self, fm: FeatureMap, coefficients: Coefficients, T: FloatArray) -> None:
        self.fm, self.coefficients, self.T = fm, coefficients, T

    def start(self) -> dict[str, FloatArray]:
        return {}

    def update(self, state: dict[str, FloatArray], block: Block) -> dict[str, FloatArray]:
        R = weigh(self.coefficients(block), block)
        return self.fm.pull(block.X, R, self.T, out=state or None)

    def merge(self, a: dict[str, FloatArray], b: dict[str, FloatArray]) -> dict[str, FloatArray]:
        if not a or not b:
            return a or b
        for name, part in b.items():
            a[name] += part
        return a

    def finalise(self, state: dict[str, FloatArray]) -> dict[str, FloatArray]:
        return state


Moments: TypeAlias = "tuple[FloatArray, FloatArray]"


@dataclass(frozen=True, eq=False)
class Potential:
    """v(w_f) = |sum_i r_i exp(i w_f.x_i)|^2 (F) and its gradient by w_f (F x d)."""

    value: FloatArray
    gradient: FloatArray


class PotentialSum(RowSum["Moments | None", Potential]):
    """The Fourier potential at many frequencies and its gradient, from one visit of the rows.

    With c + i s = sum_i r_i exp(i w.x_i):  v = c^2 + s^2,  grad v = 2 (c grad c + s grad s),
    where grad c = -sum_i r_i sin(w.x_i) x_i and grad s = sum_i r_i cos(w.x_i) x_i are sums, too.
    """

    def __init__(self, frequencies: FloatArray, coefficients: Coefficients) -> None:
        self.waves = Projection(Dense(frequencies), "pair")
        self.coefficients = coefficients

    def start(self) -> Moments | None:
        return None

    def update(self, state: Moments | None, block: Block) -> Moments | None:
        r = weigh(self.coefficients(block), block)
        return self.merge(state, ops.moments(block.X, self.waves, r))

    def merge(self, a: Moments | None, b: Moments | None) -> Moments | None:
        if a is None or b is None:
            return b if a is None else a
        return a[0] + b[0], a[1] + b[1]

    def finalise(self, state: Moments | None) -> Potential:
        if state is None:
            raise ValueError("the source holds no rows; give at least one.")
        sums, products = state
        c, s = sums[0::2], sums[1::2]
        gradient = 2.0 * (s[:, None] * products[0::2] - c[:, None] * products[1::2])
        return Potential(c**2 + s**2, gradient)


def weigh(R: FloatArray, block: Block) -> FloatArray:
    """Row coefficients times the weights of the rows."""
    if block.weight is None:
        return R
    return R * (block.weight if R.ndim == 1 else block.weight[:, None])


def targets(block: Block) -> FloatArray:
    """The targets themselves as row coefficients, n x C."""
    if block.y is None:
        raise ValueError("these rows have no targets; give y, or a source with target=...")
    return block.y.reshape(block.n_rows, -1)


def project(
    source: RowSource,
    fm: FeatureMap,
    coefficients: Coefficients = targets,
    *,
    hook: Hook | None = None,
    row_state: RowState | None = None,
) -> FloatArray:
    """sum_i w_i phi_m(x_i) R_ic over all rows, M x C."""
    return source.reduce(ProjectSum(fm, coefficients), hook=hook, row_state=row_state)


def gram(
    source: RowSource,
    fm: FeatureMap,
    coefficients: Coefficients | None = None,
    *,
    derivative: bool = False,
    hook: Hook | None = None,
    row_state: RowState | None = None,
) -> FloatArray:
    """sum_i w_i c_i phi_m(x_i) phi_l(x_i) over all rows, M x M."""
    row_sum = GramSum(fm, coefficients, derivative)
    return source.reduce(row_sum, hook=hook, row_state=row_state)


def pull(
    source: RowSource,
    fm: FeatureMap,
    coefficients: Coefficients,
    T: FloatArray,
    *,
    hook: Hook | None = None,
    row_state: RowState | None = None,
) -> dict[str, FloatArray]:
    """sum_i w_i (R T')_im d phi_m(x_i) / d atom_m over all rows."""
    return source.reduce(PullSum(fm, coefficients, T), hook=hook, row_state=row_state)


def potential(
    source: RowSource,
    frequencies: FloatArray,
    coefficients: Coefficients = targets,
    *,
    hook: Hook | None = None,
    row_state: RowState | None = None,
) -> Potential:
    """|sum_i w_i r_i exp(i w_f.x_i)|^2 over all rows at F frequencies (F x d), and its gradient."""
    row_sum = PotentialSum(frequencies, coefficients)
    return source.reduce(row_sum, hook=hook, row_state=row_state)


def map_rows(source: RowSource, fm: FeatureMap, T: FloatArray) -> Any:
    """phi(x_i) T for every row, in the shape that the source gives its outputs."""
    dtype = np.result_type(source.schema.dtype)
    return source.map(_MapRows(fm, T), dtype=dtype, width=T.shape[1])


def features(source: RowSource, fm: FeatureMap, *, sparse: bool = False) -> Any:
    """phi(x_i) for every row, in the shape that the source gives its outputs.

    With ``sparse`` the blocks of columns of sparse rows are CSR: not for a source that joins them.
    """
    return source.map(_Features(fm, sparse), dtype=source.schema.dtype, width=fm.n_features)


class _MapRows:
    def __init__(self, fm: FeatureMap, T: FloatArray) -> None:
        self.fm, self.T = fm, T

    def __call__(self, block: Block) -> FloatArray:
        return self.fm.map_rows(block.X, self.T)


class _Features:
    def __init__(self, fm: FeatureMap, sparse: bool) -> None:
        self.fm, self.sparse = fm, sparse

    def __call__(self, block: Block) -> Any:
        Z = self.fm.sparse(block.X) if self.sparse else None
        return self.fm(block.X) if Z is None else Z
