"""CSV through Arrow: read in blocks of text, types inferred once and then held."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .arrow import ArrowTable
from .block import Block
from .checks import refuse_unknown
from .files import cut, readable, rows_per_block
from .optional import need
from .source import BLOCK_BYTES, RowSource
from .table import plan

#: Bytes of text from which column types are inferred.
LOOK_BYTES = 4 * 2**20
#: Spellings of a missing value, besides nothing at all.
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A")


@dataclass(frozen=True)
class Dialect:
    """How the text is to be read."""

    delimiter: str = ","
    header: bool = True
    missing: tuple[str, ...] = MISSING


def dialect_of(path: str, options: dict[str, Any]) -> Dialect:
    """The dialect asked for; tabs where the file's name says so."""
    tabs = {"delimiter": "\t"} if ".tsv" in path.lower()[-8:] else {}
    given = {**tabs, **options}
    if "missing" in given:
        given["missing"] = tuple(given["missing"])
    return Dialect(**given)


class CsvSource(RowSource):
    """Rows of one or more CSV files (a partition each), plain or compressed.

    Types come from the first megabytes of the first file. Numbers are read as float64 from then
    on, so whole numbers may turn into fractions later; text in a number column may not.
    """

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
        dialect: Dialect = Dialect(),
    ) -> None:
        self.paths = tuple(paths)
        self.dialect = dialect
        first = _first_rows(self.paths[0], dialect)
        self.layout = plan(
            first, self.paths[0], target=target, columns=columns, weight=weight, dtype=dtype
        )
        if dtype is None:
            self.layout = self.layout.with_dtype("float64")
        self.types = self._held_types(first)
        self.schema = self.layout.schema()
        self.block_rows = rows_per_block(block_bytes, self.layout.row_bytes)
        self.text_bytes = max(2**16, min(block_bytes // 4, 2**24))
        self._counts: dict[int, int] = {}

    def _held_types(self, first: ArrowTable) -> dict[str, Any]:
        arrow = need("pyarrow", "parquet", "Reading CSV files")
        held = {str(n): first.data.schema.field(n).type for n in self.layout.columns}
        numbers = {
            n for n, k in zip(self.layout.features, self.layout.kinds, strict=True) if k == "number"
        }
        for name, kind in held.items():
            if (name in numbers or name == self.layout.weight) and not arrow.types.is_boolean(kind):
                held[name] = arrow.float64()
        return held

    @property
    def n_rows(self) -> int | None:
        """Known once every file has been read to its end."""
        return sum(self._counts.values()) if len(self._counts) == len(self.paths) else None

    @property
    def n_partitions(self) -> int:
        return len(self.paths)

    def blocks(self, partition: int) -> Iterator[Block]:
        path = self.paths[partition]
        offset = 0
        with readable(path, "CSV"), _naming_the_column(path, self.dialect):
            for batch in _open(path, self.dialect, self.text_bytes, self.types):
                refuse_unknown(list(self.types), batch.schema.names, "column", path)
                table = ArrowTable(batch, path)
                block = self.layout.block(table, path, partition, offset)
                yield from cut(block, self.block_rows)
                offset += batch.num_rows
        self._counts[partition] = offset


def _open(path: str, dialect: Dialect, text_bytes: int, types: dict[str, Any] | None) -> Any:
    csv = need("pyarrow.csv", "parquet", "Reading CSV files")
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(
            use_threads=False,
            block_size=text_bytes,
            autogenerate_column_names=not dialect.header,
        ),
        parse_options=csv.ParseOptions(delimiter=dialect.delimiter),
        convert_options=csv.ConvertOptions(
            null_values=list(dialect.missing),
            strings_can_be_null=True,
            column_types=types,
            include_columns=None if types is None else list(types),
        ),
    )


_CONVERSION = re.compile(r"CSV column #(\d+): (?:Row #(\d+): )?(CSV conversion error.*)")


@contextmanager
def _naming_the_column(path: str, dialect: Dialect) -> Iterator[None]:
    """Say by name where a later block disagrees with the types inferred from the first."""
    try:
        yield
    except ValueError as error:
        found = _CONVERSION.search(str(error))
        if found is None:
            raise
        number, row, reason = found.groups()
        with _open(path, dialect, LOOK_BYTES, None) as reader:
            name = reader.schema.names[int(number)]
        raise ValueError(
            f"{path}, row {row or '?'} (the header being row 1), column {name!r}: {reason}. The "
            "first rows of the file set the type of a column, and it is then held. Correct the "
            "value, add its spelling to missing=, or leave the column out with columns=."
        ) from error


def _first_rows(path: str, dialect: Dialect) -> ArrowTable:
    """The first block of text, with the types that Arrow infers from it."""
    with readable(path, "CSV"), _open(path, dialect, LOOK_BYTES, None) as reader:
        batch = next(iter(reader), None)
        schema = reader.schema
    return ArrowTable(schema.empty_table() if batch is None else batch, path)
