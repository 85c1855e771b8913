"""Farm ads, internet ads and reuters: feature selection, three lines of tables 3 and 4."""

from __future__ import annotations

from ._sinha_duchi import ADS, FARM, REUTERS, compared

EXPERIMENT = compared("sinha_duchi_sparse", "table 4, sparse data", (FARM, ADS, REUTERS))
