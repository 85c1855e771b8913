"""What Bullins, Zhang & Zhang 2018 guarantee of frequencies found by the margin game.

Symbols: F(a, lambda) = sum a - 1/2 sum_t lambda_t v_t(a) with a in {0 <= a <= C, y'a = 0} and a
measure lambda of mass one; T rounds; eps_t how far v of round t is below the largest; R_x and
R_omega bounds of |x| and |w|; R_lambda the mass of the measure. Theorem 4.5 (hitting times) names
no constants, so there is nothing to compute.
"""

from __future__ import annotations

import math

from .arguments import ROWS
from .certificate import Certificate, check_count, check_delta, check_number


def margin_game_gap(
    n: int, T: int, C: float = 1.0, *, error: float = 0.0, printed: bool = False
) -> Certificate:
    """Theorem 4.1: max_a F(a, mean lambda) - min_lambda max_a F(a, lambda) after T rounds.

    Printed: mean(eps_t) / 2 + 3 (C + 2 C^2) n / (4 sqrt T). Corrected (the default):
    mean(eps_t) / 2 + 3 C n (1 + C n) / (2 sqrt T).

    1. Lemma C.1 takes (1 + 2 C) sqrt(n) for the largest gradient, but the inner product in it is as
       large as C n, so that the gradient is up to (1 + C n) sqrt(n).
    2. The "alternate form" is false as stated (v >= 0 for all t would force the value to zero). Its
       valid form: if F(a_t, lambda_t) <= r for all t, then max_a F(a, mean lambda) <= r + regret,
       the regret being ``complexity`` here.

    ``error`` is the mean of eps_t, which nobody knows of a search that is not exhaustive. F is
    between 0 and C n at its maximum, so the bound is vacuous from C n on: unless T is above
    2.25 (1 + C n)^2, which is why a search reports the gap that it measured.

    Examples
    --------
    >>> from bochner.certificates import margin_game_gap
    >>> certificate = margin_game_gap(n=100, T=1_000_000)
    >>> round(certificate.bound, 2), certificate.vacuous
    (15.15, False)
    """
    n = check_count("n", n, 2, "a margin lies between two rows.")
    T = check_count("T", T, 1, "play at least one round.")
    C = check_number("C", C, 0.0, "it is the box of the weights.", open_end=True)
    error = check_number("error", error, 0.0, "it is a distance from the largest potential.")
    regret = 3.0 * C * n * (1.0 + C * n) / (2.0 * math.sqrt(T))
    if printed:
        regret = 3.0 * (C + 2.0 * C**2) * n / (4.0 * math.sqrt(T))
    form = "as printed" if printed else "corrected"
    return Certificate(
        name=f"Theorem 4.1 (Bullins, Zhang & Zhang 2018, {form})",
        bound=0.5 * error + regret,
        empirical=error,
        complexity=regret,
        delta=0.0,
        quantity="SVM value of the mixture of all rounds - the least SVM value of any measure",
        assumptions=(
            "the l1-SVM game with steps D / (G sqrt t)",
            "eps_t, the shortfall of the peak of round t, is known",
        ),
        vacuous=0.5 * error + regret >= C * n,
        broken=("the gradient is bounded by n times what the proof takes",) if printed else (),
        details={"n": n, "T": T, "C": C, "rounds until not vacuous": 2.25 * (1.0 + C * n) ** 2},
    )


