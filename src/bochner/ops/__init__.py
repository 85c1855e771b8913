"""The hot loops: what a projection does with rows, in cache-sized tiles on every core.

``reference`` is the definition; this is the fast CPU path to the same numbers, up to rounding.
Nothing is compiled, and numba is not even imported, before the first call.
"""

from .gram import gram
from .pool import single_threaded_blas, usable_threads
from .project import project
from .projection import Columns, Dense, FloatArray, Projection, Structured
from .pull import pull
from .rowwise import features, fold, map_rows
from .warm import first_call_seconds

__all__ = [
    "Columns",
    "Dense",
    "FloatArray",
    "Projection",
    "Structured",
    "features",
    "first_call_seconds",
    "fold",
    "gram",
    "map_rows",
    "project",
    "pull",
    "single_threaded_blas",
    "usable_threads",
]
