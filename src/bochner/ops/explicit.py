"""Columns evaluated by a formula of their own: Taylor terms, spherical harmonics.

A newcomer supplies ``fill`` and gets every sum over rows, in tiles that stay in cache.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from . import pool
from .column_set import ColumnSet
from .projection import FloatArray
from .tasks import PARTIAL_BYTES
from .tiles import TASKS, Buffer, Rows, cut, row_chunks, tile_rows


class Explicit(ColumnSet):
    """Columns phi_m(x) = scale * f_m(x), f_m by ``fill``."""

    #: Columns evaluated together; more where they share much of the work.
    tile_columns: ClassVar[int] = 256

    @property
    @abstractmethod
    def scale(self) -> float:
        """What every column is multiplied by."""

    @abstractmethod
    def fill(self, X: Any, columns: slice, out: FloatArray) -> None:
        """out[i, j] = f_m(x_i) for the j-th of ``columns``: without ``scale``.

        X is some rows, C-ordered in the dtype of ``out``, or CSR of it.
        """

    def define(self, X: FloatArray) -> FloatArray:
        out = np.empty((len(X), self.n_columns))
        self.fill(np.ascontiguousarray(X, dtype=np.float64), slice(0, self.n_columns), out)
        return self.scale * out

    def write(self, rows: Rows, scale: FloatArray, out: FloatArray, threads: int | None) -> None:
        factor = (self.scale * scale).astype(rows.dtype)

        def task(item: tuple[slice, slice]) -> None:
            columns, chunk = item
            for at, phi in self._tiles(rows, columns, chunk):
                np.multiply(phi, factor[columns], out=out[at, columns])

        pool.run(task, self._tasks(rows, 0), threads)

    def project(self, rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
        out = np.zeros((self.n_columns, R.shape[1]))

        def task(item: tuple[slice, slice]) -> FloatArray:
            columns, chunk = item
            part = np.zeros((columns.stop - columns.start, R.shape[1]))
            for at, phi in self._tiles(rows, columns, chunk):
                part += phi.T @ R[at].astype(rows.dtype)
            return part

        todo = self._tasks(rows, out.nbytes)
        for (columns, _), part in zip(todo, pool.run(task, todo, threads), strict=True):
            out[columns] += self.scale * part
        return out

    def map_rows(self, rows: Rows, T: FloatArray, threads: int | None) -> FloatArray:
        out = np.zeros((rows.n, T.shape[1]))
        scaled = (self.scale * T).astype(rows.dtype)

        def task(chunk: slice) -> None:
            for columns in self._columns():
                for at, phi in self._tiles(rows, columns, chunk):
                    out[at] += phi @ scaled[columns]

        pool.run(task, row_chunks(rows.n, TASKS, 256), threads)
        return out

    def _columns(self) -> list[slice]:
        return cut(0, self.n_columns, self.tile_columns)

    def _tasks(self, rows: Rows, partial_bytes: int) -> list[tuple[slice, slice]]:
        """Tiles of columns x chunks of rows: enough for every thread, small partial results."""
        columns = self._columns()
        most = min(TASKS // max(1, len(columns)), PARTIAL_BYTES // max(1, partial_bytes))
        grain = tile_rows(self.tile_columns, rows.dtype)
        chunks = row_chunks(rows.n, max(1, most), grain)
        return [(tile, chunk) for chunk in chunks for tile in columns]

    def _tiles(
        self, rows: Rows, columns: slice, chunk: slice
    ) -> Iterator[tuple[slice, FloatArray]]:
        width = columns.stop - columns.start
        step = min(tile_rows(width, rows.dtype), max(1, chunk.stop - chunk.start))
        buffer = Buffer(step * width, rows.dtype)
        for at in cut(chunk.start, chunk.stop, step):
            phi = buffer.tile(at.stop - at.start, width)
            X = rows.X[at] if rows.sparse else np.ascontiguousarray(rows.dense(at))
            self.fill(X, columns, phi)
            yield at, phi
