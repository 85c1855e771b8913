"""One task: a tile of forms and a chunk of rows, computed in buffers that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .projection import FloatArray, Projection
from .tiles import TASKS, Buffer, FormTile, Positions, Rows, cut, form_tiles, row_chunks, tile_rows
from .weights import Weights, weights

#: What the partial results of all tasks may take together, unless the result itself is larger.
PARTIAL_BYTES = 16 << 20


def columns_per_form(p: Projection) -> int:
    return 2 if p.activation == "pair" else 1


def column_positions(tile: FormTile, k: int) -> Positions:
    """The columns that a tile of forms makes."""
    at = tile.positions
    if isinstance(at, slice):
        return slice(k * at.start, k * at.stop)
    return np.asarray((k * at[:, None] + np.arange(k)).reshape(-1))


class Worker:
    """The tiles of one task: forms and activations of a chunk of rows, without ``scale``."""

    def __init__(
        self,
        rows: Rows,
        p: Projection,
        tile: FormTile,
        most_rows: int | None = None,
        tall: int = 1,
    ) -> None:
        from . import kernels

        self.kernels, self.kind = kernels, kernels.KINDS[p.activation]
        self.rows, self.tile, self.k = rows, tile, columns_per_form(p)
        self.weights: Weights = weights(p, tile, rows)
        self.positions = column_positions(tile, self.k)
        most = max(1, min(rows.n, most_rows or rows.n))
        self.step = min(tile_rows(tile.width * self.k, rows.dtype, tall), most)
        self.buffer = Buffer(self.step * tile.width, rows.dtype)
        self.pairs = Buffer(self.step * tile.width * 2 if self.k == 2 else 0, rows.dtype)

    def forms(self, chunk: slice) -> Iterator[tuple[slice, FloatArray]]:
        for rows in cut(chunk.start, chunk.stop, self.step):
            Z = self.buffer.tile(rows.stop - rows.start, self.tile.width)
            self.weights.fill(rows, Z)
            yield rows, Z

    def columns(self, chunk: slice) -> Iterator[tuple[slice, FloatArray]]:
        for rows, Z in self.forms(chunk):
            if self.k == 1:
                self.kernels.activate(self.kind, Z, self.weights.offsets)
                yield rows, Z
            else:
                phi = self.pairs.tile(len(Z), 2 * self.tile.width)
                self.kernels.activate_pair(Z, self.weights.offsets, phi)
                yield rows, phi


def tasks(rows: Rows, p: Projection, partial_bytes: int) -> list[tuple[FormTile, slice]]:
    """Tiles x chunks: enough for every thread, while the partial results stay small."""
    tiles = form_tiles(p, rows.dtype)
    most = max(1, min(TASKS // max(1, len(tiles)), PARTIAL_BYTES // max(1, partial_bytes)))
    grain = max((tile_rows(t.width * columns_per_form(p), rows.dtype) for t in tiles), default=1)
    chunks = row_chunks(rows.n, most, grain)
    return [(tile, chunk) for chunk in chunks for tile in tiles]
