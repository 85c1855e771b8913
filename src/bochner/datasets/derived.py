"""Data sets cut out of others: pairs of digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .dataset import Dataset

Load = Callable[[str], Dataset]


def digits(load: Load, *, a: int, b: int) -> Dataset:
    """Two digits of mnist, pixels in [0, 1]; y is the digit."""
    mnist = load("mnist")
    assert mnist.test is not None
    rows = np.flatnonzero((mnist.y == a) | (mnist.y == b))
    test = np.flatnonzero(np.isin(rows, mnist.test))
    X = mnist.X[rows].astype(np.float32) / np.float32(255)
    return Dataset(f"mnist{a}{b}", X, mnist.y[rows], test, note=mnist.note)


MAKERS: dict[str, Callable[[Load], Dataset]] = {
    "mnist17": partial(digits, a=1, b=7),
    "mnist49": partial(digits, a=4, b=9),
    "mnist56": partial(digits, a=5, b=6),
}
