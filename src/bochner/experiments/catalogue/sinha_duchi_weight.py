"""Weight lifting: its lines of tables 3, 4 and 6."""

from __future__ import annotations

from ._sinha_duchi import WEIGHT, WEIGHT_LARGE, compared

EXPERIMENT = compared("sinha_duchi_weight", "tables 4 and 6, weight", (WEIGHT, WEIGHT_LARGE))
