"""Pairs of handwritten digits: their lines of table 1.

Columns share a unit (ink), so the second protocol would be the first with other gammas.
"""

from __future__ import annotations

from ._letarte import Row, table

EXPERIMENT = table(
    "letarte_digits", "digits", [Row(name, 1, True) for name in ("mnist17", "mnist49", "mnist56")]
)
