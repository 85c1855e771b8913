"""Groups of columns added up to one column each: one learned similarity per landmark.

phi_l(x) = sum_k mix_lk base_{l K + k}(x)        l = 1 .. L, K columns of the base in a group
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import pool
from .column_set import ColumnSet
from .projection import Dense, FloatArray, Projection
from .tasks import Worker, column_positions, columns_per_form
from .tiles import TASKS, FormTile, Rows, cut, form_tiles, height, row_chunks


@dataclass(frozen=True, eq=False)
class Mixed(ColumnSet):
    """L columns, each the sum of K columns of ``base`` (L K of them) with weights ``mix``, L x K.

    The n x L K matrix is never made: a tile of base columns is added up while it is in cache.
    """

    base: Projection
    mix: FloatArray
    label: str = "landmark"

    @property
    def n_inputs(self) -> int:
        return self.base.n_inputs

    @property
    def n_columns(self) -> int:
        return int(self.mix.shape[0])

    @property
    def atoms(self) -> Mapping[str, FloatArray]:
        """Those of the base, and the weights they are mixed with."""
        return {**self.base.atoms, "mix": self.mix}

    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.label}{column}" for column in range(self.n_columns))

    def take(self, columns: NDArray[np.intp]) -> Mixed:
        columns, K = np.asarray(columns, dtype=np.intp), self.mix.shape[1]
        inner = (columns[:, None] * K + np.arange(K)).reshape(-1)
        return Mixed(self.base.take(inner), self.mix[columns], self.label)

    def scaled(self, factor: float) -> Mixed:
        return Mixed(self.base, factor * self.mix, self.label)

    def define(self, X: FloatArray) -> FloatArray:
        from . import reference

        phi = reference.features(X, self.base).reshape(len(X), *self.mix.shape)
        return np.einsum("nlk,lk->nl", phi, self.mix)

    def write(self, rows: Rows, scale: FloatArray, out: FloatArray, threads: int | None) -> None:
        mix = (self.base.scale * scale[:, None] * self.mix).reshape(-1)
        K, tall = self.mix.shape[1], height(rows)
        spans = _spans(self.base, K, rows.dtype)

        def task(item: tuple[list[FormTile], slice]) -> None:
            tiles, chunk = item
            blocks = [_block(self.base, tile, mix, K, rows.dtype) for tile in tiles]
            begin = min(first for first, _ in blocks)
            end = max(first + block.shape[1] for first, block in blocks)
            total = np.zeros((chunk.stop - chunk.start, end - begin))
            for tile, (first, block) in zip(tiles, blocks, strict=True):
                columns = slice(first - begin, first - begin + block.shape[1])
                for at, phi in Worker(rows, self.base, tile, tall=tall).columns(chunk):
                    total[at.start - chunk.start : at.stop - chunk.start, columns] += phi @ block
            out[chunk, begin:end] = total

        grain = 256 * tall
        step = max(grain, (16 << 20) * len(spans) // (8 * max(1, self.n_columns)))
        chunks = max(-(-TASKS // (4 * len(spans))), -(-rows.n // step))  # totals stay small
        todo = [(span, at) for at in row_chunks(rows.n, chunks, grain) for span in spans]
        pool.run(task, todo, threads)

    def project(self, rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
        from .project import project

        sums = project(rows.X, self.base, R, threads=threads)
        return np.einsum("lkc,lk->lc", sums.reshape(*self.mix.shape, R.shape[1]), self.mix)

    def map_rows(self, rows: Rows, T: FloatArray, threads: int | None) -> FloatArray:
        from .rowwise import map_rows

        return map_rows(rows.X, self.base, self._spread(T), threads=threads).astype(np.float64)

    @property
    def differentiable(self) -> bool:
        from .pull import is_differentiable

        return is_differentiable(self.base)

    def pull(
        self, rows: Rows, R: FloatArray, T: FloatArray, threads: int | None
    ) -> dict[str, FloatArray]:
        """With respect to the atoms of the base and to how they are mixed."""
        from .project import project
        from .pull import pull

        found = pull(rows.X, self.base, R, self._spread(T), threads=threads)
        sums = project(rows.X, self.base, R, threads=threads)
        by_group = sums.reshape(*self.mix.shape, R.shape[1])
        mixed = np.einsum("lkc,lc->lk", by_group, np.asarray(T, np.float64))
        found["mix"] = np.ascontiguousarray(mixed)  # further rows may be added to it
        return {name: found[name] for name in self.atoms}

    def _spread(self, T: FloatArray) -> FloatArray:
        """The coefficients of the base's columns behind those of the mixed ones."""
        T = np.asarray(T, np.float64)
        return np.asarray((self.mix[:, :, None] * T[:, None, :]).reshape(-1, T.shape[1]))


def _spans(base: Projection, K: int, dtype: np.dtype[np.generic]) -> list[list[FormTile]]:
    """Tiles that make up whole groups of K forms, for tasks that share no column of the result.

    Forms of a matrix are cut between groups; a structured draw orders its forms by blocks, and
    groups larger than a tile run over several: there, all tiles are one span.
    """
    tiles = form_tiles(base, dtype)
    widest = max((tile.width for tile in tiles), default=0)
    if not isinstance(base.operator, Dense) or base.activation == "pair" or widest < K:
        return [tiles]
    width = widest // K * K
    return [[FormTile(at, at.stop - at.start)] for at in cut(0, base.n_forms, width)]


def _block(
    base: Projection, tile: FormTile, mix: FloatArray, K: int, dtype: np.dtype[np.generic]
) -> tuple[int, FloatArray]:
    """The first group that these forms belong to, and their part of the mixing."""
    columns = np.arange(base.n_columns)[column_positions(tile, columns_per_form(base))]
    groups = columns // K
    first = int(groups.min())
    block = np.zeros((len(columns), int(groups.max()) - first + 1), dtype)
    block[np.arange(len(columns)), groups - first] = mix[columns]
    return first, block
