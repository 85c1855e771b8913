"""Theorem 3 for a fitted selection: which assumptions hold, and which are known to be broken.

The measure certified is that of the kernel in use: the frequencies kept or drawn, each with its
weight, and their own KL from the uniform prior over all N candidates.
"""

from __future__ import annotations

from dataclasses import replace

from ...certificates import Certificate, pac_bayes_second_order
from ...certificates.arguments import CENTRED, WEIGHTED
from ...certificates.certificate import check_delta
from ...certificates.kernel_loss import good_ts
from ..base import Selection

_SIMILARITY = {
    "amounts": "the similarity of amounts is scaled by the mean and deviation of these rows",
    "factor": "the label kernel given is not known to stay within [-1, 1]",
}
_PHASE = (
    "kernel alignment loss of the mean over phases of the learned kernel, sum_m q_m "
    "cos(w_m.(x - x')) (not the error of a classifier)"
)


def second_order(selection: Selection, delta: float) -> Certificate | None:
    """The certificate at 1 - delta; None for fewer than two rows, which make no pair."""
    stats, delta = selection.stats, check_delta(delta)
    n = int(stats["n"])
    if n < 2 or selection.path is None:
        return None
    ts = good_ts(n, delta, len(selection.path.losses))
    loss, kl = stats["kept_loss"], stats["kept_kl"]
    broken = _broken(selection)
    if not 0.0 <= loss <= 1.0:  # a label kernel that leaves [-1, 1]
        loss = min(max(loss, 0.0), 1.0)
    found = pac_bayes_second_order(loss, kl, n, delta, t=ts, broken=broken)
    details = {**found.details, "candidates": len(selection.path.losses)}
    quantity = found.quantity if stats["form"] == "pair" else _PHASE
    return replace(found, quantity=quantity, details=details)


def _broken(selection: Selection) -> tuple[str, ...]:
    stats = selection.stats
    known = _SIMILARITY.get(stats["similarity"])
    reasons = [] if known is None else [known]
    if stats["centered"]:
        reasons.append(CENTRED)
    if stats["weighted"]:
        reasons.append(WEIGHTED)
    return tuple(reasons)
