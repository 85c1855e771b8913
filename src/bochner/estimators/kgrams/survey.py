"""What `fit` has to know of the sequences, in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows import Block, RowSum
from ...rows.files import cut
from .layout import Letters
from .letters import letters_of, rows_of

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
