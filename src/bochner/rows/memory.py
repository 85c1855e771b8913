"""Rows that are already in memory (or in a memory map): arrays, CSR, frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .block import Array, Block, Frame, is_sparse, working_dtype
from .checks import refuse_inexact, refuse_non_finite
from .files import rows_per_block
from .mapped_file import base_memmap, copied
from .reduce import all_blocks
from .source import BLOCK_BYTES, RowSource, Schema


class MemorySource(RowSource):
    """Rows of an array of any numeric dtype and order, a CSR matrix, a memory map or a `Frame`.

    Nothing is copied as a whole: a block of the wrong dtype or order is converted when its turn
    comes. The arrays given are never written to.
    """

    n_partitions = 1

    def __init__(
        self,
        X: Any,
        y: Array | None = None,
        weight: Array | None = None,
        *,
        names: tuple[str, ...] | None = None,
        kinds: tuple[str, ...] | None = None,
        dtype: Any = None,
        block_bytes: int = BLOCK_BYTES,
        check_finite: bool = False,
    ) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.block_bytes = block_bytes
        self.check_finite = check_finite
        self.mapped_file = base_memmap(X)
        self.reads_ahead = self.mapped_file is not None
        given = np.float64 if isinstance(X, Frame) else X.dtype
        self.schema = Schema(
            n_features=int(X.shape[1]),
            dtype=np.dtype(dtype) if dtype is not None else working_dtype([given]),
            names=names,
            kinds=kinds,
            sparse=is_sparse(X),
            n_targets=None if y is None else (0 if y.ndim == 1 else int(y.shape[1])),
            weighted=weight is not None,
        )

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def rows_per_block(self) -> int:
        if self.schema.sparse:
            per_row = 12 * max(1, int(self.X.nnz) // max(1, self.n_rows))
        else:
            per_row = self.schema.dtype.itemsize * max(1, self.n_features)
        return rows_per_block(self.block_bytes, per_row)

    def blocks(self, partition: int = 0) -> Iterator[Block]:
        step = self.rows_per_block
        for start in range(0, self.n_rows, step):
            rows = slice(start, min(start + step, self.n_rows))
            yield Block(
                self._convert(self.X[rows], start),
                None if self.y is None else self.y[rows],
                None if self.weight is None else self.weight[rows],
                partition=0,
                offset=start,
            )

    def _convert(self, X: Any, start: int) -> Any:
        if isinstance(X, Frame):
            return X
        refuse_inexact(X.data if is_sparse(X) else X, f"X (from row {start})")
        if is_sparse(X):
            X = X.tocsr().astype(self.schema.dtype, copy=False)
        elif self.mapped_file is not None:
            X = copied(self.mapped_file, X, self.schema.dtype)
        else:
            X = np.ascontiguousarray(X, dtype=self.schema.dtype)
        if self.check_finite:
            refuse_non_finite(X, start)
        return X

    def map(self, function: Callable[[Block], Array], *, dtype: Any, width: int | None) -> Array:
        """The outputs of all rows as one array."""
        out: Array | None = None
        for block in all_blocks(self):
            part = function(block)
            if out is None:
                out = np.empty((self.n_rows, *part.shape[1:]), dtype=part.dtype)
            out[block.offset : block.offset + block.n_rows] = part
        if out is None:
            return np.empty((0,) if width is None else (0, width), dtype=dtype)
        return out
