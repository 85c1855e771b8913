"""Adult (a9a): the line of tables 3 and 4."""

from __future__ import annotations

from ._sinha_duchi import ADULT, compared

EXPERIMENT = compared("sinha_duchi_adult", "table 4, adult", (ADULT,))
