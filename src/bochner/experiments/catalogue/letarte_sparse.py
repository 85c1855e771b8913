"""Farm ads and internet ads: their lines of table 1, in both protocols."""

from __future__ import annotations

from ..landmarks import SVM_HEAD
from ._letarte import Row, table

#: Frequencies of farm's 54,877 columns are Hadamard-diagonal products: as a matrix they would take
#: 4 GB.
EXPERIMENT = table(
    "letarte_sparse",
    "farm and ads",
    [
        Row("farm_ads", 3, False, "structured", own=(1e-4, 3e-4, 1e-3, 3e-3), head=SVM_HEAD),
        Row("farm_ads", 3, True, "structured", own=(0.03, 0.1, 0.3, 1.0), head=SVM_HEAD),
        Row("internet_ads", 10, False, own=(1e-3, 1e-2, 1e-1), head=SVM_HEAD),
        Row("internet_ads", 10, True, own=(0.03, 0.1, 0.3, 1.0), head=SVM_HEAD),
    ],
)