def margin_generalisation(
    n: int,
    omega: float,
    radius: float,
    theta: float,
    delta: float = 0.05,
    *,
    mass: float = 1.0,
    empirical: float | None = None,
    uniform: bool = True,
    printed: bool = False,
) -> Certificate:
    """Theorem 4.3: P(y f(x) <= 0) of any f with a'Ga <= 1 in a kernel of frequencies |w| <= omega.

    With R = (3 R_omega R_x + 1) sqrt(R_lambda / n), for one theta fixed beforehand

        empirical + 2 R / theta + 3 sqrt(log(2 / delta) / n)

    and for all theta in (0, sqrt(R_lambda)] at once (``uniform``)

        empirical + 4 R / theta + sqrt(log log_2(2 sqrt(R_lambda) / theta) / n)
                  + 3 sqrt(log(4 / delta) / n),

    where ``empirical`` is the share of rows with y f <= theta; without it the certificate bounds
    the difference. Printed: R without the 1, so that it vanishes at R_omega = 0 (the constant
    feature is still there), and the minimum over theta for nothing. Rows are bounded by
    ``radius`` (R_x), frequencies by ``omega`` (R_omega), the kernel's mass by ``mass`` (R_lambda);
    all three are fixed without the rows. ``complexity`` is what R costs.

    Examples
    --------
    >>> from bochner.certificates import margin_generalisation
    >>> round(margin_generalisation(100_000, omega=2.0, radius=1.0, theta=0.5).bound, 3)
    0.2
    """
    n = check_count("n", n, 1, "there has to be a row.")
    delta = check_delta(delta)
    omega = check_number("omega", omega, 0.0, "it bounds the frequencies.")
    radius = check_number("radius", radius, 0.0, "it bounds the rows.")
    theta = check_number("theta", theta, 0.0, "it is a margin.", open_end=True)
    mass = check_number("mass", mass, 0.0, "it is the kernel of a row with itself.", open_end=True)
    if empirical is not None and not 0.0 <= empirical <= 1.0:
        raise ValueError(f"empirical must be in [0, 1], got {empirical!r}: it is a share of rows.")
    R = (3.0 * omega * radius + (0.0 if printed else 1.0)) * math.sqrt(mass / n)
    every = uniform and not printed
    complexity = (4.0 if every else 2.0) * R / theta
    chance = 3.0 * math.sqrt(math.log((4.0 if every else 2.0) / delta) / n)
    if every:
        levels = max(2.0 * math.sqrt(mass) / theta, 2.0)
        chance += math.sqrt(math.log(max(math.log2(levels), 1.0)) / n)
    bound = (empirical or 0.0) + complexity + chance
    fixed = "R_x, R_omega and R_lambda are fixed without these rows"
    risk, form = "misclassification risk P(y f(x) <= 0)", "as printed" if printed else "corrected"
    return Certificate(
        name=f"Theorem 4.3 (Bullins, Zhang & Zhang 2018, {form})",
        bound=bound,
        empirical=empirical,
        complexity=complexity,
        delta=delta,
        quantity=risk if empirical is not None else f"{risk} - its margin loss on the rows",
        assumptions=(
            ROWS,
            "f has norm at most 1 in the kernel of the measure",
            "|x| <= R_x and |w| <= R_omega",
            fixed if every else f"{fixed}, and so is theta",
        ),
        vacuous=bound >= 1.0,
        broken=("the constant part of every cosine is left out",) if printed else (),
        details={"n": n, "R_omega": omega, "R_x": radius, "R_lambda": mass, "theta": theta},
    )


def potential_sample_size(
    epsilon: float, d: int, omega: float, radius: float, delta: float = 0.05
) -> Certificate:
    """Theorem 4.4, safe form: rows enough for |v / n^2 - v_ideal| <= epsilon at all |w| <= omega.

    n >= 32 (epsilon - 2 / n)^-2 (d log(1 + 16 R_x R_omega / epsilon) + log(2 / delta)), solved for
    the least n (``details["rows"]``). The printed form misses that a row may change its label (so
    that one row moves v / n^2 by more than its proof allows) and the bias of the pairs i = j. For
    weighted rows, a in [0, C], take epsilon / C^2. Vacuous from epsilon = 1 on: both lie in [0, 1].

    Examples
    --------
    >>> from bochner.certificates import potential_sample_size
    >>> potential_sample_size(0.1, d=2, omega=3.0, radius=1.0).details["rows"]
    51370
    """
    epsilon = check_number("epsilon", epsilon, 0.0, "it is the error to allow.", open_end=True)
    d = check_count("d", d, 1, "it is the number of columns.")
    omega = check_number("omega", omega, 0.0, "it bounds the frequencies.")
    radius = check_number("radius", radius, 0.0, "it bounds the rows.")
    delta = check_delta(delta)
    log_term = d * math.log1p(16.0 * radius * omega / epsilon) + math.log(2.0 / delta)
    half = 2.0 * epsilon + 16.0 * log_term  # (n eps - 2)^2 >= 32 n log_term, for the larger root
    rows = (half + math.sqrt(half**2 - 4.0 * epsilon**2)) / epsilon**2
    return Certificate(
        name="Theorem 4.4 (Bullins, Zhang & Zhang 2018, safe form)",
        bound=epsilon,
        empirical=None,
        complexity=log_term,
        delta=delta,
        quantity=f"sup over |w| <= {omega:.4g} of |v(w) / n^2 - v_ideal(w)| at n = {rows:.4g} rows",
        assumptions=(ROWS, "|x| <= R_x", "R_x and R_omega are fixed without these rows"),
        vacuous=epsilon >= 1.0,
        details={"rows": math.ceil(rows), "d": d, "R_omega": omega, "R_x": radius},
    )
