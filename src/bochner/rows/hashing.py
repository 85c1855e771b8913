"""A keyed 64-bit hash of the content of rows.

Choosing rows by their hash makes a subset that depends neither on the order of the rows nor on
how they are cut into blocks, and that keeps equal rows together. Zeros contribute nothing, so a
sparse row and its dense twin, or a float32 row and its float64 copy, have the same hash. In a
`Frame` a category counts by its text, and a missing value by being one.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .block import Array, Frame

_STRIP_BYTES = 2**18  # temporaries of the dense hash stay in the second-level cache
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(32)


def hash_rows(X: Any, seed: int, y: Array | None = None) -> NDArray[np.uint64]:
    """One hash per row of X (n x d dense, CSR or a `Frame`), of y too when given."""
    X = canonical(X)
    keys = _column_keys(seed, X.shape[1])
    if isinstance(X, Frame):
        total = _frame_sums(X, keys)
    else:
        total = _sparse_sums(X, keys) if sparse.issparse(X) else _dense_sums(X, keys)
    if y is not None:
        columns = y.reshape(len(y), -1).astype(np.float64, copy=False)
        total += _dense_sums(columns, _column_keys(seed + 1, columns.shape[1]))
    return _finish(total + np.uint64(seed % 2**63))


def canonical(X: Any) -> Any:
    """CSR whose entries at one place are summed (in a copy if need be); anything else as it is."""
    if not sparse.issparse(X) or (X.format == "csr" and X.has_canonical_format):
        return X
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    return X


def _column_keys(seed: int, n_columns: int) -> NDArray[np.uint64]:
    """An odd multiplier for each column, from a counter: column j's does not depend on d."""
    counter = np.arange(1, n_columns + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return _finish(counter ^ np.uint64(seed % 2**64)) | np.uint64(1)


def _finish(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Murmur's finaliser: every bit of the input reaches every bit of the output."""
    h = (h ^ (h >> np.uint64(33))) * _MIX
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


def _entries(values: Array, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The contribution of each entry; that of a zero is zero."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    bits ^= bits >> np.uint64(29)  # a float32 leaves the low 29 bits empty: fill them first
    bits *= keys
    bits ^= bits >> _SHIFT
    bits *= _MIX
    return bits


def _dense_sums(X: Array, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    step = max(1, _STRIP_BYTES // (8 * max(1, X.shape[1])))
    total = np.empty(X.shape[0], dtype=np.uint64)
    for start in range(0, len(total), step):
        strip = np.ascontiguousarray(X[start : start + step])
        np.sum(_entries(strip, keys), axis=1, dtype=np.uint64, out=total[start : start + step])
    return total


def _sparse_sums(X: Any, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    entries = _entries(X.data, keys[X.indices])
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _frame_sums(frame: Frame, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    total = np.zeros(len(frame), dtype=np.uint64)
    for column, key in zip(frame.columns, keys, strict=True):
        values = column if column.dtype.kind in "biuf" else _codes(column)
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), np.nan, values)  # one kind of NaN
        total += _entries(values, np.broadcast_to(key, len(values)))
    return total


def _codes(column: Array) -> Array:
    """A number in [1, 2) for each text, the same on every machine; missing is zero."""
    known: dict[Any, float] = {None: 0.0}
    out = np.empty(len(column))
    for i, value in enumerate(column):
        if value not in known:
            digest = hashlib.blake2b(str(value).encode(), digest_size=6).digest()
            known[value] = 1.0 + int.from_bytes(digest) / 2.0**48
        out[i] = known[value]
    return out
