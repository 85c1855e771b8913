"""pull: sums over rows of the gradient of features with respect to their atoms.

The derivative of an activation is an activation again, so a tile costs one product for the forms,
one sweep, and one product back to the columns of X. The definition is ``reference.pull``.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from . import checks, linear, pool
from .column_set import AnyColumns, ColumnSet
from .projection import DIFFERENTIABLE, FloatArray, Projection
from .tasks import Worker, tasks
from .tiles import FormTile, Rows, height
from .weights import DenseWeights


def is_differentiable(p: AnyColumns) -> bool:
    """Can `pull` move the atoms of these columns?"""
    return p.differentiable if isinstance(p, ColumnSet) else p.activation in DIFFERENTIABLE


@overload
def derivative(p: Projection) -> Projection: ...
@overload
def derivative(p: ColumnSet) -> ColumnSet: ...
def derivative(p: AnyColumns) -> AnyColumns:
    """d phi / dz as a projection itself: cos' z = cos(z + pi/2), and the same turn for a pair."""
    if isinstance(p, ColumnSet):
        return p.slope()
    checks.differentiable(p)
    if p.activation in ("cos", "pair"):
        offsets = np.zeros(p.n_forms) if p.offsets is None else np.asarray(p.offsets, np.float64)
        return Projection(p.operator, p.activation, p.scale, offsets + np.pi / 2)
    if p.activation == "relu":
        return Projection(p.operator, "step", p.scale, p.offsets)
    return Projection(p.operator, "relu", 2.0 * p.scale, p.offsets)


def pull(
    X: Any,
    p: AnyColumns,
    R: FloatArray,
    T: FloatArray,
    *,
    out: dict[str, FloatArray] | None = None,
    threads: int | None = None,
) -> dict[str, FloatArray]:
    """sum_i (R T')_im d phi_m(x_i) / d atom_m: ``{"frequencies": F x d, "offsets": F}``."""
    rows = checks.rows_of(X, p)
    R = checks.thin(R, "R", rows.n, "row of X")
    T = checks.thin(T, "T", p.n_columns, "column of the features")
    checks.same_width(R, T)
    if isinstance(p, ColumnSet):
        return _pull_set(p, rows, R, T, out, threads)
    checks.differentiable(p)
    given = out or {}
    frequencies = checks.total(given.get("frequencies"), (p.n_forms, p.n_inputs))
    offsets = checks.total(given.get("offsets"), (p.n_forms,))
    if p.activation == "identity":
        linear.pull(rows, p, R, T, frequencies, offsets, threads)
    else:
        _pull_tiles(
            rows, derivative(p), R, np.asarray(T, np.float64), frequencies, offsets, threads
        )
    result = given if out is not None else {}
    result.update(frequencies=frequencies, offsets=offsets)
    return result


def _pull_set(
    p: ColumnSet,
    rows: Rows,
    R: FloatArray,
    T: FloatArray,
    out: dict[str, FloatArray] | None,
    threads: int | None,
) -> dict[str, FloatArray]:
    found = p.pull(rows, R, T, threads)
    if out is None:
        return found
    for name, part in found.items():
        checks.total(out.setdefault(name, np.zeros(part.shape)), part.shape)
        out[name] += part
    return out


