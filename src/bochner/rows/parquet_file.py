"""Parquet: a file, a directory or a glob, read in blocks, only the columns that are used.

One row group is open at a time and its pages are read as they are needed, so what is resident is
a block and the pages under it, not the file.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .arrow import ArrowTable, kind_of_type
from .block import Block, working_dtype
from .checks import refuse_unknown
from .files import readable, rows_per_block
from .optional import need
from .source import BLOCK_BYTES, RowSource
from .table import Layout, alike, plan

#: Rows of neighbouring row groups make one partition until they hold this many bytes.
PARTITION_BYTES = 256 * 2**20
#: Without a buffer Arrow keeps every column chunk of a row group whole.
READ_BUFFER = 2**16


@dataclass(frozen=True)
class Part:
    """Some neighbouring row groups of one file."""

    path: str
    groups: tuple[int, ...]
    n_rows: int


class ParquetSource(RowSource):
    """Rows of one or more Parquet files, in the order of their sorted names."""

    reads_ahead = True

    def __init__(
        self,
        paths: Sequence[str],
        target: Any = None,
        *,
        columns: Sequence[Hashable] | None = None,
        weight: Hashable | None = None,
        dtype: Any = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.paths = tuple(paths)
        self.layout = _held_layout(self.paths, target, columns, weight, dtype)
        self.schema = self.layout.schema()
        self.block_rows = rows_per_block(block_bytes, self.layout.row_bytes)
        self.parts = [p for path in self.paths for p in _parts(path, self.layout.row_bytes)]

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def n_partitions(self) -> int:
        return len(self.parts)

    def blocks(self, partition: int) -> Iterator[Block]:
        part = self.parts[partition]
        offset = 0
        for batch in _batches(part, self.layout.columns, self.block_rows):
            table = ArrowTable(batch, part.path)
            yield self.layout.block(table, part.path, partition, offset)
            offset += batch.num_rows


def _open(path: str) -> Any:
    parquet = need("pyarrow.parquet", "parquet", "Reading Parquet files")
    with readable(path, "Parquet"):
        return parquet.ParquetFile(path, buffer_size=READ_BUFFER, pre_buffer=False)


def _batches(part: Part, columns: Sequence[Hashable], n_rows: int) -> Iterator[Any]:
    """Record batches of a partition, one row group open at a time; empty ones left out."""
    with readable(part.path, "Parquet"), _open(part.path) as file:
        for group in part.groups:
            # Threads are off: the pass has a thread that reads ahead and its own that compute.
            yield from (
                batch
                for batch in file.iter_batches(
                    batch_size=n_rows, row_groups=[group], columns=list(columns), use_threads=False
                )
                if batch.num_rows
            )


def _parts(path: str, row_bytes: int) -> list[Part]:
    parts: list[Part] = []
    groups: list[int] = []
    held = 0
    with _open(path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
    for group, n_rows in enumerate(sizes):
        if held and (held + n_rows) * row_bytes > PARTITION_BYTES:
            parts.append(Part(path, tuple(groups), held))
            groups, held = [], 0
        groups.append(group)
        held += n_rows
    return [*parts, Part(path, tuple(groups), held)] if held else parts


def _held_layout(
    paths: Sequence[str],
    target: Any,
    columns: Sequence[Hashable] | None,
    weight: Hashable | None,
    dtype: Any,
) -> Layout:
    """The layout seen in the first rows, checked against the schema of every file."""
    options = {"target": target, "columns": columns, "weight": weight, "dtype": dtype}
    with _open(paths[0]) as file:
        empty = ArrowTable(file.schema_arrow.empty_table(), paths[0])
    named = plan(empty, paths[0], **options)
    layout = plan(_first_rows(paths, named.columns, empty), paths[0], **options)
    numbers = [layout.dtype]
    for path in paths[1:]:
        with _open(path) as file:
            schema = file.schema_arrow
        refuse_unknown(layout.columns, schema.names, "column", path)
        found = [
            kind_of_type(schema.field(name).type, f"column {name!r} of {path}")
            for name in layout.features
        ]
        for name, then, (now, _) in zip(layout.features, layout.kinds, found, strict=True):
            if not alike(then, now):
                raise ValueError(
                    f"{path}: column {name!r} is a {now} here, but a {then} in {paths[0]}. "
                    "Expected the same kind in every file: rewrite the odd one out, or leave the "
                    "column out with columns=."
                )
        numbers += [d for kind, d in found if kind == "number"]
    return layout if dtype is not None else layout.with_dtype(working_dtype(numbers))


def _first_rows(
    paths: Sequence[str], columns: Sequence[Hashable], empty: ArrowTable, n_rows: int = 10_000
) -> ArrowTable:
    """Rows to judge strings by, of the columns that are used; none where no file has any."""
    for path in paths:
        with readable(path, "Parquet"), _open(path) as file:
            batches = file.iter_batches(batch_size=n_rows, columns=list(columns), use_threads=False)
            for batch in batches:
                if batch.num_rows:
                    return ArrowTable(batch, path)
    return empty
