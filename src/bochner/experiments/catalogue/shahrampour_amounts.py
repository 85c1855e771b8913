"""Regression: the stand-in for the years of songs, California housing, kin8nm."""

from __future__ import annotations

from ..result import Result
from ._shahrampour import Row, compared
from ._shahrampour_shown import MEDIAN, MFGA, largest


def decay(result: Result) -> list[str]:
    """Why the Taylor map does badly at the paper's bandwidth."""
    found = []
    for data in dict.fromkeys(line.data for line in result.lines):
        near, wide = (largest(result, data, name) for name in (MFGA, MEDIAN))
        told = f"{data}: with the median distance as bandwidth MFGA has {wide.mean:.1f} %"
        told += f" at M = {wide.n_features:.0f}, with the paper's {near.mean:.1f} %"
        if wide.mean < near.mean:
            told += (
                ": its features carry a factor exp(-|x|^2 / 2 s^2), which leaves little of rows "
                "much longer than s"
            )
        found.append(told)
    return found


def unlike(result: Result) -> list[str]:
    """What the paper prints for its years."""
    told = decay(result)
    if not result.where(data="year"):
        return told
    return [
        *told,
        "year: the paper prints 8.27 (RKS), 8.51 (LKRF), 8.76 (EERF), 4.78 (MFGA), 5.70 (GK) and "
        '5.08 % (GLK) at M = 400 for an "error" that it does not define, on other data',
    ]


EXPERIMENT = compared(
    "shahrampour_amounts",
    "year of songs (stand-in), and two more regressions",
    (
        Row("kin8nm", (5, 10, 20, 45), 2000, 1.0, most_rows=4000, wider=2000),
        Row("california_housing", (6, 12, 25, 55), 2000, 0.3, most_rows=4000, wider=2000),
        Row("year", (50, 100, 200, 400), 4000, 1.0, wider=9000),
    ),
    unlike,
)
