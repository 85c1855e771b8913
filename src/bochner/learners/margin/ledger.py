"""What the game knows of every row: target, weight, hash, and its own weights a.

Some bytes a row, held where the learner runs, in the order of (partition, offset); a `RowState`
carries coefficients back to the rows of a pass, and `Collect` brings one number a row here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...feature_map import FeatureMap
from ...ops import FloatArray
from ...rows import Block, Hook, RowSource, RowState, RowSum
from ...rows.hashing import hash_rows

Piece: TypeAlias = "tuple[int, int, Any]"


class Collect(RowSum["list[Piece]", "list[Piece]"]):
    """A function of each block, in the order of the rows: (partition, offset, value)."""

    def __init__(self, function: Callable[[Block], Any]) -> None:
        self.function = function

    def start(self) -> list[Piece]:
        return []

    def update(self, state: list[Piece], block: Block) -> list[Piece]:
        return [*state, (block.partition, block.offset, self.function(block))]

    def merge(self, a: list[Piece], b: list[Piece]) -> list[Piece]:
        return a + b

    def finalise(self, state: list[Piece]) -> list[Piece]:
        return sorted(state, key=lambda piece: piece[:2])


@dataclass(frozen=True)
class Facts:
    """Target, weight and hash of each row."""

    seed: int

    def __call__(self, block: Block) -> tuple[FloatArray, FloatArray, NDArray[np.uint64]]:
        if block.y is None:
            raise ValueError("these rows have no targets; give y, or a source with target=...")
        y = np.asarray(block.y, dtype=np.float64).reshape(block.n_rows, -1)
        if y.shape[1] != 1:
            raise ValueError(
                f"a margin game takes one target a row, got {y.shape[1]}: fit one model for each."
            )
        return y[:, 0], block.weights(), hash_rows(block.X, self.seed, y)


@dataclass(frozen=True, eq=False)
class Scores:
    """<phi(x_i), T>, one number a row."""

    fm: FeatureMap
    T: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        return np.asarray(self.fm.map_rows(block.X, self.T), dtype=np.float64)


def chosen_rows(block: Block) -> Any:
    """The rows whose state is not zero."""
    assert block.state is not None
    return block.X[np.flatnonzero(block.state)]


def state_as_coefficients(block: Block) -> FloatArray:
    """The state of the rows as coefficients, n x 1, or a column for each number of a row."""
    assert block.state is not None
    return block.state.reshape(block.n_rows, -1)


@dataclass(frozen=True, eq=False)
class Ledger:
    """All rows of a source: n targets, weights, and which of the distinct rows each is."""

    source: RowSource
    hook: Hook
    pieces: list[tuple[int, int, int]]  # partition, offset, rows
    y: FloatArray
    weight: FloatArray
    group: NDArray[np.intp]  # equal rows have the same number
    keys: NDArray[np.uint64]  # the hash of each distinct row
    seed: int  # the key of the hashes

    @classmethod
    def of(cls, source: RowSource, seed: int, hook: Hook) -> Ledger:
        found = source.reduce(Collect(Facts(seed)), hook=hook)
        pieces = [(p, offset, len(facts[0])) for p, offset, facts in found]
        if not any(rows for _, _, rows in pieces):
            raise ValueError("the source holds no rows; give at least one.")
        y, weight, hashes = (
            np.concatenate(part) for part in zip(*(f for _, _, f in found), strict=False)
        )
        keys, group = np.unique(hashes, return_inverse=True)
        return cls(source, hook, pieces, y, weight, group, keys, seed)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def digest(self) -> tuple[int, str]:
        """The key of the hashes, and what they are in the order of the rows."""
        hashes = np.ascontiguousarray(self.keys[self.group])
        return self.seed, hashlib.blake2b(hashes.tobytes(), digest_size=16).hexdigest()

    def state(self, values: FloatArray) -> RowState:
        """One number a row (or some) as the state that travels with the rows."""
        parts: dict[str, list[FloatArray]] = {}
        at = 0
        for partition, _, rows in self.pieces:
            parts.setdefault(f"partition_{partition}", []).append(values[at : at + rows])
            at += rows
        arrays = {name: np.concatenate(pieces) for name, pieces in parts.items()}
        return RowState(self.source).from_arrays(arrays)

    def scores(self, fm: FeatureMap, T: FloatArray) -> FloatArray:
        """<phi(x_i), T> for every row, in as many columns as T has."""
        found = self.source.reduce(Collect(Scores(fm, T)), hook=self.hook)
        return np.concatenate([values for _, _, values in found])

    def choose(self, r: FloatArray, size: int, seed: int) -> NDArray[np.intp]:
        """Rows that stand for at most ``size`` distinct ones with r != 0, by keyed hash."""
        with np.errstate(over="ignore"):
            keys = (self.keys ^ np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
        alive = np.bincount(self.group, weights=np.abs(self.weight * r), minlength=len(keys)) > 0
        distinct = np.flatnonzero(alive)
        if len(distinct) > size:
            distinct = distinct[np.argpartition(keys[distinct], size)[:size]]
        first = np.full(len(keys), -1, dtype=np.intp)
        rows = np.flatnonzero(self.weight * r != 0)
        first[self.group[rows][::-1]] = rows[::-1]
        return np.sort(first[distinct])

    def joint(self, values: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        """w times values, summed over the rows that equal each of these."""
        total = np.bincount(self.group, weights=self.weight * values, minlength=len(self.keys))
        return np.asarray(total[self.group[rows]])

    def rows(self, rows: NDArray[np.intp]) -> Any:
        """X of these rows (in order), in memory."""
        mask = np.zeros(len(self))
        mask[rows] = 1.0
        found = self.source.reduce(Collect(chosen_rows), hook=self.hook, row_state=self.state(mask))
        parts = [X for _, _, X in found if X.shape[0]]
        return (
            sparse.vstack(parts, format="csr")
            if sparse.issparse(parts[0])
            else np.concatenate(parts)
        )
