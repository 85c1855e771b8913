"""The hot loops: what a projection does with rows, in cache-sized tiles on every core.

``reference`` is the definition; this is the fast CPU path to the same numbers, up to rounding.
Nothing is compiled, and numba is not even imported, before the first call.
"""

from .column_set import AnyColumns, ColumnSet
from .explicit import Explicit
from .gram import gram, gram_and_project
from .linear import sparse_columns
from .mixed import Mixed
from .moments import moments
from .pool import blas_for, single_threaded_blas, usable_threads
from .project import project
from .projection import Columns, Dense, FloatArray, Projection, Structured
from .pull import pull
from .rowwise import features, fold, map_rows
from .stack import Stack
from .warm import first_call_seconds

__all__ = [
    "AnyColumns",
    "ColumnSet",
    "Columns",
    "Dense",
    "Explicit",
    "FloatArray",
    "Mixed",
    "Projection",
    "Stack",
    "Structured",
    "blas_for",
    "features",
    "first_call_seconds",
    "fold",
    "gram",
    "gram_and_project",
    "map_rows",
    "moments",
    "project",
    "pull",
    "single_threaded_blas",
    "sparse_columns",
    "usable_threads",
]
