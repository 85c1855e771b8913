"""Adult: the raw table, with one column a value."""

from __future__ import annotations

from ._shahrampour import ADULT, compared

EXPERIMENT = compared("shahrampour_adult", "adult", (ADULT,))
