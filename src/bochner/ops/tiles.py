"""How the rows-by-forms matrix is cut: row chunks, tiles of forms, and how a tile is computed.

The matrix only ever exists as tiles of about a megabyte, one per thread, that stay in its cache.
The cut depends on shapes alone, never on the number of threads, so neither do the sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .projection import Dense, FloatArray, Projection, Structured

TILE_BYTES = 1 << 20
#: Forms in a tile, when the columns of the data leave room for it.
TILE_FORMS = 512
#: With so many columns in X the products outweigh the sweep, so a tile may leave the nearest cache;
#: a high one packs the weights less often, and adds fewer products of `pull` in float64.
WIDE, TALL = 256, 4
#: Rows summed in the data's own dtype before they are added to float64.
TILE_ROWS = 1024
#: A tile's weights (inputs x forms) are copied, scaled; they should not swamp the cache.
WEIGHT_BYTES = 4 << 20
#: Tasks that a sum is cut into: enough to balance the load, few enough to merge for nothing.
TASKS = 64

Positions = slice | NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """A block of rows, dense or CSR, read tile by tile in the dtype of the computation."""

    X: Any
    dtype: np.dtype[Any]
    sparse: bool

    @classmethod
    def of(cls, X: Any) -> Rows:
        is_sparse = bool(sparse.issparse(X))
        if is_sparse and X.format != "csr":
            X = X.tocsr()
        elif not is_sparse:
            X = np.asarray(X)
        single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        dtype = np.dtype(np.float32 if single else np.float64)
        if is_sparse and X.dtype != dtype:
            X = X.astype(dtype)
        return cls(X, dtype, is_sparse)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_inputs(self) -> int:
        return int(self.X.shape[1])

    def dense(self, rows: slice) -> FloatArray:
        """These rows as an array that BLAS takes as it is: a view wherever possible."""
        if self.sparse:
            return np.asarray(self.X[rows].toarray(), dtype=self.dtype)
        tile = np.asarray(self.X[rows], dtype=self.dtype)
        if tile.flags.aligned and unit_stride(tile):
            return tile
        return np.ascontiguousarray(tile)

    def contiguous(self, rows: slice, step: int) -> Iterator[tuple[slice, FloatArray]]:
        """These rows in C order: all at once where they lie so, else copied step by step."""
        X = self.X[rows]
        if X.dtype == self.dtype and X.flags.c_contiguous and X.flags.aligned:
            yield rows, np.asarray(X)
            return
        for at in cut(rows.start, rows.stop, step):
            yield at, np.ascontiguousarray(self.X[at], dtype=self.dtype)

    def csr(self) -> tuple[FloatArray, Any, Any]:
        return self.X.data, self.X.indices, self.X.indptr


def unit_stride(tile: FloatArray) -> bool:
    """Whether one axis is contiguous and the other does not overlap it (as in C and F order)."""
    size = tile.itemsize
    (a, b), (n, d) = tile.strides, tile.shape
    row_major = b == size and a >= d * size and a % size == 0
    return bool(row_major or (a == size and b >= n * size and b % size == 0))


@dataclass(frozen=True)
class FormTile:
    """Some forms of a projection: which ones, and (structured) the blocks they come from."""

    positions: Positions
    width: int
    blocks: slice | None = None


def form_tiles(p: Projection, dtype: np.dtype[Any]) -> list[FormTile]:
    """All forms, cut into tiles; a structured draw is cut between blocks."""
    if isinstance(p.operator, Structured):
        return list(_structured_tiles(p.operator))
    width = TILE_FORMS
    if isinstance(p.operator, Dense):
        fits = WEIGHT_BYTES // (max(1, p.n_inputs) * dtype.itemsize)
        width = int(np.clip(fits // 32 * 32, 32, TILE_FORMS))
    starts = range(0, p.n_forms, width)
    return [FormTile(slice(a, b := min(a + width, p.n_forms)), b - a) for a in starts]


def kept_forms(operator: Structured) -> NDArray[np.intp]:
    if operator.forms is None:
        return np.arange(operator.radii.shape[0], dtype=np.intp)
    return np.asarray(operator.forms, dtype=np.intp)


def _structured_tiles(operator: Structured) -> Iterator[FormTile]:
    p, n_blocks = operator.padded, operator.signs.shape[0]
    kept = kept_forms(operator)
    order = np.argsort(kept, kind="stable")  # forms of one block together, whatever the order asked
    sorted_forms = kept[order]
    step = max(1, TILE_FORMS // p)
    for first in range(0, n_blocks, step):
        last = min(first + step, n_blocks)
        a, b = np.searchsorted(sorted_forms, [first * p, last * p])
        if a < b:
            positions: Positions = slice(int(a), int(b)) if operator.forms is None else order[a:b]
            yield FormTile(positions, int(b - a), slice(first, last))


def height(rows: Rows) -> int:
    """How many times as high tiles are, by the number of columns of X."""
    return TALL if rows.n_inputs >= WIDE else 1


def tile_rows(width: int, dtype: np.dtype[Any], tall: int = 1) -> int:
    """Rows of a tile with so many columns: a multiple of 16 that fits the tile's budget.

    ``tall`` tiles are that many times as high: where each costs a pass over a wide result.
    """
    fits = TILE_BYTES // (max(1, width) * dtype.itemsize)
    return tall * int(np.clip(fits // 16 * 16, 16, TILE_ROWS))


def cut(start: int, stop: int, step: int) -> list[slice]:
    """[start, stop) in slices of ``step``."""
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def row_chunks(n: int, most: int, grain: int) -> list[slice]:
    """[0, n) in at most ``most`` slices, each a whole number of grains (but the last)."""
    grains = -(-n // grain)
    return cut(0, n, max(1, -(-grains // max(1, most))) * grain)


class Buffer:
    """One flat piece of memory, viewed as a contiguous tile of any shape that fits."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self.flat = np.empty(size, dtype)

    def tile(self, n: int, width: int) -> FloatArray:
        return self.flat[: n * width].reshape(n, width)
