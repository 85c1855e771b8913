"""Rows from anything that yields chunks: a list, an object that can be iterated again, a function.

A chunk is X, (X, y) or (X, y, weight); with a target by name, a DataFrame that holds its target.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any

from .block import Block
from .chunk_form import ChunkForm, first_form
from .files import cut, rows_per_block
from .source import BLOCK_BYTES, RowSource


class ChunkSource(RowSource):
    """Chunks of rows, asked for anew on every pass; chunk k of every pass is the same rows.

    ``passes=1`` accepts an iterator that can be read only once, for work that needs one pass.
    """

    n_partitions = 1
    reads_ahead = True

    def __init__(
        self,
        chunks: Any,
        target: Any = None,
        *,
        columns: Sequence[Hashable] | None = None,
        weight: Hashable | None = None,
        dtype: Any = None,
        block_bytes: int = BLOCK_BYTES,
        passes: int | None = None,
    ) -> None:
        self.passes = passes
        self._begun = 0
        self._rows_of: list[int] | None = None  # rows of each chunk, once a pass has ended
        self._again = repeatable(chunks, passes)
        iterator = self._again()
        first = next(iterator, None)
        if first is None:
            raise ValueError(
                f"{_shown(chunks)} gave no chunk at all; expected at least one. If it was read "
                "before, it can only be read once: give a function that makes a fresh one."
            )
        if passes == 1:  # an iterator that cannot be asked again keeps its first chunk this way
            self._again = _once(chain([first], iterator))
        self.form: ChunkForm = first_form(first, target, columns, weight, dtype)
        self.schema = self.form.schema
        self.block_rows = rows_per_block(block_bytes, self.form.row_bytes)
        if isinstance(chunks, list | tuple):
            self._rows_of = [self.form.rows(chunk) for chunk in chunks]

    @property
    def n_rows(self) -> int | None:
        """Known for a list, else once a pass has come to its end."""
        return None if self._rows_of is None else sum(self._rows_of)

    def blocks(self, partition: int = 0) -> Iterator[Block]:
        self._begin()
        offset = 0
        seen: list[int] = []
        for chunk in self._again():
            block = self.form.block(chunk, len(seen), offset)
            self._compare(len(seen), block.n_rows)
            seen.append(block.n_rows)
            yield from cut(block, self.block_rows)
            offset += block.n_rows
        self._compare(len(seen), None)
        self._rows_of = seen

    def _begin(self) -> None:
        self._begun += 1
        if self.passes is not None and self._begun > self.passes:
            raise ValueError(
                f"These chunks were given with passes={self.passes}, but pass {self._begun} was "
                "asked for: this fit visits the rows several times. Give a function that makes a "
                "fresh iterator, scan(lambda: read_chunks()), and leave passes= out."
            )

    def _compare(self, number: int, n_rows: int | None) -> None:
        """Raise if this pass differs from the one before; None stands for the end."""
        if self._rows_of is None:
            return
        before = self._rows_of[number] if number < len(self._rows_of) else None
        if before != n_rows:
            now, then = (_rows(n) for n in (n_rows, before))
            raise ValueError(
                f"Chunk {number} (counting from 0) has {now} in this pass, but had {then} in an "
                "earlier one. Every pass must give the same chunks: a function must make a fresh "
                "iterator on each call, and the rows must not change while a fit runs."
            )


def _rows(n_rows: int | None) -> str:
    return "no rows, the chunks having ended," if n_rows is None else f"{n_rows} rows"


def repeatable(chunks: Any, passes: int | None) -> Callable[[], Iterator[Any]]:
    """A function that starts a pass; a one-shot iterator is refused unless one pass is enough."""
    if passes is not None and (not isinstance(passes, int) or passes < 1):
        raise ValueError(f"passes is {passes!r}; expected a positive integer, or None for any.")
    if callable(chunks) and not hasattr(chunks, "__iter__"):
        return _Calls(chunks)
    if not hasattr(chunks, "__iter__"):
        raise TypeError(
            f"scan was given {_shown(chunks)}; expected a path, an array, a DataFrame, a Dask "
            "collection, a list of chunks, an object that can be iterated many times, or a "
            "function that returns a fresh iterator of chunks."
        )
    if passes != 1 and not isinstance(chunks, list | tuple) and _one_shot(chunks):
        raise ValueError(
            f"scan was given {_shown(chunks)}, which can be read only once; learning needs several "
            "passes over the rows. Give a function that makes a fresh one: "
            "scan(lambda: read_chunks()), or an object whose __iter__ starts again, or a list of "
            "chunks. If one pass is enough (for instance to predict), say passes=1."
        )
    return _Iterates(chunks)


def _one_shot(chunks: Any) -> bool:
    """An iterator is its own iterator; some objects hide one and hand it out every time."""
    iterator = iter(chunks)
    return iterator is chunks or iter(chunks) is iterator


def _shown(chunks: Any) -> str:
    return f"an object of type {type(chunks).__name__}"


class _Calls:
    """A pass is a call (a class, not a closure: it pickles where the function does)."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function

    def __call__(self) -> Iterator[Any]:
        made = self.function()
        if not hasattr(made, "__iter__"):
            raise TypeError(
                f"The function given to scan returned {_shown(made)}; expected an iterator of "
                "chunks: X, (X, y) or (X, y, weight)."
            )
        return iter(made)


class _Iterates:
    """A pass is an iteration."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks

    def __call__(self) -> Iterator[Any]:
        return iter(self.chunks)


def _once(iterator: Iterator[Any]) -> Callable[[], Iterator[Any]]:
    return lambda: iterator
