"""Breast cancer: its line of table 1, in both protocols."""

from __future__ import annotations

from ..landmarks import SVM_HEAD
from ._letarte import Row, table

RAW = tuple(10.0**k for k in range(-7, -2))
STANDARD = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)

EXPERIMENT = table(
    "letarte_breast",
    "breast",
    [
        Row("breast", 12, False, choices=5, own=RAW, head=SVM_HEAD),
        Row("breast", 12, True, choices=5, own=STANDARD, head=SVM_HEAD),
    ],
)
