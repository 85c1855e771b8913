"""features, map_rows and fold: what is computed row by row.

``features`` is the only operation that returns as many numbers as there are rows times features;
``fold`` shows them to a caller piece by piece instead, while they are in cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from . import checks, linear, pool
from .column_set import AnyColumns, ColumnSet
from .projection import FloatArray
from .tasks import Worker, tasks
from .tiles import TASKS, FormTile, Rows, cut, form_tiles, row_chunks

Partial = TypeVar("Partial")
#: Writes the features of some rows into a buffer and returns the part it wrote.
Fill: TypeAlias = Callable[[slice, FloatArray], FloatArray]


def features(
    X: Any,
    p: AnyColumns,
    *,
    column_scale: FloatArray | None = None,
    out: FloatArray | None = None,
    threads: int | None = None,
) -> FloatArray:
    """phi_m(x_i), times ``column_scale_m`` when given: n x M in X's dtype, written to ``out``."""
    rows = checks.rows_of(X, p)
    scale = _column_scale(column_scale, p).astype(rows.dtype)
    out = checks.written(out, (rows.n, p.n_columns), rows.dtype)
    if isinstance(p, ColumnSet):
        p.write(rows, scale, out, threads)
        return out

    def task(item: tuple[FormTile, slice]) -> None:
        tile, chunk = item
        worker = Worker(rows, p, tile)
        for at, phi in worker.columns(chunk):
            _store(out[at], worker.positions, phi, scale)

    pool.run(task, tasks(rows, p, 0), threads)
    return out


def _column_scale(column_scale: FloatArray | None, p: AnyColumns) -> FloatArray:
    """What the values of columns are multiplied by; a `ColumnSet` knows its own scale."""
    own = 1.0 if isinstance(p, ColumnSet) else p.scale
    if column_scale is None:
        return np.full(p.n_columns, own)
    given = np.asarray(column_scale, np.float64)
    if given.shape != (p.n_columns,):
        raise ValueError(
            f"column_scale has shape {given.shape}, expected ({p.n_columns},): one per feature"
        )
    return own * given


def _store(out: FloatArray, positions: Any, phi: FloatArray, scale: FloatArray) -> None:
    """out[:, positions] = phi * scale[positions], without a copy when positions are a slice."""
    if isinstance(positions, slice):
        np.multiply(phi, scale[positions], out=out[:, positions])
    else:
        out[:, positions] = phi * scale[positions]


def map_rows(X: Any, p: AnyColumns, T: FloatArray, *, threads: int | None = None) -> FloatArray:
    """phi(x_i) T, an n x C array in X's dtype."""
    rows = checks.rows_of(X, p)
    T = checks.thin(T, "T", p.n_columns, "column of the features").astype(np.float64)
    if isinstance(p, ColumnSet):
        return p.map_rows(rows, T, threads).astype(rows.dtype)
    if p.activation == "identity" and (V := linear.back(p, T)) is not None:
        return linear.map_rows(rows, p, V, T, threads)
    scaled = (p.scale * T).astype(rows.dtype)
    out = np.empty((rows.n, T.shape[1]), rows.dtype)
    tiles = form_tiles(p, rows.dtype)

    def task(chunk: slice) -> None:
        total = np.zeros((chunk.stop - chunk.start, T.shape[1]))
        for tile in tiles:
            worker = Worker(rows, p, tile)
            t = scaled[worker.positions]
            for at, phi in worker.columns(chunk):
                total[at.start - chunk.start : at.stop - chunk.start] += phi @ t
        out[chunk] = total

    pool.run(task, row_chunks(rows.n, max(TASKS // 4, -(-rows.n // 4096)), 256), threads)
    return out


def fold(
    X: Any,
    p: AnyColumns,
    visit: Callable[[FloatArray, slice], Partial],
    merge: Callable[[Partial, Partial], Partial],
    *,
    column_scale: FloatArray | None = None,
    threads: int | None = None,
    chunk_bytes: int = 1 << 20,
) -> Partial:
    """visit(features of some rows, which rows), merged in the order of the rows.

    ``visit`` runs on the pool and sees a buffer that the next visit overwrites (or, where the
    features are the rows themselves, a view of X): it must not keep or change it.
    """
    rows = checks.rows_of(X, p)
    plain = column_scale is None and linear.is_plain(rows, p)
    fill = _filler(rows, p, _column_scale(column_scale, p).astype(rows.dtype))
    step = max(16, chunk_bytes // max(1, p.n_columns * rows.dtype.itemsize) // 16 * 16)

    def task(group: slice) -> Partial:
        fill_here = None if plain else fill(step)
        buffer = np.empty((0 if plain else min(step, rows.n), p.n_columns), rows.dtype)
        total: list[Partial] = []
        for at in cut(group.start, group.stop, step) or [group]:
            phi = rows.dense(at) if fill_here is None else fill_here(at, buffer)
            part = visit(phi, at)
            total = [merge(total[0], part) if total else part]
        return total[0]

    groups = row_chunks(rows.n, TASKS, step) or [slice(0, 0)]
    first, *others = pool.run(task, groups, threads)
    for other in others:
        first = merge(first, other)
    return first


def _filler(rows: Rows, p: AnyColumns, scale: FloatArray) -> Callable[[int], Fill]:
    """Makes, for a task with steps of so many rows, what writes features into its buffer."""

    def of_set(step: int) -> Fill:
        def fill(at: slice, buffer: FloatArray) -> FloatArray:
            phi = buffer[: at.stop - at.start]
            features(rows.X[at], p, column_scale=scale, out=phi, threads=1)
            return phi

        return fill

    def of_projection(step: int) -> Fill:
        assert not isinstance(p, ColumnSet)
        workers = [Worker(rows, p, tile, step) for tile in form_tiles(p, rows.dtype)]
        return lambda at, buffer: _fill(buffer, workers, at, scale)

    return of_set if isinstance(p, ColumnSet) else of_projection


def _fill(buffer: FloatArray, workers: list[Worker], rows: slice, scale: FloatArray) -> FloatArray:
    """The features of these rows, in the buffer."""
    for worker in workers:
        for at, phi in worker.columns(rows):
            here = buffer[at.start - rows.start : at.stop - rows.start]
            _store(here, worker.positions, phi, scale)
    return buffer[: rows.stop - rows.start]
