"""Adult: the raw table with one column a value, and a9a."""

from __future__ import annotations

from ._shahrampour import Row, compared, printed

SIZES = (10, 20, 40, 60, 80, 100)
FIGURES = printed(17.7, 16.46, 16.15, 15.10, 15.70, 15.22)

EXPERIMENT = compared(
    "shahrampour_adult",
    "adult",
    (
        Row("adult", SIZES, 2000, 0.25, printed=FIGURES, most_rows=5000),
        Row("a9a", SIZES, 2000, 0.25, printed=FIGURES, most_rows=5000),
    ),
)
