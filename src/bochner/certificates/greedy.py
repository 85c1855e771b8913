"""What Shahrampour & Tarokh 2018 guarantee of features chosen greedily from P kernels.

Symbols: N rows; f = sum_pm theta_pm sqrt(nu_p) phi_pm with |theta|_2 <= C and nu in the simplex of
the P kernels; B^2 = sup over x and p of K_p(x, x); the loss L is G-Lipschitz in its first argument,
the empirical risk is mu-strongly convex and (along every coefficient) gamma-smooth in theta; M
greedy steps; s = floor(M^eps) the size of the model that they are compared with.
"""

from __future__ import annotations

import math

from .arguments import ROWS
from .certificate import Certificate, check_count, check_delta, check_number

_KERNELS = "every kernel is positive semi-definite with K_p(x, x) <= B^2"
_CLASS = "f = sum theta_pm sqrt(nu_p) phi_pm with |theta|_2 <= C, C fixed without these rows"


def greedy_rademacher(
    n: int, n_kernels: int, norm: float, *, feature_bound: float = 1.0
) -> Certificate:
    """Lemma 1, corrected: B C sqrt(3 max(1, ceil(log P)) / N).

    As printed it is zero at P = 1, since ceil(log 1) = 0. With r = max(1, ceil(log P)) the proof
    (of Cortes, Mohri & Rostamizadeh 2010) goes through: (C / N) E max_p (sigma' K_p sigma)^(1/2) is
    at most (C / N) (sum_p E (sigma' K_p sigma)^r)^(1 / 2r), each term at most (23/22 r B^2 N)^r,
    and P^(1/r) <= e. ``norm`` is C, ``feature_bound`` B. Choosing M of the candidates, however
    greedily, leaves the class: the bound does not depend on M. No probability is involved:
    ``delta`` is 0. Vacuous from B C on, since |f| <= B C on every row.

    Examples
    --------
    >>> from bochner.certificates import greedy_rademacher
    >>> round(greedy_rademacher(n=10_000, n_kernels=3, norm=5.0).bound, 4)
    0.1225
    """
    n = check_count("n", n, 1, "it counts rows.")
    P = check_count("n_kernels", n_kernels, 1, "features come from one kernel at least.")
    C = check_number("norm", norm, 0.0, "it is the largest norm of the coefficients.")
    B = _feature_bound(feature_bound)
    bound = _rademacher(n, P, C, B)
    return Certificate(
        name="Lemma 1 (Shahrampour & Tarokh 2018, with max(1, ceil(log P)))",
        bound=bound,
        empirical=None,
        complexity=bound,
        delta=0.0,
        quantity="Rademacher complexity of the functions sum theta_pm sqrt(nu_p) phi_pm",
        assumptions=(_KERNELS, _CLASS),
        vacuous=bound >= B * C,
        broken=_broken(B),
        details={"N": n, "P": P, "C": C, "B": B},
    )