def _pull_tiles(
    rows: Rows,
    slope: Projection,
    R: FloatArray,
    T: FloatArray,
    frequencies: FloatArray,
    offsets: FloatArray,
    threads: int | None,
) -> None:
    if R.shape[1] == 1 and slope.activation == "pair":
        slope, T = _as_cosines(slope, T[:, 0])
    by_form = slope.scale * T.reshape(slope.n_forms, T.size // max(1, slope.n_forms))
    todo = tasks(rows, slope, frequencies.nbytes)
    alone = len({chunk.start for _, chunk in todo}) <= 1  # then no two tasks share a frequency

    def task(item: tuple[FormTile, slice]) -> tuple[FloatArray | None, FloatArray]:
        tile, chunk = item
        at = tile.positions
        here = alone and not rows.sparse and isinstance(at, slice)
        in_place = (frequencies, at.start) if here and isinstance(at, slice) else None
        pulled = Pulled(rows, tile.width, in_place)
        worker = Worker(rows, slope, tile, tall=height(rows))
        sweep = _pull_one if R.shape[1] == 1 else _pull
        summed = sweep(worker, R, by_form, chunk, pulled)
        return None if here else pulled.result(), summed

    for (tile, _), (part, summed) in zip(todo, pool.run(task, todo, threads), strict=True):
        offsets[tile.positions] += summed
        if part is not None:
            frequencies[tile.positions] += part


def _as_cosines(p: Projection, t: FloatArray) -> tuple[Projection, FloatArray]:
    """One column of T on a pair: t_c cos z + t_s sin z = |t| cos(z - angle(t))."""
    assert p.offsets is not None
    along, across = t[0::2], t[1::2]
    turned = Projection(p.operator, "cos", p.scale, p.offsets - np.arctan2(across, along))
    return turned, np.hypot(along, across)[:, None]


def _pull_one(
    worker: Worker, R: FloatArray, T: FloatArray, chunk: slice, pulled: Pulled
) -> FloatArray:
    """One column of coefficients: the slopes are weighted and summed in one sweep.

    Dense rows stay in compiled code from the first product to the last sum, as in `project`.
    """
    dtype, width = worker.rows.dtype, worker.tile.width
    t, summed = T[worker.tile.positions, 0].astype(dtype), np.zeros(width)
    if isinstance(worker.weights, DenseWeights) and not worker.rows.sparse:
        Wt, b = worker.weights.Wt, worker.weights.offsets
        Z, into = worker.buffer.tile(worker.step, width), (pulled.product, pulled.total, pulled.row)
        for at, X in worker.rows.contiguous(chunk, worker.step):
            r = R[at, 0].astype(dtype)
            worker.kernels.pull_dense(worker.kind, X, Wt, b, r, t, Z, *into, summed)
        return summed
    acc = np.empty(width, dtype)
    for at, Z in worker.forms(chunk):
        acc[:] = 0
        r = R[at, 0].astype(dtype)
        worker.kernels.pull_one(worker.kind, Z, worker.weights.offsets, r, t, acc)
        summed += acc
        pulled.add(at, Z)
    return summed


def _pull(worker: Worker, R: FloatArray, T: FloatArray, chunk: slice, pulled: Pulled) -> FloatArray:
    """Any number of columns; the two columns of a pair share one frequency."""
    dtype, width = worker.rows.dtype, worker.tile.width
    t = T[worker.tile.positions].reshape(width * worker.k, -1).T.astype(dtype)
    summed = np.zeros(width)
    for at, phi in worker.columns(chunk):
        phi *= R[at].astype(dtype) @ t
        S = phi if worker.k == 1 else phi[:, 0::2] + phi[:, 1::2]
        summed += S.sum(axis=0)
        pulled.add(at, S)
    return summed


class Pulled:
    """The sum of S' X over tiles of rows, in float64; in place where no other task adds there."""

    def __init__(self, rows: Rows, width: int, in_place: tuple[FloatArray, int] | None) -> None:
        from . import kernels

        self.kernels, self.rows = kernels, rows
        d = rows.n_inputs
        fresh = (d, width) if rows.sparse else (width, d)
        self.total: FloatArray
        self.total, self.row = in_place or (np.zeros(fresh), 0)
        self.product = np.empty((0, 0) if rows.sparse else (width, d), rows.dtype)

    def add(self, at: slice, S: FloatArray) -> None:
        """Add the tile of these rows."""
        if self.rows.sparse:
            self.kernels.sparse_pull(*self.rows.csr(), at.start, S, self.total)
            return
        np.matmul(S.T, self.rows.dense(at), out=self.product)
        self.kernels.add_at(self.total, self.row, 0, self.product)

    def result(self) -> FloatArray:
        """The sum, width x d, where it was not made in place."""
        return self.total.T if self.rows.sparse else self.total
