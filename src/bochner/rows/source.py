"""What a source of rows promises, whatever holds the rows.

A source is a list of partitions; a partition is a run of blocks. Learners never see more than
`reduce` (a sum over rows) and `map_rows` (one thin row out per row in) of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from .block import Array, Block

if TYPE_CHECKING:
    from .progress import Hook
    from .state import RowState

S = TypeVar("S")
V = TypeVar("V")

#: Bytes of X in one block. Small enough to stream in little memory, large enough to hide overheads.
BLOCK_BYTES = 32 * 2**20


class RowSum(ABC, Generic[S, V]):
    """A sum over rows: start, fold blocks in, merge two partial states, finalise.

    ``merge`` is associative, and in a pure pass a row of weight 2 counts as the row twice.
    ``update`` and ``merge`` may change and return their first argument; they own it.
    """

    @abstractmethod
    def start(self) -> S: ...

    @abstractmethod
    def update(self, state: S, block: Block) -> S: ...

    @abstractmethod
    def merge(self, a: S, b: S) -> S: ...

    @abstractmethod
    def finalise(self, state: S) -> V: ...


@dataclass(frozen=True)
class Schema:
    """What is known of the rows before any is read.

    ``kinds`` is None when every column is a number; otherwise one of "number", "category",
    "date", "text" per column, and blocks carry a `Frame`.
    """

    n_features: int
    dtype: np.dtype[Any]
    names: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    sparse: bool = False
    n_targets: int | None = None  # None: no target; 0: a vector; k: n x k
    weighted: bool = False


class RowSource(ABC):
    """Rows that can be visited in blocks, many times over."""

    schema: Schema
    #: Does every pass give the same rows under the same (partition, offset)?
    stable_order: bool = True
    #: Do rows arrive from somewhere slow enough that reading ahead pays?
    reads_ahead: bool = False

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """How many rows there are; None where only a pass can tell."""

    @property
    @abstractmethod
    def n_partitions(self) -> int: ...

    @abstractmethod
    def blocks(self, partition: int) -> Iterator[Block]:
        """The blocks of one partition, in order."""

    @property
    def n_features(self) -> int:
        return self.schema.n_features

    def reduce(
        self,
        row_sum: RowSum[S, V],
        *,
        hook: Hook | None = None,
        row_state: RowState | None = None,
    ) -> V:
        """Run a sum over all rows here, one block after the other."""
        from .reduce import fold_locally

        return fold_locally(self, row_sum, hook=hook, row_state=row_state)

    def map(self, function: Callable[[Block], Array], *, dtype: Any, width: int | None) -> Any:
        """One output row per row: an iterator of arrays here, other engines return their own kind.

        ``width`` is None for a vector a block, else the number of columns.
        """
        from .reduce import all_blocks

        return (function(block) for block in all_blocks(self))

    def mapped(self, function: Callable[[Block], Block], schema: Schema) -> RowSource:
        """The same rows with ``function`` applied to each block as it passes."""
        return MappedSource(self, function, schema)


class MappedSource(RowSource):
    """A source seen through a function of its blocks that keeps the number of rows."""

    def __init__(
        self, parent: RowSource, function: Callable[[Block], Block], schema: Schema
    ) -> None:
        self.parent = parent
        self.function = function
        self.schema = schema
        self.stable_order = parent.stable_order
        self.reads_ahead = parent.reads_ahead

    @property
    def n_rows(self) -> int | None:
        return self.parent.n_rows

    @property
    def n_partitions(self) -> int:
        return self.parent.n_partitions

    def blocks(self, partition: int) -> Iterator[Block]:
        return (self.function(block) for block in self.parent.blocks(partition))

    def reduce(
        self,
        row_sum: RowSum[S, V],
        *,
        hook: Hook | None = None,
        row_state: RowState | None = None,
    ) -> V:
        return self.parent.reduce(MappedSum(row_sum, self.function), hook=hook, row_state=row_state)

    def map(self, function: Callable[[Block], Array], *, dtype: Any, width: int | None) -> Any:
        return self.parent.map(Composed(function, self.function), dtype=dtype, width=width)


class MappedSum(RowSum[S, V]):
    """A sum whose blocks first pass through a function: how a `MappedSource` reaches any engine."""

    def __init__(self, inner: RowSum[S, V], function: Callable[[Block], Block]) -> None:
        self.inner = inner
        self.function = function

    def start(self) -> S:
        return self.inner.start()

    def update(self, state: S, block: Block) -> S:
        return self.inner.update(state, self.function(block))

    def merge(self, a: S, b: S) -> S:
        return self.inner.merge(a, b)

    def finalise(self, state: S) -> V:
        return self.inner.finalise(state)


@dataclass(frozen=True)
class Composed:
    """outer(inner(block)), picklable for a cluster."""

    outer: Callable[[Block], Array]
    inner: Callable[[Block], Block]

    def __call__(self, block: Block) -> Array:
        return self.outer(self.inner(block))
