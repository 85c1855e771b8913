"""What the first call costs: loading numba, and compiling the kernels or reading their cache."""

from __future__ import annotations

import time

import numpy as np

from .project import project
from .projection import Dense, Projection
from .pull import pull


def first_call_seconds() -> float:
    """Seconds that the first `project` and `pull` of this process take; almost 0 once warm."""
    start = time.perf_counter()
    X, one = np.ones((2, 2), np.float32), np.ones((2, 1), np.float32)
    p = Projection(Dense(X), "cos", offsets=one[:, 0])
    project(X, p, one)
    pull(X, p, one, one)
    return time.perf_counter() - start
