"""What is guaranteed of a fitted selection: which bounds apply, and which assumptions it breaks.

Theorem 1 speaks of the weights q that maximise T^, the alignment over pairs i != j. Two things
stand between them and the kernel in use, and both are paid for here:

1. The solver keeps the pairs i = j. Its objective differs from T^ by a mean of phi_m(x_i)^2 in
   [0, b^2], so that q misses the maximum of T^ by at most (gap + n b^2) / (n (n - 1)).
2. ``use="sample"`` keeps D draws from q. By Hoeffding the expected alignment of their kernel is
   within b^2 sqrt(2 log(2 / delta) / D) of that of q: a fourth event, at the same delta.

``radius="auto"`` chooses among radii that are fixed before the data are seen, by what it sees: the
bound is for all of them at once, each at its share of delta.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ...certificates import Certificate, alignment_suboptimality
from ...certificates.arguments import WEIGHTED
from ...certificates.certificate import check_delta
from ..base import Selection

_SIMILARITY = {
    "amounts": "the similarity of amounts is scaled by the largest of these rows",
    "factor": "the label kernel given is not known to stay within [-1, 1]",
}
_DRAWN = {
    "kept": "the candidates are what a former learner kept, and no independent draws",
    "finite": "the candidates are all columns there are, and no independent draws",
    "jointly": "the candidates are drawn jointly (orthogonal, Sobol, in pairs or by parts)",
}
_DISTINCT = "no two rows are equal (a subsample by hash keeps equal rows together)"
_TRIVIAL = 2.0


def suboptimality(
    selection: Selection, feature_bound: float, delta: float, order: float
) -> Certificate | None:
    """Theorem 1 for the kernel in use, at 1 - delta in all, and every reason why it may not hold.

    None for fewer than two rows, which make no pair.
    """
    assert selection.scores is not None
    stats, delta = selection.stats, check_delta(delta)
    n, N, b = int(stats["rows"]), len(selection.scores), float(feature_bound)
    if n < 2:
        return None
    tried = len(stats.get("radii", ())) or 1
    sampled = stats["use"] == "sample"
    each = delta / (tried * (4 if sampled else 3))  # of each event, for each radius tried
    diagonal = 0.0 if math.isinf(b) else (stats["gap"] + n * b * b) / (float(n) * (n - 1))
    found = alignment_suboptimality(
        n,
        N,
        stats["rho"],
        each,
        feature_bound=b,
        order=order,
        centered=stats["centered"],
        gap=diagonal,
    )
    found = replace(found, delta=delta, broken=(*found.broken, *_broken(selection)))
    if sampled:
        found = _with_draws(found, int(stats["draws"]), b, each)
    assumptions = (*found.assumptions, *((_DISTINCT,) if stats["subsample"] < 1.0 else ()))
    measured = stats["value"] / float(n) ** 2
    details = {**found.details, "radii tried": tried, "alignment with i = j": measured}
    return replace(found, assumptions=assumptions, details=details)


def _broken(selection: Selection) -> list[str]:
    stats = selection.stats
    given = (_SIMILARITY.get(stats["similarity"]), _DRAWN.get(stats["drawn"]))
    reasons = [reason for reason in given if reason is not None]
    if stats["weighted"]:
        reasons.append(WEIGHTED)
    if stats["use"] in ("support", "top"):
        reasons.append(f'use="{stats["use"]}" keeps columns without their learned weights')
    elif stats["use"] == "weight" and len(stats["columns"]) < stats["nnz"]:
        kept, nnz = len(stats["columns"]), stats["nnz"]
        reasons.append(f"{kept} of {nnz} weighted candidates are kept: not the learned measure")
    return reasons


def _with_draws(found: Certificate, D: int, b: float, delta: float) -> Certificate:
    """The bound with what D draws from q add to it."""
    draws = math.sqrt(2.0 * math.log(2.0 / delta) / D)
    unit = found.details["unit_bound"] + draws
    details = {**found.details, "unit_bound": unit, "draws": draws, "D": D}
    return replace(found, bound=unit * b * b, vacuous=unit >= _TRIVIAL, details=details)
