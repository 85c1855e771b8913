"""What is guaranteed: one function per bound, each returning a `Certificate`."""

from .alignment import (
    alignment_deviation,
    alignment_sampling,
    alignment_statistic,
    alignment_suboptimality,
)
from .certificate import Certificate
from .classifier import held_out_error, pac_bayes_linear
from .conformal import residual_tolerance
from .game import margin_game_gap, margin_generalisation, potential_sample_size
from .greedy import greedy_excess_risk, greedy_rademacher
from .kernel_loss import (
    chi_square,
    f_divergence,
    fixed_kernel,
    fixed_landmarks,
    landmark,
    loss_variance,
    pac_bayes_first_order,
    pac_bayes_second_order,
    pac_bayes_union,
)
from .margin import alignment_rademacher, margin_loss, margin_risk

__all__ = [
    "Certificate",
    "alignment_deviation",
    "alignment_rademacher",
    "alignment_sampling",
    "alignment_statistic",
    "alignment_suboptimality",
    "chi_square",
    "f_divergence",
    "fixed_kernel",
    "fixed_landmarks",
    "greedy_excess_risk",
    "greedy_rademacher",
    "held_out_error",
    "landmark",
    "loss_variance",
    "margin_game_gap",
    "margin_generalisation",
    "margin_loss",
    "margin_risk",
    "pac_bayes_first_order",
    "pac_bayes_linear",
    "pac_bayes_second_order",
    "pac_bayes_union",
    "potential_sample_size",
    "residual_tolerance",
]
