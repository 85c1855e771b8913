"""Breast cancer: its line of table 1, in both protocols."""

from __future__ import annotations

from ._letarte import Row, table

EXPERIMENT = table(
    "letarte_breast", "breast", [Row("breast", 12, scaled) for scaled in (False, True)]
)
