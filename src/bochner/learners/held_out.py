"""Which rows are held out: the inner choice of every learner, on any engine.

A `HeldOut` says for each row of a block whether it is held out, from what is in the row or from
where it stands. It is decided once, from ``cv=`` and ``groups=`` of the estimator, and travels with
the sums.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import Block, RowSource
from ..rows.hashing import hash_rows

#: The share of rows held out where nothing else is asked for.
HELD_OUT = 0.25

#: What an inner choice says that finds no row held out.
NONE_HELD = "no rows were held out to judge by: hold out a larger share (cv=), or give more rows."

Mask = NDArray[np.bool_]


class HeldOut(ABC):
    """A rule that picks rows; picklable, the same on every engine."""

    @abstractmethod
    def mask(self, block: Block) -> Mask:
        """Which rows of the block are picked."""


@dataclass(frozen=True)
class Share(HeldOut):
    """A share of the rows chosen by what is in them: equal rows stay together."""

    seed: int
    share: float = HELD_OUT

    def mask(self, block: Block) -> Mask:
        limit = np.uint64(min(self.share * 2.0**64, 2.0**64 - 2048.0))
        return np.asarray(hash_rows(block.X, self.seed) < limit)


@dataclass(frozen=True, eq=False)
class Rows(HeldOut):
    """Rows of one source in memory by their place."""

    picked: Mask

    def mask(self, block: Block) -> Mask:
        return self.picked[block.offset : block.offset + block.n_rows]


@dataclass(frozen=True)
class MarkHeld:
    """A block function that writes the mark of held-out rows beside their targets."""

    held_out: HeldOut

    def __call__(self, block: Block) -> Block:
        assert block.y is not None
        marks = self.held_out.mask(block)
        return block.replace(y=np.column_stack([block.y, marks]))


@dataclass(frozen=True)
class OnlyHeld:
    """A block function that takes the weight off all rows but held-out ones, or off these."""

    held_out: HeldOut
    held: bool

    def __call__(self, block: Block) -> Block:
        return block.replace(weight=block.weights() * (self.held_out.mask(block) == self.held))

    def of(self, source: RowSource) -> RowSource:
        """The rows of a source of which only these count."""
        return source.mapped(self, replace(source.schema, weighted=True))


def unmarked(y: Any, n_targets: int | None) -> tuple[Any, Mask]:
    """Targets in their own shape, and the marks that `MarkHeld` wrote."""
    return (y[:, :-1] if n_targets else y[:, 0]), y[:, -1] > 0


def of_groups(groups: NDArray[Any], seed: int, share: float) -> Rows:
    """Whole groups in the order of their hashes, until the share of the rows is reached.

    At least one group is held out and at least one is not.
    """
    names, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise ValueError(
            f"groups holds one group only ({names[0]!r}), and rows of a group stay together: "
            "none could be held out. Give the rows of at least two groups, or leave groups out."
        )
    order = np.argsort([_hash(name, seed) for name in names.tolist()], kind="stable")
    reached = np.cumsum(sizes[order])
    count = int(np.argmin(np.abs(reached - share * len(groups)))) + 1
    picked = np.zeros(len(names), dtype=bool)
    picked[order[: min(count, len(names) - 1)]] = True
    return Rows(picked[index])


def _hash(name: Any, seed: int) -> int:
    """A keyed hash of the name of a group: it does not depend on the other groups."""
    key = seed.to_bytes(16, "little")
    return int.from_bytes(hashlib.blake2b(repr(name).encode(), key=key, digest_size=8).digest())
