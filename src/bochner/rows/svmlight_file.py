"""svmlight / libsvm files, streamed as CSR blocks through scikit-learn's parser."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from .block import Block
from .checks import checked_target
from .files import cut, readable, rows_per_block
from .source import BLOCK_BYTES, RowSource, Schema

#: Bytes of text parsed at a time.
TEXT_BYTES = 4 * 2**20


class SvmlightSource(RowSource):
    """Rows ``label index:value ...`` of one or more files (a partition each).

    A first pass finds the number of features and whether indices start at 0 or 1, unless both
    are given.
    """

    reads_ahead = True

    def __init__(
        self,
        paths: Sequence[str],
        *,
        n_features: int | None = None,
        zero_based: bool | None = None,
        dtype: Any = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.paths = tuple(paths)
        self.dtype = np.dtype(np.float64 if dtype is None else dtype)
        self._counts: list[int] | None = None
        lowest, highest, stored = 0, -1, 0
        if n_features is None or zero_based is None:
            lowest, highest, stored = self._survey()
        self.zero_based = lowest == 0 if zero_based is None else zero_based
        found = highest + 1 if self.zero_based else highest
        self.given_features = n_features
        self.schema = Schema(
            n_features=max(found, 0) if n_features is None else n_features,
            dtype=self.dtype,
            sparse=True,
            n_targets=0,
        )
        total = self.n_rows or 0
        per_row = 12 * max(1, stored // total if total else 50)
        self.block_rows = rows_per_block(block_bytes, per_row)

    def _survey(self) -> tuple[int, int, int]:
        """The lowest and highest index, and how many entries are stored."""
        lowest, highest, stored = np.iinfo(np.int64).max, -1, 0
        counts = []
        for path in self.paths:
            count = 0
            for X, _ in _parsed(path, None, True, self.dtype):
                count += X.shape[0]
                stored += X.nnz
                if X.nnz:
                    lowest = min(lowest, int(X.indices.min()))
                    highest = max(highest, int(X.indices.max()))
            counts.append(count)
        self._counts = counts
        return (lowest if stored else 1), highest, stored

    @property
    def n_rows(self) -> int | None:
        return None if self._counts is None else sum(self._counts)

    @property
    def n_partitions(self) -> int:
        return len(self.paths)

    def blocks(self, partition: int) -> Iterator[Block]:
        path = self.paths[partition]
        offset = 0
        for X, y in _parsed(path, self.n_features, self.zero_based, self.dtype):
            y = checked_target(y, X.shape[0], f"the labels of {path}")
            yield from cut(Block(X, y, None, partition, offset), self.block_rows)
            offset += X.shape[0]


def _parsed(
    path: str, n_features: int | None, zero_based: bool, dtype: np.dtype[Any]
) -> Iterator[tuple[Any, Any]]:
    from sklearn.datasets import load_svmlight_file

    with readable(path, "svmlight"):
        for text in _texts(path):
            X, y = load_svmlight_file(
                BytesIO(text), n_features=n_features, zero_based=zero_based, dtype=dtype
            )
            if X.shape[0]:
                yield X, y


def _texts(path: str) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time."""
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path[path.rfind(".") :], open)
    with opener(path, "rb") as file:
        while text := file.read(TEXT_BYTES):
            yield text + file.readline()
