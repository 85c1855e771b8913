"""Adult: its line of table 1, in both protocols."""

from __future__ import annotations

from ..landmarks import SVM_HEAD
from ._letarte import PB, RBF, SVM, Row, table

BETAS = (0.3, 1.0)

EXPERIMENT = table(
    "letarte_adult",
    "adult",
    [
        Row("adult", 1, False, Ks=(16,), betas=BETAS, head=SVM_HEAD, only=(SVM, RBF, PB)),
        Row("adult", 1, True, Ks=(64,), betas=BETAS, own=(3e-4, 1e-3, 3e-3), head=SVM_HEAD),
    ],
)
