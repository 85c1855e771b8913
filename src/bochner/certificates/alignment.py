"""What Sinha & Duchi 2016 guarantee of a learned alignment and of the classifier on top of it.

Symbols: phi features, S(x, x') in [-1, 1] the similarity of labels, T(Q) = E[S(X, X') K_Q(X, X')]
over independent rows, T^(Q) the same over the pairs i != j of the n rows; P the measures within
divergence rho of the base measure, P_N those within rho of N atoms drawn from it; order k;
C_rho = 2 (1 + rho) / (sqrt(1 + rho) - 1), D_rho = sqrt(8 (1 + rho)); b = sup |phi|.

The theory is written for |phi| <= 1. Alignments scale with b^2, so the bounds here are b^2 times
the printed ones, for the alignment of the features in use; divide by b^2 to compare with the paper
(``details["unit_bound"]``). Fourier features sqrt(2) cos(w.x + b) have b = sqrt(2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops import FloatArray
from .arguments import CENTRED, ROWS, broken_by, check_feature_bound, check_radius, common
from .certificate import Certificate, check_count, check_delta, check_number

#: T and T^ are within [-b^2, b^2]: what a difference of two of them never exceeds, at b = 1.
_TRIVIAL = 2.0
_SIMILARITY = "the similarity of labels is a fixed function with values in [-1, 1]"
_PAIRS = "the alignment leaves out the pairs i = j (alignment_statistic)"
_ATOMS = "the N candidates are independent draws from the base measure, which is fixed beforehand"
_CHOSEN = "rho and the order k >= 2 are chosen without these rows (best of G: take delta / G)"


def alignment_statistic(scores: FloatArray, diagonal: FloatArray, n: int) -> FloatArray:
    """T^ of each candidate: (v_m - sum_i S_ii phi_m(x_i)^2) / (n (n - 1)).

    The solver's scores v_m = sum_ij S_ij phi_m(x_i) phi_m(x_j) keep the pairs i = j; the theory
    leaves them out. ``diagonal`` is sum_i phi_m(x_i)^2, since S_ii = 1 for classes.

    Examples
    --------
    >>> from bochner.certificates import alignment_statistic
    >>> alignment_statistic(scores=[60.0, 12.0], diagonal=[10.0, 8.0], n=10).round(3)
    array([0.556, 0.044])
    """
    n = check_count("n", n, 2, "a pair needs two rows.")
    v, own = np.asarray(scores, dtype=np.float64), np.asarray(diagonal, dtype=np.float64)
    if v.shape != own.shape:
        raise ValueError(
            f"scores have shape {v.shape}, diagonal has {own.shape}; give one of each a candidate."
        )
    return (v - own) / (float(n) * (n - 1))


def alignment_deviation(
    n: int,
    rho: float,
    delta: float = 0.05,
    *,
    feature_bound: float = 1.0,
    order: float = 2.0,
    centered: bool = False,
    empirical: float | None = None,
) -> Certificate:
    """Lemma 1: how far T^(Q) is from T(Q), for all Q within rho of the base measure at once.

    P(sup_Q |T^(Q) - T(Q)| >= t) <= sqrt(2) exp(-n t^2 / (16 (1 + rho))), solved for t at delta.
    It holds for any base measure fixed without the rows, N drawn atoms included. ``complexity``
    is 1 + rho; ``empirical`` is T^ of the learned measure, shown and not used. ``n`` counts the
    rows behind T^: those of the subsample, where the weights were learned on one.

    Examples
    --------
    >>> from bochner.certificates import alignment_deviation
    >>> round(alignment_deviation(n=1_000_000, rho=10.0).bound, 4)
    0.0243
    """
    n, rho, b = common(n, rho, feature_bound)
    delta = check_delta(delta)
    t = _deviation(n, rho, math.log(math.sqrt(2.0) / delta))
    return _alignment(
        "Lemma 1 (Sinha & Duchi 2016)",
        {"deviation": t},
        "sup over Q of |alignment on the rows - expected alignment|",
        (ROWS, _SIMILARITY, _PAIRS, _CHOSEN, "the base measure is fixed without these rows"),
        broken_by(b, order, centered),
        (empirical, 1.0 + rho, delta, b),
        {"n": n, "rho": rho},
    )


def alignment_sampling(
    n_candidates: int,
    rho: float,
    delta: float = 0.05,
    *,
    feature_bound: float = 1.0,
    order: float = 2.0,
    empirical: float | None = None,
) -> Certificate:
    """Lemma 2: what drawing N candidates costs in alignment on the given rows.

    4 C_rho sqrt(log(2 N) / N) + D_rho sqrt(log(2 / delta) / N). At rho = 0 the printed C_rho is
    infinite, though the base measure is then the only member of P and its first term is exactly
    zero: corrected here. ``complexity`` is C_rho.

    Examples
    --------
    >>> from bochner.certificates import alignment_sampling
    >>> round(alignment_sampling(n_candidates=10_000_000, rho=10.0).bound, 3)
    0.055
    """
    N = check_count("n_candidates", n_candidates, 1, "draw at least one.")
    rho, b = check_radius(rho), check_feature_bound(feature_bound)
    delta = check_delta(delta)
    expectation, concentration = _sampling(N, rho, delta)
    return _alignment(
        "Lemma 2 (Sinha & Duchi 2016)",
        {"expectation": expectation, "concentration": concentration},
        "|best alignment over the candidates - best over the whole base measure|, on these rows",
        (_ATOMS, _CHOSEN, "S is within [-1, 1]", _PAIRS),
        broken_by(b, order, False),
        (empirical, _c_rho(rho), delta, b),
        {"N": N, "rho": rho},
    )


def alignment_suboptimality(
    n: int,
    n_candidates: int,
    rho: float,
    delta: float = 0.05,
    *,
    feature_bound: float = 1.0,
    order: float = 2.0,
    centered: bool = False,
    gap: float = 0.0,
    empirical: float | None = None,
) -> Certificate:
    """Theorem 1: how far the learned measure is from the best one, in expected alignment.

    4 C_rho sqrt(log(2N) / N) + D_rho sqrt(log(2/delta) / N) + 2 D_rho sqrt(2 log(2/delta) / n).

    ``delta`` is the theorem's own, one for each of the three events in it: the statement holds at
    1 - 3 delta, and the certificate's ``delta`` is 3 delta. ``gap`` is by how much the weights in
    use miss the maximum of T^ over the candidates (0 for an exact solution; the solver keeps the
    pairs i = j, so its own gap is a different one); it adds to the bound. ``complexity`` is C_rho.

    Examples
    --------
    >>> from bochner.certificates import alignment_suboptimality
    >>> certificate = alignment_suboptimality(n=1_000_000, n_candidates=10_000_000, rho=10.0)
    >>> round(certificate.bound, 3), round(certificate.delta, 2), certificate.vacuous
    (0.106, 0.15, False)
    """
    n, rho, b = common(n, rho, feature_bound)
    N = check_count("n_candidates", n_candidates, 1, "draw at least one.")
    delta = check_delta(delta, parts=3)
    gap = check_number("gap", gap, 0.0, "it is a distance from the maximum.")
    expectation, concentration = _sampling(N, rho, delta)
    deviation = 2.0 * _deviation(n, rho, math.log(2.0 / delta))
    parts = {"expectation": expectation, "concentration": concentration, "deviation": deviation}
    exact = "the weights maximise T^ over the candidates" + (" up to the gap" if gap else "")
    return _alignment(
        "Theorem 1 (Sinha & Duchi 2016)",
        parts | ({"gap": gap / b / b} if gap else {}),
        "|expected alignment of the learned measure - the best within rho of the base measure|",
        (ROWS, _SIMILARITY, _PAIRS, _ATOMS, _CHOSEN, exact),
        broken_by(b, order, centered),
        (empirical, _c_rho(rho), 3.0 * delta, b),
        {"n": n, "N": N, "rho": rho, "delta_of_the_theorem": delta},
    )


def _deviation(n: int, rho: float, log_term: float) -> float:
    return 4.0 * math.sqrt((1.0 + rho) * log_term / n)  # = D_rho sqrt(2 log_term / n)


def _sampling(N: int, rho: float, delta: float) -> tuple[float, float]:
    D = math.sqrt(8.0 * (1.0 + rho))
    expectation = 4.0 * _c_rho(rho) * math.sqrt(math.log(2.0 * N) / N)
    return expectation, D * math.sqrt(math.log(2.0 / delta) / N)


def _c_rho(rho: float) -> float:
    """C_rho, multiplied out by sqrt(1 + rho) + 1 to keep its digits at small rho."""
    return 2.0 * (1.0 + rho) * (math.sqrt(1.0 + rho) + 1.0) / rho if rho > 0 else 0.0


def _alignment(
    name: str,
    parts: dict[str, float],
    quantity: str,
    assumptions: tuple[str, ...],
    broken: tuple[str, ...],
    numbers: tuple[float | None, float, float, float],
    given: dict[str, Any],
) -> Certificate:
    """A bound on a difference of alignments from its parts at |phi| <= 1."""
    empirical, complexity, delta, b = numbers
    # centring leaves a number to look at; outside k >= 2 or without a bound there is none
    unit = sum(parts.values()) if all(reason == CENTRED for reason in broken) else math.inf
    return Certificate(
        name=name,
        bound=unit * b * b,
        empirical=empirical,
        complexity=complexity,
        delta=delta,
        quantity=quantity,
        assumptions=(*assumptions, f"|phi| <= {b:.4g}"),
        vacuous=unit >= _TRIVIAL,
        broken=broken,
        details={**given, "sup |phi|": b, "unit_bound": unit, **parts},
    )
