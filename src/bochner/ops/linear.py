"""Identity features are linear in the row, so their sums are sums of the rows themselves:

    sum_i (W x_i + b) R_i'  =  W (X'R) + b (sum_i R_i)'

and no tile of features is needed; sparse rows stay sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import checks, pool
from .column_set import AnyColumns, ColumnSet
from .projection import Columns, FloatArray, Projection
from .tiles import TASKS, TILE_ROWS, Rows, cut, row_chunks


def is_plain(rows: Rows, p: AnyColumns) -> bool:
    """Whether the features are the rows themselves: dense, all columns in order, unscaled."""
    if isinstance(p, ColumnSet):
        return False
    op = p.operator
    return (
        p.activation == "identity"
        and not rows.sparse
        and isinstance(op, Columns)
        and p.offsets is None
        and p.scale == 1.0
        and bool(np.array_equal(op.index, np.arange(op.n_inputs)))
    )


def sparse_columns(X: Any, p: AnyColumns, column_scale: FloatArray) -> Any:
    """phi_m(x_i) ``column_scale_m`` as CSR where features are columns of sparse rows, else None."""
    rows = checks.rows_of(X, p)
    if isinstance(p, ColumnSet) or not rows.sparse or p.activation != "identity":
        return None
    if not isinstance(p.operator, Columns) or p.offsets is not None:
        return None
    Z = rows.X[:, p.operator.index]
    scale = (p.scale * column_scale).astype(rows.dtype)
    Z.data = Z.data * scale[Z.indices]
    return Z


def rows_times(rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
    """X' R, d x C in float64."""
    partial_bytes = max(1, 8 * rows.n_inputs * R.shape[1])
    most = max(1, min(TASKS, (16 << 20) // partial_bytes))

    def task(chunk: slice) -> FloatArray:
        if rows.sparse:
            return np.asarray(rows.X[chunk].T @ R[chunk].astype(np.float64))
        total = np.zeros((rows.n_inputs, R.shape[1]))
        for at in cut(chunk.start, chunk.stop, TILE_ROWS):
            total += rows.dense(at).T @ R[at].astype(rows.dtype)
        return total

    parts = pool.run(task, row_chunks(rows.n, most, TILE_ROWS), threads)
    return sum(parts, np.zeros((rows.n_inputs, R.shape[1])))


def apply(p: Projection, V: FloatArray) -> FloatArray:
    """W V, F x C: the forms of the rows of V'."""
    from .rowwise import features

    forms = Projection(p.operator, "identity")
    return features(np.ascontiguousarray(V.T), forms, threads=1).T


def project(
    rows: Rows, p: Projection, R: FloatArray, out: FloatArray, threads: int | None
) -> FloatArray:
    out += p.scale * apply(p, rows_times(rows, R, threads))
    if p.offsets is not None:
        out += p.scale * np.outer(p.offsets, R.sum(axis=0, dtype=np.float64))
    return out


def pull(
    rows: Rows,
    p: Projection,
    R: FloatArray,
    T: FloatArray,
    frequencies: FloatArray,
    offsets: FloatArray,
    threads: int | None,
) -> None:
    """The derivative is ``scale`` everywhere: T (X'R)' and T (sum_i R_i)."""
    T = p.scale * np.asarray(T, np.float64)
    frequencies += T @ rows_times(rows, R, threads).T
    offsets += T @ R.sum(axis=0, dtype=np.float64)


def back(p: Projection, T: FloatArray) -> FloatArray | None:
    """W' T, d x C; None for an operator that has no cheap transpose."""
    match p.operator:
        case Columns(n_inputs=d, index=index):
            V = np.zeros((d, T.shape[1]))
            np.add.at(V, index, T)
            return V
        case _ if hasattr(p.operator, "matrix"):
            return np.asarray(p.operator.matrix.T @ T)
    return None


def _few_columns(rows: Rows, p: Projection, T: FloatArray) -> Any:
    """The columns of X that are in use, where taking them out costs less than zeros for others."""
    op = p.operator
    if rows.sparse or not isinstance(op, Columns) or T.shape[1] < 4:
        return None
    return op.index if 2 * len(op.index) <= op.n_inputs else None


def map_rows(
    rows: Rows, p: Projection, V: FloatArray, T: FloatArray, threads: int | None
) -> FloatArray:
    """X (W' T) + b' T, where V = W' T; n x C in X's dtype."""
    out = np.empty((rows.n, T.shape[1]), rows.dtype)
    V = (p.scale * V).astype(rows.dtype)
    shift = np.zeros(T.shape[1]) if p.offsets is None else p.scale * (p.offsets @ T)
    few = _few_columns(rows, p, T)
    if few is not None:
        V = (p.scale * T).astype(rows.dtype)

    def task(chunk: slice) -> None:
        tile = rows.X[chunk] if rows.sparse else rows.dense(chunk)
        out[chunk] = (tile if few is None else tile.take(few, axis=1)) @ V + shift

    pool.run(task, row_chunks(rows.n, TASKS, 256), threads)
    return out
