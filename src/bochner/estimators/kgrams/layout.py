"""k-grams as columns: which column a gram has, and the rows of many sequences at once.

Symbols: A letters in the alphabet, L positions (None where positions do not count), grams of
k = k_lo .. k_hi letters. Columns run by k, then position, then gram in the order of the alphabet:

    column(k, p, g) = offset_k + p A^k + g,        g = sum_j letter(p + j) A^(k - 1 - j)

A run of letters that contains a gap (a letter outside the alphabet, the end of a sequence) is no
gram and sets no column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.integer[Any]]

#: More columns than 32-bit indices reach make no useful feature map.
MAX_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class Letters:
    """Sequences end to end: character codes with at least one gap after each sequence.

    Sequence i is ``codes[starts[i] : starts[i] + lengths[i]]``; code 0 is a gap.
    """

    codes: Ints
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]


@dataclass(frozen=True)
class GramLayout:
    """The columns: an alphabet, the lengths of grams, the number of positions."""

    alphabet: tuple[str, ...]
    k_lo: int
    k_hi: int
    length: int | None
    from_end: bool = False
    fold_case: bool = False

    @cached_property
    def offsets(self) -> list[int]:
        """The first column of each k, and the number of columns; exact integers, never wrapping."""
        out = [0]
        for k in range(self.k_lo, self.k_hi + 1):
            places = 1 if self.length is None else max(0, self.length - k + 1)
            out.append(out[-1] + len(self.alphabet) ** k * places)
        return out

    @property
    def n_columns(self) -> int:
        return self.offsets[-1]

    @cached_property
    def table(self) -> NDArray[np.int32]:
        """Place in the alphabet of each character code, -1 for all others."""
        known = {ord(v): i for i, a in enumerate(self.alphabet) for v in self._variants(a)}
        table = np.full(max(known) + 2, -1, dtype=np.int32)
        table[list(known)] = list(known.values())
        return table

    def _variants(self, letter: str) -> set[str]:
        cases = {letter, letter.lower(), letter.upper()} if self.fold_case else {letter}
        return {c for c in cases if len(c) == 1}

    def places(self, letters: Letters) -> NDArray[np.int32]:
        """The place in the alphabet of every letter, -1 for gaps."""
        codes = letters.codes
        if codes.itemsize == 1:
            table = np.full(256, -1, dtype=np.int32)
            table[: min(256, len(self.table))] = self.table[:256]
            return table[codes]
        return self.table[np.minimum(codes, len(self.table) - 1)]  # the last one is -1

    def encode(self, letters: Letters, dtype: Any) -> sparse.csr_matrix:
        """The rows, one a sequence: ones at grams by position, or counts of grams."""
        n = len(letters.starts)
        indices, indptr = self._positional(letters) if self.length else self._anywhere(letters)
        data = np.ones(len(indices), dtype=dtype)
        X = sparse.csr_matrix((data, indices, indptr), shape=(n, self.n_columns))
        if self.length is None:
            X.sum_duplicates()
        else:
            X.has_canonical_format = True  # columns ascend with k, then with position
        return X

    def _grams(self, places: NDArray[np.int32]) -> Iterator[tuple[int, Ints, NDArray[np.bool_]]]:
        """(offset, gram starting at each letter, is it one), for each k."""
        A = np.int32(len(self.alphabet))
        g, whole = places, places >= 0
        longest = self.k_hi if self.length is None else min(self.k_hi, self.length)
        for k in range(1, longest + 1):
            if k > 1:
                g = g[:-1] * A + places[k - 1 :]
                whole = whole[:-1] & (places[k - 1 :] >= 0)
            if k >= self.k_lo:
                yield self.offsets[k - self.k_lo], g, whole

    def _anywhere(self, letters: Letters) -> tuple[Ints, Ints]:
        row = row_of_letter(letters)
        found = [
            (offset + g[w], row[: len(w)][w]) for offset, g, w in self._grams(self.places(letters))
        ]
        return by_rows([c for c, _ in found], [r for _, r in found], len(letters.starts))

    def _positional(self, letters: Letters) -> tuple[Ints, Ints]:
        assert self.length is not None
        places, position = self.places(letters), self._position(letters)
        places[(position < 0) | (position >= self.length)] = -1
        row = row_of_letter(letters)
        columns, rows = [], []
        for k, (offset, g, whole) in enumerate(self._grams(places), self.k_lo):
            n_grams = np.int32(len(self.alphabet) ** k)
            at = np.flatnonzero(whole)
            columns.append(position[at] * n_grams + g[at] + np.int32(offset))
            rows.append(row[at])
        return by_rows(columns, rows, len(letters.starts))

    def _position(self, letters: Letters) -> NDArray[np.int32]:
        """Where in its sequence every letter stands; counted so that ends meet, if asked."""
        assert self.length is not None
        first = letters.starts - (self.length - letters.lengths if self.from_end else 0)
        spans = np.diff(letters.starts, append=len(letters.codes))
        out: NDArray[np.int32] = np.arange(len(letters.codes), dtype=np.int32)
        out -= np.repeat(first.astype(np.int32), spans)
        return out

    def names(self, columns: Ints) -> list[str]:
        """Readable names: ``GGTTG@60`` for the gram that starts at position 60, else ``GGTTG``."""
        columns = np.asarray(columns, dtype=np.int64)
        which = np.searchsorted(self.offsets, columns, side="right") - 1
        out = np.empty(len(columns), dtype=object)
        for i in np.unique(which):
            at = np.flatnonzero(which == i)
            out[at] = self._names_of_length(self.k_lo + int(i), columns[at] - self.offsets[i])
        return list(out)

    def _names_of_length(self, k: int, columns: NDArray[np.int64]) -> list[str]:
        A = len(self.alphabet)
        position, g = np.divmod(columns, A**k)
        digits = g[:, None] // A ** np.arange(k - 1, -1, -1, dtype=np.int64) % A
        letters = np.array(self.alphabet)[digits]
        grams = np.ascontiguousarray(letters).view(f"<U{k}")[:, 0].tolist()
        if self.length is None:
            return list(grams)
        shift = -self.length if self.from_end else 0
        return [f"{gram}@{p}" for gram, p in zip(grams, (position + shift).tolist(), strict=True)]


def row_of_letter(letters: Letters) -> NDArray[np.int32]:
    """The sequence that every code (gaps too) belongs to."""
    n = np.arange(len(letters.starts), dtype=np.int32)
    return np.repeat(n, np.diff(letters.starts, append=len(letters.codes)))


def by_rows(columns: Sequence[Ints], rows: Sequence[Ints], n: int) -> tuple[Ints, Ints]:
    """(indices, indptr) of CSR rows from runs of entries, each run ascending in its rows."""
    counts = [np.bincount(row, minlength=n) for row in rows]
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(sum(counts), out=indptr[1:])
    indices = np.empty(indptr[-1], dtype=np.int32)
    base = indptr[:-1].copy()
    for column, count in zip(columns, counts, strict=True):
        # entry j of this run goes to base[row] + (j - how many entries earlier rows have)
        shift = base - (np.cumsum(count) - count)
        indices[np.repeat(shift, count) + np.arange(len(column))] = column
        base += count
    return indices, indptr.astype(np.int32) if indptr[-1] <= MAX_COLUMNS else indptr
