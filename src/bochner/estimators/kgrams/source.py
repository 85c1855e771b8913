"""Sequences that stream, and their k-grams as a source of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...rows import Block, RowSource, RowSum, Schema
from ...rows.chunks import repeatable
from ...rows.files import cut
from ...rows.reduce import all_blocks
from .encoding import Encoder
from .letters import Sequences, as_sequences, letters_of, rows_of

if TYPE_CHECKING:
    from ...rows import Hook, RowState

S = TypeVar("S")
V = TypeVar("V")


class SequenceChunks(RowSource):
    """Chunks of sequences, asked for anew on every pass; a chunk is X, (X, y) or (X, y, weight)."""

    n_partitions = 1
    reads_ahead = True

    def __init__(self, chunks: Any, passes: int | None = None) -> None:
        self._again = repeatable(chunks, passes)
        first = None if passes == 1 else next(self._again(), None)
        _, y, weight = _parts(first)
        n_targets = None if y is None else (0 if y.ndim < 2 else int(y.shape[1]))
        self.schema = Schema(1, np.dtype(object), n_targets=n_targets, weighted=weight is not None)

    @property
    def n_rows(self) -> int | None:
        return None

    def blocks(self, partition: int = 0) -> Iterator[Block]:
        offset = 0
        for chunk in self._again():
            X, y, weight = _parts(chunk)
            rows = Sequences(as_sequences(X))
            yield Block(rows, y, weight, offset=offset)
            offset += rows.shape[0]


def _parts(chunk: Any) -> tuple[Any, Any, Any]:
    parts = chunk if isinstance(chunk, tuple) else (chunk,)
    rest = [None if part is None else np.asarray(part) for part in parts[1:]]
    X, y, weight, *_ = (parts[0], *rest, None, None)
    return X, y, weight


class EncodedSource(RowSource):
    """The k-grams of a source of sequences: a source of CSR rows, and an iterable of CSR blocks.

    It goes where X goes, on the engine where the sequences are. Blocks are cut before they are
    encoded, so that ``step`` rows of columns are in memory at a time.
    """

    def __init__(self, parent: RowSource, encoder: Encoder, step: int) -> None:
        self.parent, self.pieces = parent, Pieces(encoder, step)
        self.schema = replace(
            parent.schema,
            n_features=encoder.layout.n_columns,
            dtype=np.dtype(encoder.dtype),
            names=None,
            kinds=None,
            sparse=True,
        )
        self.stable_order, self.reads_ahead = parent.stable_order, parent.reads_ahead

    @property
    def n_rows(self) -> int | None:
        return self.parent.n_rows

    @property
    def n_partitions(self) -> int:
        return self.parent.n_partitions

    def blocks(self, partition: int) -> Iterator[Block]:
        return (piece for block in self.parent.blocks(partition) for piece in self.pieces(block))

    def __iter__(self) -> Iterator[Any]:
        return (block.X for block in all_blocks(self))

    def reduce(
        self,
        row_sum: RowSum[S, V],
        *,
        hook: Hook | None = None,
        row_state: RowState | None = None,
    ) -> V:
        summed = PiecewiseSum(row_sum, self.pieces)
        return self.parent.reduce(summed, hook=hook, row_state=row_state)

    def map(self, function: Callable[[Block], Any], *, dtype: Any, width: int | None) -> Any:
        return self.parent.map(PiecewiseMap(function, self.pieces), dtype=dtype, width=width)


@dataclass(frozen=True)
class Pieces:
    """A block of sequences as encoded blocks of at most ``step`` rows; it pickles."""

    encoder: Encoder
    step: int

    def __call__(self, block: Block) -> Iterator[Block]:
        for piece in cut(block, self.step):
            letters = letters_of(rows_of(piece.X), piece.offset)
            yield piece.replace(X=self.encoder(letters, piece.offset))


class PiecewiseSum(RowSum[S, V]):
    """A sum over the encoded pieces of each block."""

    def __init__(self, inner: RowSum[S, V], pieces: Pieces) -> None:
        self.inner, self.pieces = inner, pieces

    def start(self) -> S:
        return self.inner.start()

    def update(self, state: S, block: Block) -> S:
        for piece in self.pieces(block):
            state = self.inner.update(state, piece)
        return state

    def merge(self, a: S, b: S) -> S:
        return self.inner.merge(a, b)

    def finalise(self, state: S) -> V:
        return self.inner.finalise(state)


@dataclass(frozen=True)
class PiecewiseMap:
    """The outputs of the encoded pieces of a block, one under the other; it pickles."""

    function: Callable[[Block], Any]
    pieces: Pieces

    def __call__(self, block: Block) -> Any:
        parts = [self.function(piece) for piece in self.pieces(block)]
        if not parts:  # no rows, but the right number of columns
            encoder = self.pieces.encoder
            return self.function(block.replace(X=encoder(letters_of([]))))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
