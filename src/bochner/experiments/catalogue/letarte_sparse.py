"""Farm ads and internet ads: their lines of table 1, in both protocols."""

from __future__ import annotations

from ._letarte import Row, table

#: Frequencies of farm's 54,877 columns are Hadamard-diagonal products: as a matrix they would take
#: 4 GB.
EXPERIMENT = table(
    "letarte_sparse",
    "farm and ads",
    [
        *(Row("farm_ads", 3, scaled, "structured", 1500) for scaled in (False, True)),
        *(Row("internet_ads", 10, scaled) for scaled in (False, True)),
    ],
)
