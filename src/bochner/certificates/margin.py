"""What Sinha & Duchi 2016 guarantee of the classifier on top of a learned alignment.

Symbols: q in P_N the learned weights of N candidates phi_m, within divergence rho of uniform;
h = sum_m a_m sqrt(q_m) phi_m with |a|_2 <= B; b = sup |phi|, which multiplies every bound here
(the theory is written for b = 1).
"""

from __future__ import annotations

import math

import numpy as np

from ..ops import FloatArray
from .arguments import ROWS, broken_by, common
from .certificate import Certificate, check_delta, check_number


def alignment_rademacher(
    n: int,
    rho: float,
    norm: float,
    *,
    feature_bound: float = 1.0,
    order: float = 2.0,
    printed: bool = False,
) -> Certificate:
    """Lemma 3: Rademacher complexity of {sum_m a_m sqrt(q_m) phi_m : q in P_N, |a|_2 <= B}.

    Printed: B sqrt(2 (1 + rho) / n). Tightened (the default): B (3 (1 + rho))^(1/4) / sqrt(n).

    The paper's own proof gives the second. With psi_m the n values of phi_m and sigma the signs,
    R = (B/n) E sup_q (q'u)^(1/2), u_m = (sigma'psi_m)^2. On P_N |q|_2 <= sqrt((1 + rho) / N)
    (eq. 13), so by Cauchy-Schwarz and Jensen R <= (B/n) ((1 + rho) max_m E (sigma'psi_m)^4)^(1/4);
    E (sigma'psi)^4 = 3 (sum psi_i^2)^2 - 2 sum psi_i^4 grows with every |psi_i| <= 1, so it is at
    most 3 n^2 - 2 n. The last printed step, (3 (1 + rho))^(1/4) <= (2 (1 + rho))^(1/2), is what is
    left out here. No probability is involved: ``delta`` is 0. Vacuous from B b on, since
    |h| <= B b on every row. ``complexity`` is the bound itself.

    Examples
    --------
    >>> from bochner.certificates import alignment_rademacher
    >>> round(alignment_rademacher(n=10_000, rho=10.0, norm=5.0).bound, 4)
    0.1198
    """
    n, rho, b = common(n, rho, feature_bound)
    B = check_number("norm", norm, 0.0, "it is the largest norm of the coefficients.")
    broken = broken_by(b, order, False)
    bound = math.inf if broken else B * b * _rademacher(n, rho, printed)
    return Certificate(
        name=f"Lemma 3 (Sinha & Duchi 2016, {'as printed' if printed else 'tightened'})",
        bound=bound,
        empirical=None,
        complexity=bound,
        delta=0.0,
        quantity="empirical Rademacher complexity of the functions sum_m a_m sqrt(q_m) phi_m",
        assumptions=("|a|_2 <= B", "q within rho of uniform over the candidates", "order k >= 2"),
        vacuous=bound >= B * b,
        broken=broken,
        details={"n": n, "rho": rho, "B": B, "sup |phi|": b},
    )


def margin_risk(
    n: int,
    rho: float,
    norm: float,
    margin: float = 1.0,
    delta: float = 0.05,
    *,
    empirical: float | None = None,
    feature_bound: float = 1.0,
    order: float = 2.0,
    printed: bool = False,
) -> Certificate:
    """Theorem 2: the misclassification risk of any classifier of Lemma 3's class.

    R(h) <= R^_nu(h) + (2 / nu) R_n + 3 sqrt(log(2 / delta) / (2 n)), for all h of the class at
    once, with R_n from Lemma 3 (tightened unless ``printed``). ``empirical`` is R^_nu(h), from
    `margin_loss`; without it the certificate bounds R(h) - R^_nu(h). ``complexity`` is 2 R_n / nu.

    Examples
    --------
    >>> from bochner.certificates import margin_risk
    >>> round(margin_risk(n=100_000, rho=10.0, norm=5.0, empirical=0.1).bound, 3)
    0.189
    """
    delta = check_delta(delta)
    nu = check_number(
        "margin", margin, 0.0, "the margin is what a score is held to.", open_end=True
    )
    if empirical is not None and not 0.0 <= empirical <= 1.0:
        raise ValueError(f"empirical must be in [0, 1], got {empirical!r}: see margin_loss.")
    inner = alignment_rademacher(
        n, rho, norm, feature_bound=feature_bound, order=order, printed=printed
    )
    complexity = 2.0 * inner.bound / nu
    bound = (empirical or 0.0) + complexity + 3.0 * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
    risk = "misclassification risk P(Y h(X) < 0)"
    fixed = "B, nu, rho and the candidates are fixed without the labels of these rows"
    return Certificate(
        name="Theorem 2 (Sinha & Duchi 2016)",
        bound=bound,
        empirical=empirical,
        complexity=complexity,
        delta=delta,
        quantity=risk if empirical is not None else f"{risk} - its margin loss on the rows",
        assumptions=(
            ROWS,
            "the classifier is sum_m a_m sqrt(q_m) phi_m",
            *inner.assumptions,
            fixed,
        ),
        vacuous=bound >= 1.0,
        broken=inner.broken,
        details={**inner.details, "nu": nu},
    )


def margin_loss(decision: FloatArray, y: FloatArray, margin: float = 1.0) -> float:
    """R^_nu of Theorem 2: the mean of min(1, [1 - y h / nu]_+), for y of -1 and +1.

    Examples
    --------
    >>> from bochner.certificates import margin_loss
    >>> margin_loss([2.0, 0.5, -1.0], [1, 1, -1])
    0.16666666666666666
    """
    nu = check_number(
        "margin", margin, 0.0, "the margin is what a score is held to.", open_end=True
    )
    h, signs = np.asarray(decision, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if h.shape != signs.shape or h.ndim != 1 or not h.size:
        raise ValueError(f"decision has shape {h.shape}, y has {signs.shape}; give n of each.")
    if not np.all(np.abs(signs) == 1.0):
        raise ValueError("y must hold -1 and +1 only; map the two classes to these first.")
    return float(np.mean(np.clip(1.0 - signs * h / nu, 0.0, 1.0)))


def _rademacher(n: int, rho: float, printed: bool) -> float:
    factor = math.sqrt(2.0 * (1.0 + rho)) if printed else (3.0 * (1.0 + rho)) ** 0.25
    return factor / math.sqrt(n)
