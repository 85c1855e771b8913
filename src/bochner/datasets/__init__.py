"""Public data sets of the papers, ``load("mnist17")``, and made ones, ``make_windmill()``.

A file is looked for in the folder named by ``BOCHNER_DATA`` first, then in the cache, and is then
downloaded from its publisher, with a checksum. `DataUnavailableError` says what to do where none of
these works.
"""

from __future__ import annotations

from .dataset import Dataset, DataUnavailableError
from .load import load, names
from .shapes import make_checkerboard, make_windmill

__all__ = [
    "DataUnavailableError",
    "Dataset",
    "load",
    "make_checkerboard",
    "make_windmill",
    "names",
]
