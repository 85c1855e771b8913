"""Sequences that stream: a survey of them in one pass, and their k-grams as a source of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..rows import Block, RowSource, RowSum, Schema
from ..rows.chunks import repeatable
from ..rows.files import cut
from ..rows.reduce import all_blocks
from .grams import GramLayout, Letters
from .sequences import as_sequences, letters_of

if TYPE_CHECKING:
    from ..rows import Hook, RowState

S = TypeVar("S")
V = TypeVar("V")

#: Letters turned into codes at a time while surveying: a few bytes of memory each.
SURVEY_ROWS = 8192


@dataclass(frozen=True)
class Survey:
    """What `fit` has to know of all sequences."""

    n: int = 0
    shortest: int = 0
    longest: int = 0
    codes: frozenset[int] = frozenset()

    @classmethod
    def of(cls, letters: Letters) -> Survey:
        if not len(letters.lengths):
            return cls()
        codes = letters.codes
        seen = np.flatnonzero(np.bincount(codes)) if codes.itemsize == 1 else np.unique(codes)
        lengths = int(letters.lengths.min()), int(letters.lengths.max())
        return cls(len(letters.lengths), *lengths, frozenset(seen.tolist()) - {0})

    def merge(self, other: Survey) -> Survey:
        if not self.n or not other.n:
            return self if self.n else other
        return Survey(
            self.n + other.n,
            min(self.shortest, other.shortest),
            max(self.longest, other.longest),
            self.codes | other.codes,
        )


class SurveySum(RowSum[Survey, Survey]):
    """The survey of a source."""

    def start(self) -> Survey:
        return Survey()

    def update(self, state: Survey, block: Block) -> Survey:
        for piece in cut(block, SURVEY_ROWS):
            state = state.merge(Survey.of(letters_of(rows_of(piece.X), piece.offset)))
        return state

    def merge(self, a: Survey, b: Survey) -> Survey:
        return a.merge(b)

    def finalise(self, state: Survey) -> Survey:
        return state


@dataclass(frozen=True)
class Encoder:
    """From letters to rows of columns, with the refusals that were asked for; it pickles."""

    layout: GramLayout
    equal: bool
    known: bool
    dtype: Any

    def __call__(self, letters: Letters, start: int = 0) -> Any:
        if self.equal and self.layout.length is not None:
            self._check_lengths(letters.lengths, start)
        if self.known:
            self._check_known(letters, start)
        return self.layout.encode(letters, self.dtype)

    def _check_lengths(self, lengths: NDArray[np.intp], start: int) -> None:
        odd = np.flatnonzero(lengths != self.layout.length)
        if len(odd):
            raise ValueError(
                f"Sequence {start + odd[0]} has {lengths[odd[0]]} letters, but positions are "
                f"counted over {self.layout.length}. {UNEQUAL_ADVICE}"
            )

    def _check_known(self, letters: Letters, start: int) -> None:
        odd = np.flatnonzero((self.layout.places(letters) < 0) & (letters.codes != 0))
        if len(odd):
            row = int(np.searchsorted(letters.starts, odd[0], side="right")) - 1
            raise ValueError(
                f"Sequence {start + row} has the letter {chr(int(letters.codes[odd[0]]))!r}, which "
                f"is not in the alphabet {''.join(self.layout.alphabet)!r}. Add it to alphabet=, "
                "or set unknown='ignore': grams that contain it then set no column."
            )


UNEQUAL_ADVICE = (
    "Line up their first letters with unequal='left' or their last with unequal='right' (letters "
    "beyond these positions have no column), or count grams wherever they stand: positional=False."
)


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


@dataclass(frozen=True)
class Sequences:
    """Sequences with the two things that a block asks of its X."""

    rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), 1

    def __getitem__(self, rows: slice) -> Sequences:
        return Sequences(self.rows[rows])


def rows_of(X: Any) -> Any:
    """The sequences in a block."""
    return X.rows if isinstance(X, Sequences) else as_sequences(X)


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
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
