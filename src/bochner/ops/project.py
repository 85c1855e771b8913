"""project: sums over rows of features times a thin matrix.

A task multiplies X by its tile of weights into a buffer that stays in cache, applies activation and
reduction in one sweep over it, and adds to float64. The definition is ``reference.project``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import checks, linear, pool
from .column_set import AnyColumns, ColumnSet
from .projection import FloatArray, Projection
from .tasks import Worker, columns_per_form, tasks
from .tiles import FormTile, Rows, height
from .weights import DenseWeights


def project(
    X: Any,
    p: AnyColumns,
    R: FloatArray,
    *,
    out: FloatArray | None = None,
    threads: int | None = None,
) -> FloatArray:
    """sum_i phi_m(x_i) R_ic, an M x C float64 array; added to ``out`` when that is given."""
    rows = checks.rows_of(X, p)
    R = checks.thin(R, "R", rows.n, "row of X")
    out = checks.total(out, (p.n_columns, R.shape[1]))
    if isinstance(p, ColumnSet):
        out += p.project(rows, R, threads)
        return out
    if p.activation == "identity":
        return linear.project(rows, p, R, out, threads)
    todo = tasks(rows, p, out.nbytes)
    one = R.shape[1] == 1
    parts = pool.run(
        lambda task: (_project_one if one else _project)(rows, p, R, *task), todo, threads
    )
    by_form = out.reshape(p.n_forms, columns_per_form(p), R.shape[1])
    for (tile, _), part in zip(todo, parts, strict=True):
        by_form[tile.positions] += p.scale * part
    return out


def _project_one(
    rows: Rows, p: Projection, R: FloatArray, tile: FormTile, chunk: slice
) -> FloatArray:
    """One column of coefficients: activation and sum in one sweep over the tile.

    Dense rows stay in compiled code from the product on: on two threads the Python between tiles
    took a fifth of the time.
    """
    worker = Worker(rows, p, tile, tall=height(rows))
    part = np.zeros((worker.k, tile.width))
    if isinstance(worker.weights, DenseWeights) and not rows.sparse:
        Wt, b = worker.weights.Wt, worker.weights.offsets
        Z = worker.buffer.tile(worker.step, tile.width)
        for at, X in rows.contiguous(chunk, worker.step):
            r = R[at, 0].astype(rows.dtype)
            worker.kernels.project_dense(worker.kind, X, Wt, b, r, Z, part)
        return part.T[:, :, None]
    acc = np.empty_like(part, dtype=rows.dtype)
    for at, Z in worker.forms(chunk):
        acc[:] = 0
        r = R[at, 0].astype(rows.dtype)
        worker.kernels.project_one(worker.kind, Z, worker.weights.offsets, r, acc)
        part += acc
    return part.T[:, :, None]


def _project(rows: Rows, p: Projection, R: FloatArray, tile: FormTile, chunk: slice) -> FloatArray:
    """Any number of columns: activation, then a product, in compiled code where rows are dense."""
    worker = Worker(rows, p, tile)
    part = np.zeros((tile.width * worker.k, R.shape[1]))
    if isinstance(worker.weights, DenseWeights) and not rows.sparse:
        Wt, b = worker.weights.Wt, worker.weights.offsets
        Z = worker.buffer.tile(worker.step, tile.width)
        phi = worker.pairs.tile(worker.step if worker.k == 2 else 0, 2 * tile.width)
        for at, X in rows.contiguous(chunk, worker.step):
            r = np.ascontiguousarray(R[at], dtype=rows.dtype)
            worker.kernels.project_dense_many(worker.kind, X, Wt, b, r, Z, phi, part)
    else:
        for at, phi in worker.columns(chunk):
            part += phi.T @ R[at].astype(rows.dtype)
    return part.reshape(tile.width, worker.k, R.shape[1])
