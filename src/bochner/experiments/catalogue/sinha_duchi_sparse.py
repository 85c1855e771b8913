"""Farm ads and internet ads: feature selection, two lines of tables 3 and 4."""

from __future__ import annotations

from ._sinha_duchi import ADS, FARM, compared

EXPERIMENT = compared("sinha_duchi_sparse", "table 4, farm and ads", (FARM, ADS))
