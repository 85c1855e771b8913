"""Letters to rows of columns: the refusals, the memory, the CSR that is filled in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...rows.physical import physical_memory
from .layout import MAX_COLUMNS, GramLayout, Letters
from .letters import n_letters, slices


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


def encode_in_memory(rows: Any, encoder: Encoder, step: int) -> Any:
    """All rows as one CSR, written where it stays: pieces are never stacked."""
    layout, n = encoder.layout, len(rows)
    most = _most_entries(layout, rows)
    _check_memory(most, np.dtype(encoder.dtype).itemsize + 4, layout)
    indices = np.empty(most, dtype=np.int32)
    data = np.empty(most, dtype=encoder.dtype)
    indptr = np.zeros(n + 1, dtype=np.int64)
    row = at = 0
    for letters in slices(rows, step):
        X = encoder(letters, row)
        indices[at : at + X.nnz], data[at : at + X.nnz] = X.indices, X.data
        indptr[row + 1 : row + 1 + X.shape[0]] = at + X.indptr[1:].astype(np.int64)
        row, at = row + X.shape[0], at + X.nnz
    fits = at <= MAX_COLUMNS
    kept = indices[:at] if fits else indices[:at].astype(np.int64)
    whole = (data[:at], kept, indptr.astype(np.int32) if fits else indptr)
    return sparse.csr_matrix(whole, shape=(n, layout.n_columns))


def _most_entries(layout: GramLayout, rows: Any) -> int:
    letters = n_letters(rows)
    if layout.length is not None:
        letters = min(letters, len(rows) * layout.length)
    return letters * (layout.k_hi - layout.k_lo + 1)


def _check_memory(entries: int, each: int, layout: GramLayout) -> None:
    if entries * each <= physical_memory():
        return
    raise MemoryError(
        f"These sequences have up to {entries:,} grams of {layout.k_lo} to {layout.k_hi} letters, "
        f"{entries * each / 1e9:.1f} GB as a sparse matrix, which is more than this machine has. "
        "Encode them as a stream (give a function that returns an iterator of chunks, or a scan), "
        "or take fewer lengths of grams: a narrower k."
    )
