"""Pairs of handwritten digits: their lines of table 1.

Columns share a unit (ink), so the second protocol would be the first with other gammas.
Frequencies are Hadamard-diagonal products: as good here, and made in a quarter of the time.
"""

from __future__ import annotations

from ..landmarks import SVM_HEAD
from ._letarte import Row, table

PAIRS = ("mnist17", "mnist49", "mnist56")

EXPERIMENT = table(
    "letarte_digits",
    "digits",
    [
        Row(
            name,
            1,
            True,
            "structured",
            Ks=(64,),
            betas=(0.3, 1.0),
            own=(3e-3, 1e-2),
            own_size=256,
            head=SVM_HEAD,
        )
        for name in PAIRS
    ],
)
