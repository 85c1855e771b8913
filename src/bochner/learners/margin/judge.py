"""Early stop: ridge regression on a sample, judged on its held-out rows, as columns come in.

A judgement costs as much as a round, so it waits until the columns have grown by a fifth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ... import ops
from ...ops import FloatArray, Projection
from ...rows import Block, RowSample, RowSource, draw_sample
from ..alignment.held_out import Error, held_error, least_error
from ..base import Request
from ..held_out import MarkHeld, unmarked
from ..label_kernel import as_target

ROWS, GROWTH, PATIENCE = 4000, 1.2, 3


@dataclass(eq=False)
class Judge:
    """Held-out errors (relative to that of the mean, or minus the score) by number of columns."""

    sample: RowSample
    R: FloatArray
    held: FloatArray
    error: Error | None = None
    errors: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, source: RowSource, request: Request, seed: int) -> Judge:
        marked = source.mapped(MarkHeld(request.held_out), source.schema)
        sample = draw_sample(marked, ROWS, seed, targets=True, hook=request.hook)
        y, held = unmarked(sample.y, source.schema.n_targets)
        if held.all() or not held.any():
            raise ValueError(
                "early_stop=True needs held-out rows, but the sample has none (or only such): give "
                "more rows, or early_stop=False."
            )
        R = as_target("raw", request.task)(Block(sample.X, y))
        return cls(sample, R, held, held_error(request.scoring, y, sample.weight, held))

    def has_enough(self, projection: Projection) -> bool:
        """Is the best error several judgements old?"""
        M = projection.n_columns
        if self.errors and GROWTH * max(self.errors) > M:
            return False
        phi = np.asarray(ops.features(self.sample.X, projection))
        self.errors[M] = least_error(phi, self.R, self.sample.weight, self.held, self.error)
        best = min(self.errors, key=lambda m: self.errors[m])
        return sum(m > best for m in self.errors) >= PATIENCE
