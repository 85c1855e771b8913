"""One number a row that outlives a pass: a dual weight, a residual, a fold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .block import Array, Block
from .source import RowSource


class RowState:
    """Eight bytes a row, keyed by (partition, offset), held by the coordinator.

    It grows as rows are first seen, so the number of rows need not be known beforehand, and it
    refuses a source whose order may change from pass to pass.
    """

    def __init__(self, source: RowSource, fill: float = 0.0) -> None:
        if not source.stable_order:
            raise ValueError(
                f"{type(source).__name__} gives its rows in another order on every pass, but this "
                "learner keeps a number for each row. Give a source with a fixed order (an array, "
                "a Parquet file, an unshuffled iterable of chunks), or write the rows out once."
            )
        self.fill = fill
        self._parts: dict[int, Array] = {}

    def _part(self, partition: int, length: int) -> Array:
        part = self._parts.get(partition)
        if part is None or len(part) < length:
            grown = np.full(length if part is None else max(length, 2 * len(part)), self.fill)
            if part is not None:
                grown[: len(part)] = part
            part = self._parts[partition] = grown
        return part

    def get(self, block: Block) -> Array:
        """The numbers of these rows (a view: writing to it writes to the state)."""
        end = block.offset + block.n_rows
        return self._part(block.partition, end)[block.offset : end]

    def set(self, block: Block, values: Array) -> None:
        self.get(block)[...] = values

    def attach(self, block: Block) -> Block:
        """The block with its numbers, for a pass that sends both together."""
        return block.replace(state=self.get(block))

    def to_arrays(self) -> dict[str, Any]:
        """For a checkpoint; `from_arrays` reads it back."""
        return {f"partition_{p}": part for p, part in self._parts.items()}

    def from_arrays(self, arrays: dict[str, Any]) -> RowState:
        self._parts = {
            int(name.removeprefix("partition_")): np.array(part, dtype=np.float64)
            for name, part in arrays.items()
            if name.startswith("partition_")
        }
        return self
