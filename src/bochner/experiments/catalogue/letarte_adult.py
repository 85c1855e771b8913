"""Adult: its line of table 1, in both protocols."""

from __future__ import annotations

from ._letarte import Row, table

EXPERIMENT = table("letarte_adult", "adult", [Row("adult", 1, scaled) for scaled in (False, True)])
