"""Data sets by name."""

from __future__ import annotations

import difflib

from . import derived, prepared
from .dataset import Dataset


def names() -> list[str]:
    """All names that `load` knows."""
    return sorted([*prepared.READERS, *derived.MAKERS])


def load(name: str) -> Dataset:
    """A data set: from the folder of BOCHNER_DATA, from the cache, or from its publisher.

    Examples
    --------
    >>> from bochner.datasets import names
    >>> "mnist49" in names()
    True
    """
    if name in derived.MAKERS:
        return derived.MAKERS[name](load)
    if name in prepared.READERS:
        return prepared.read(name)
    close = difflib.get_close_matches(name, names())
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names())}."
    raise ValueError(f"no data set is called {name!r}: {hint}")
