"""Epileptic seizures: split by row as in the paper, and by recording."""

from __future__ import annotations

from ._shahrampour import Row, compared, printed

SIZES = (2, 4, 8, 12, 16, 20)
FIGURES = printed(6.21, 5.24, 4.46, 4.73, 2.82, 3.41)

EXPERIMENT = compared(
    "shahrampour_epileptic",
    "epileptic seizure recognition",
    (
        Row("epileptic", SIZES, 2000, 1.0, printed=FIGURES, most_rows=5000),
        Row("epileptic", SIZES, 2000, 1.0, groups=True, most_rows=5000),
    ),
)