def greedy_excess_risk(
    n: int,
    n_kernels: int,
    n_steps: int,
    norm: float,
    *,
    smoothness: float,
    strong_convexity: float,
    tail: float | None = None,
    lipschitz: float = 1.0,
    initial_risk: float = math.log(2.0),
    epsilon: float = 0.5,
    delta: float = 0.05,
    feature_bound: float = 1.0,
) -> Certificate:
    """Theorem 2: risk of the greedy model less the least risk over the kernels' whole class.

    The paper prints the three terms up to constants. The constants here follow from its own proof:

        estimation     2 G R_N + 4 G B C sqrt(log(2 / delta) / (2 N)), R_N of Lemma 1 (corrected)
        approximation  R^(0) exp(-M / (s ceil(gamma / mu))),  s = floor(M^eps)
        spectral       G B tail

    Estimation: the uniform bound for the chosen model, Hoeffding's for the best, delta / 2 each.
    Approximation: at a fully corrective point the gradient is zero on the columns in use, so with
    theta' any model on s candidates, R^ - R^(theta') <= s |grad|_inf^2 / (2 mu), and a step gains
    |grad|_inf^2 / (2 gamma) or more: the gap falls by 1 - mu / (s gamma) a step (Shalev-Shwartz et
    al. 2010, theorem 2.8). Spectral: |f* - f*_s| <= B tail, with ``tail`` the norm of all
    coefficients of f* but s of those among the candidates. That one depends on the unknown best
    model: without it the term is unknown and the bound infinite; ``details`` has the terms that are
    known. ``initial_risk`` is R^(0), log 2 for logistic loss; ``complexity`` is 2 G R_N.

    Examples
    --------
    >>> from bochner.certificates import greedy_excess_risk
    >>> certificate = greedy_excess_risk(
    ...     100_000, 2, n_steps=100, norm=5.0, smoothness=1.0, strong_convexity=0.5, tail=0.1
    ... )
    >>> round(certificate.bound, 3)
    0.245
    """
    n = check_count("n", n, 1, "it counts rows.")
    P = check_count("n_kernels", n_kernels, 1, "features come from one kernel at least.")
    M = check_count("n_steps", n_steps, 1, "one feature at least is chosen.")
    C = check_number("norm", norm, 0.0, "it is the largest norm of the coefficients.")
    B, delta = _feature_bound(feature_bound), check_delta(delta)
    G = check_number("lipschitz", lipschitz, 0.0, "it is how steep the loss is.", open_end=True)
    first = check_number("initial_risk", initial_risk, 0.0, "it is the mean loss of f = 0.")
    s = math.floor(M ** _share(epsilon))
    condition = _condition(smoothness, strong_convexity)
    complexity = 2.0 * G * _rademacher(n, P, C, B)
    chance = 4.0 * G * B * C * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
    approximation = first * math.exp(-M / (s * condition))
    spectral = math.inf
    if tail is not None:
        spectral = G * B * check_number("tail", tail, 0.0, "it is a norm of coefficients.")
    unknown = () if tail is not None else ("the spectral term is unknown: give tail",)
    bound = complexity + chance + approximation + spectral
    return Certificate(
        name="Theorem 2 (Shahrampour & Tarokh 2018, with constants)",
        bound=bound,
        empirical=None,
        complexity=complexity,
        delta=delta,
        quantity="risk of the greedy model - least risk over the class of all P kernels",
        assumptions=(
            ROWS,
            _KERNELS,
            _CLASS,
            "the loss is convex and G-Lipschitz in the score",
            "the empirical risk is mu-strongly convex and gamma-smooth in the coefficients",
            "one feature a step, each refit exact and within |theta|_2 <= C",
            *unknown,
        ),
        vacuous=bound >= 2.0 * G * B * C,
        broken=_broken(B),
        details={
            "N": n,
            "P": P,
            "M": M,
            "s": s,
            "estimation": complexity + chance,
            "approximation": approximation,
            "spectral": spectral,
        },
    )


def _rademacher(n: int, P: int, C: float, B: float) -> float:
    return B * C * math.sqrt(3.0 * max(1, math.ceil(math.log(P))) / n) if C > 0 else 0.0


def _feature_bound(value: float) -> float:
    advice = "it is B, the root of the largest K_p(x, x): 1 for normalised kernels."
    return check_number("feature_bound", value, 0.0, advice, open_end=True)


def _share(epsilon: float) -> float:
    value = check_number("epsilon", epsilon, 0.0, "it is between 0 and 1.", open_end=True)
    if value >= 1.0:
        raise ValueError(
            f"epsilon must be below 1, got {epsilon!r}: s = floor(M^epsilon) models are compared."
        )
    return value


def _condition(smoothness: float, strong_convexity: float) -> int:
    """ceil(gamma / mu)."""
    advice = "add a penalty alpha / 2 |theta|^2, which makes the risk alpha-strongly convex."
    mu = check_number("strong_convexity", strong_convexity, 0.0, advice, open_end=True)
    gamma = check_number("smoothness", smoothness, mu, "no function is less smooth than convex.")
    if math.isinf(gamma):
        raise ValueError("smoothness must be finite: without it a step has no sure gain.")
    return math.ceil(gamma / mu)


def _broken(B: float) -> tuple[str, ...]:
    return ("the kernels are not bounded",) if math.isinf(B) else ()
