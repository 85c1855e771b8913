"""Regression: the stand-in for the years of songs, California housing, kin8nm."""

from __future__ import annotations

from ..result import Result
from ._shahrampour import Row, compared


def unlike(result: Result) -> list[str]:
    """What the paper prints for its years."""
    if not result.where(data="year"):
        return []
    return [
        "year: the paper prints 8.27 (RKS), 8.51 (LKRF), 8.76 (EERF), 4.78 (MFGA), 5.70 (GK) and "
        '5.08 % (GLK) at M = 400 for an "error" that it does not define, on other data'
    ]


EXPERIMENT = compared(
    "shahrampour_amounts",
    "year of songs (stand-in), and two more regressions",
    (
        Row("kin8nm", (5, 10, 20, 45), 2000, 1.0, most_rows=4000),
        Row("california_housing", (6, 12, 25, 55), 2000, 0.3, most_rows=4000),
        Row("year", (50, 100, 200, 400), 4000, 1.0),
    ),
    unlike,
)
