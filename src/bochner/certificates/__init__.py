"""What is guaranteed: one function per bound, each returning a `Certificate`."""

from .alignment import (
    alignment_deviation,
    alignment_sampling,
    alignment_statistic,
    alignment_suboptimality,
)
from .certificate import Certificate
from .margin import alignment_rademacher, margin_loss, margin_risk

__all__ = [
    "Certificate",
    "alignment_deviation",
    "alignment_rademacher",
    "alignment_sampling",
    "alignment_statistic",
    "alignment_suboptimality",
    "margin_loss",
    "margin_risk",
]
