"""Blocks of a memory map: copied by the thread that reads ahead, and let go of afterwards.

Without the copy the page faults would stall the thread that computes; without the release a pass
would leave the whole file resident.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from .block import Array

#: Bytes of a memory map that are touched before they are let go.
STRIP_BYTES = 32 * 2**20


def base_memmap(X: Any) -> Any:
    """The memory map that X is, or is a view of; None where there is none."""
    while X is not None:
        if isinstance(X, np.memmap):
            return X
        X = getattr(X, "base", None)
    return None


def copied(mapped: Any, part: Array, dtype: Any) -> Array:
    """A C-ordered copy of a part of a memory map, whose pages are then given back."""
    out = np.array(part, dtype=dtype, order="C", copy=True)
    _release(mapped, part)
    return out


def gathered(mapped: Any, X: Array, columns: list[int]) -> Array:
    """Some columns of a memory map, without leaving the rest of it resident."""
    out = np.empty((len(X), len(columns)), dtype=X.dtype)
    step = max(1, STRIP_BYTES // max(1, X[:1].nbytes))
    for start in range(0, len(X), step):
        strip = X[start : start + step]
        out[start : start + step] = strip[:, columns]
        _release(mapped, strip)
    return out


def _release(mapped: Any, part: Array) -> None:
    """Tell the system that these pages may go.

    Only of maps opened for reading: in a private one (mode "c") it would undo the user's writes.
    """
    buffer: Any = getattr(mapped, "_mmap", None)
    if getattr(mapped, "mode", None) != "r" or not hasattr(buffer, "madvise") or not part.size:
        return
    low, high = np.lib.array_utils.byte_bounds(part)
    start = np.frombuffer(buffer, dtype=np.uint8).ctypes.data
    first = (low - start) // mmap.PAGESIZE * mmap.PAGESIZE
    buffer.madvise(mmap.MADV_DONTNEED, first, high - start - first)
