"""What Letarte, Morvant & Germain 2019 guarantee of a learned kernel: bounds on its alignment loss.

Symbols: h_w hypotheses with values in [-1, 1], cos(w.(x - x')) for frequencies w; P a prior over
them, Q what was learned, k_Q = E_Q h_w; lambda in [-1, 1] how alike two targets are;
L(k_Q) = E (1 - lambda k_Q) / 2 over independent pairs of rows, in [0, 1], and 1/2 for a kernel that
has nothing to do with the targets; L^ the same on the rows. It is *not* the error of a classifier.

1. t is fixed before the rows are seen. The bounds hold for all Q at once, so beta, a radius or the
   columns to keep may be chosen with the rows. Where t is to be the best of several, give them
   all: each gets its share of delta (a union bound), and the best one is taken.
2. Theorems 1 and 3 and Corollary 2 hold with t^2/(8(n-1)) and t^2/(8 floor(n/2)) where the paper
   has t^2/(2(n-1)) and t^2/(2n): Hoeffding's lemma for losses in [0, 1]. Those are used here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ops import FloatArray
from .arguments import ROWS
from .certificate import Certificate, check_count, check_delta, check_number
from .classifier import UNSEEN

SIMILARITY = "the similarity of targets is a fixed function with values in [-1, 1]"
PRIOR = "the prior (the candidates, their number and bandwidth) is fixed without these rows"
FIXED_T = "t is fixed without these rows (one of several: each has its share of delta)"
ALL = "kernel alignment loss of the learned kernel (not the error of a classifier)"
ONE = "alignment loss of the similarity to one landmark (not the error of a classifier)"
MEAN = "mean alignment loss of the similarities to the landmarks (not the error of a classifier)"

_KL = "it is KL(Q | prior), ln N + sum Q ln Q for a uniform prior over N atoms."


def pac_bayes_first_order(
    empirical: float,
    kl: float,
    n: int,
    delta: float = 0.05,
    *,
    t: float | Sequence[float] | None = None,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """Theorem 1: the loss over the pairs with one fixed row, given n - 1 other rows.

    L^i(k_Q) <= L^^i(k_Q) + (KL + t^2 / (8 (n-1)) + ln(1/delta)) / t. ``t`` defaults to sqrt(n).

    Examples
    --------
    >>> from bochner.certificates import pac_bayes_first_order
    >>> round(pac_bayes_first_order(0.44, kl=2.0, n=10_000).bound, 3)
    0.491
    """
    n = check_count("n", n, 2, "a pair needs two rows.")
    given = _Given(empirical, kl, delta, _ts(t, math.sqrt(n)))
    return given.certificate("Theorem 1", ONE, n, 1.0, 8.0 * (n - 1), 0.0, broken)


def pac_bayes_union(
    empirical: float,
    kl: float,
    n: int,
    delta: float = 0.05,
    *,
    t: float | Sequence[float] | None = None,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """Corollary 2: L(k_Q) <= L^(k_Q) + (2/t) (KL + t^2 / (8 (n-1)) + ln((n+1)/delta)).

    ``t`` defaults to sqrt(n ln n), the paper's choice.

    Examples
    --------
    >>> from bochner.certificates import pac_bayes_union
    >>> round(pac_bayes_union(0.44, kl=2.0, n=10_000).bound, 3)
    0.541
    """
    n = check_count("n", n, 2, "a pair needs two rows.")
    given = _Given(empirical, kl, delta, _ts(t, math.sqrt(n * math.log(n))))
    return given.certificate("Corollary 2", ALL, n, 2.0, 8.0 * (n - 1), math.log(n + 1.0), broken)


def pac_bayes_second_order(
    empirical: float,
    kl: float,
    n: int,
    delta: float = 0.05,
    *,
    t: float | Sequence[float] | None = None,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """Theorem 3: L(k_Q) <= L^(k_Q) + (KL + t^2 / (8 floor(n/2)) + ln(1/delta)) / t.

    ``t`` defaults to sqrt(n). With kl = 0 and t = sqrt(8 floor(n/2) ln(1/delta)) it is Hoeffding's
    bound for a kernel that was fixed without these rows.

    Examples
    --------
    >>> from bochner.certificates import pac_bayes_second_order
    >>> round(pac_bayes_second_order(0.44, kl=2.0, n=10_000).bound, 3)
    0.492
    """
    n = check_count("n", n, 2, "a pair needs two rows.")
    given = _Given(empirical, kl, delta, _ts(t, math.sqrt(n)))
    return given.certificate("Theorem 3", ALL, n, 1.0, 8.0 * (n // 2), 0.0, broken)


def fixed_kernel(
    empirical: float, n: int, delta: float = 0.05, *, broken: tuple[str, ...] = ()
) -> Certificate:
    """Theorem 3 for one kernel that was fixed without these rows: Hoeffding (1963) for pairs.

    L(k) <= L^(k) + sqrt(ln(1/delta) / (2 floor(n/2))).

    Examples
    --------
    >>> from bochner.certificates import fixed_kernel
    >>> round(fixed_kernel(0.44, n=10_000).bound, 3)
    0.457
    """
    n, delta = check_count("n", n, 2, "a pair needs two rows."), check_delta(delta)
    t = math.sqrt(8.0 * (n // 2) * math.log(1.0 / delta))
    found = pac_bayes_second_order(empirical, 0.0, n, delta, t=t, broken=broken)
    name = "Hoeffding's bound on rows set aside"
    return replace(found, name=name, assumptions=(ROWS, SIMILARITY, UNSEEN))


def landmark(
    empirical: Any,
    kl: Any,
    n: int,
    delta: float = 0.05,
    *,
    t: float | Sequence[float] | None = None,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """The bound under eq. (12): all n_L landmarks at once, from n other rows.

    L^l <= L^^l + (KL_l + t^2 / (8 n) + ln(n_L/delta)) / t. ``empirical`` and ``kl`` hold one number
    a landmark; ``bound`` is the mean over landmarks of the right side, ``details`` has its least
    and largest value. Where a landmark is one of the rows itself, n is one less.

    Examples
    --------
    >>> from bochner.certificates import landmark
    >>> certificate = landmark([0.40, 0.44], kl=[3.0, 1.0], n=10_000)
    >>> round(certificate.bound, 3), round(certificate.details["largest"], 3)
    (0.478, 0.488)
    """
    losses = np.atleast_1d(np.asarray(empirical, dtype=np.float64))
    kls = np.atleast_1d(np.asarray(kl, dtype=np.float64))
    if losses.shape != kls.shape or losses.ndim != 1 or not losses.size:
        raise ValueError(
            f"empirical has shape {losses.shape}, kl has {kls.shape}; give one each a landmark."
        )
    n = check_count("n", n, 1, "a landmark needs a row to be compared with.")
    given = _Given(float(losses.mean()), float(kls.mean()), delta, _ts(t, math.sqrt(n)))
    name, L = "Theorem 1 for all landmarks", len(losses)
    found = given.certificate(name, MEAN, n, 1.0, 8.0 * n, math.log(L), broken)
    t_used = found.details["t"]
    logs = math.log(L * len(given.ts) / found.delta)
    each = losses + (kls + t_used**2 / (8.0 * n) + logs) / t_used
    details = {"landmarks": L, "least": float(each.min()), "largest": float(each.max())}
    return replace(found, details={**found.details, **details})


def fixed_landmarks(
    empirical: float, n: int, delta: float = 0.05, *, broken: tuple[str, ...] = ()
) -> Certificate:
    """Similarities fixed without these n rows: their mean loss is a mean of n numbers in [0, 1].

    L <= L^ + sqrt(ln(1/delta) / (2 n)), Hoeffding (1963).

    Examples
    --------
    >>> from bochner.certificates import fixed_landmarks
    >>> round(fixed_landmarks(0.42, n=10_000).bound, 3)
    0.432
    """
    n, delta = (
        check_count("n", n, 1, "a landmark needs a row to be compared with."),
        check_delta(delta),
    )
    slack = math.sqrt(math.log(1.0 / delta) / (2.0 * n))
    details = {"n": n, "slack": slack}
    given = (ROWS, SIMILARITY, UNSEEN)
    found = _made("", MEAN, _loss(empirical), slack, 0.0, delta, given, broken, details)
    return replace(found, name="Hoeffding's bound on rows set aside")


def f_divergence(
    empirical: float,
    divergence: float,
    n: int,
    mu: float = 2.0,
    delta: float = 0.05,
    *,
    n_classes: int | None = None,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """Theorem 4, corrected: any divergence D_mu = E_P (Q/P)^mu - 1, mu > 1.

    L(k_Q) <= L^(k_Q) + (V/delta)^(1-1/mu) (D_mu+1)^(1/mu)              1 < mu <= 2
    L(k_Q) <= L^(k_Q) + sqrt(V) delta^-(1-1/mu) (D_mu+1)^(1/mu)         mu > 2

    1. Printed, eq. (14) has the moment of order mu where Hoelder's inequality asks for the
       conjugate order mu / (mu - 1): for mu > 2 the printed bound is false (one frequency whose
       features are +-1 with mean .707 violates it in a quarter of samples of 10,000 at mu = 4).
    2. V bounds the variance of the loss on the rows. Lemma 6 says 1/(4n), which has
       counterexamples; see `loss_variance` for what is used.

    Examples
    --------
    >>> from bochner.certificates import f_divergence
    >>> round(f_divergence(0.44, divergence=3.0, n=100_000, mu=4.0).bound, 3)
    0.47
    """
    n = check_count("n", n, 2, "a pair needs two rows.")
    mu = check_number("mu", mu, 1.0, "the divergence is E (Q/P)^mu - 1.", open_end=True)
    if math.isinf(mu):
        raise ValueError("mu must be finite; the paper uses 2.")
    D = check_number("divergence", divergence, 0.0, "it is E_P (Q/P)^mu - 1.")
    delta, seen = check_delta(delta), _loss(empirical)
    V, power = loss_variance(n, n_classes), 1.0 - 1.0 / mu
    moment = V**power if mu <= 2.0 else math.sqrt(V)
    slack = moment * delta**-power * (D + 1.0) ** (1.0 / mu)
    details = {"n": n, "mu": mu, "V": V, "slack": slack}
    name = "Corollary 5" if mu == 2.0 else "Theorem 4, corrected"
    return _made(name, ALL, seen, slack, D, delta, (ROWS, SIMILARITY, PRIOR), broken, details)


def chi_square(
    empirical: float,
    divergence: float,
    n: int,
    delta: float = 0.05,
    *,
    n_classes: int | None = None,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """Corollary 5 with a provable variance: L(k_Q) <= L^(k_Q) + sqrt(V (chi^2 + 1) / delta).

    Examples
    --------
    >>> from bochner.certificates import chi_square
    >>> round(chi_square(0.44, divergence=3.0, n=100_000).bound, 3)
    0.46
    """
    return f_divergence(empirical, divergence, n, 2.0, delta, n_classes=n_classes, broken=broken)


def loss_variance(n: int, n_classes: int | None = None) -> float:
    """V: an upper bound on the variance of the loss of one hypothesis on n rows, any distribution.

    In general Hoeffding's (1948) for a U-statistic of order 2 in [0, 1]: 1 / (2n). For two classes
    the loss is (1 - mean over pairs of z_i.z_j) / 2 with unit vectors z_i, whose variance is at
    most 2 [(n-2) m (1-m) / 2 + (1-m^2) / 4] / (n (n-1)) with m = |E z|^2: about 1 / (4n), at its
    largest m = (n-2) / (2n-3).

    Examples
    --------
    >>> from bochner.certificates import loss_variance
    >>> n = 1000
    >>> round(n * loss_variance(n), 3), round(n * loss_variance(n, n_classes=2), 3)
    (0.5, 0.25)
    """
    n = check_count("n", n, 2, "a pair needs two rows.")
    if n_classes != 2:
        return 1.0 / (2.0 * n)
    m = (n - 2.0) / (2.0 * n - 3.0)
    inner = (n - 2.0) * m * (1.0 - m) / 2.0 + (1.0 - m * m) / 4.0
    return min(1.0 / (2.0 * n), 2.0 * inner / (n * (n - 1.0)))


def good_ts(n: int, delta: float = 0.05, n_candidates: int = 20_000) -> tuple[float, ...]:
    """Values of t to give together: near the best one for KL from 0 to ln N, by factors of 2."""
    pairs = n // 2
    least = math.sqrt(8.0 * pairs * math.log(1.0 / delta))
    most = math.sqrt(8.0 * pairs * (math.log(max(2, n_candidates)) + math.log(4.0 / delta)))
    steps = 1 + math.ceil(math.log2(most / least))
    return tuple(float(t) for t in np.geomspace(least, most, steps))


class _Given:
    """Measured loss, KL, delta and the ts to choose from: what the KL bounds share."""

    def __init__(self, empirical: float, kl: float, delta: float, ts: FloatArray) -> None:
        self.empirical, self.ts, self.delta = _loss(empirical), ts, check_delta(delta)
        self.kl = check_number("kl", kl, 0.0, _KL)

    def certificate(
        self,
        name: str,
        quantity: str,
        n: int,
        factor: float,
        curvature: float,
        log_extra: float,
        broken: tuple[str, ...],
    ) -> Certificate:
        """The least over t of factor (KL + t^2 / curvature + log_extra + ln(ts / delta)) / t."""
        logs = log_extra + math.log(len(self.ts) / self.delta)
        slacks = factor * ((self.kl + logs) / self.ts + self.ts / curvature)
        best = int(np.argmin(slacks))
        slack, t = float(slacks[best]), float(self.ts[best])
        details = {"n": n, "t": t, "ts": len(self.ts), "slack": slack}
        assumptions = (ROWS, SIMILARITY, PRIOR, FIXED_T)
        numbers = (self.empirical, slack, self.kl, self.delta)
        return _made(name, quantity, *numbers, assumptions, broken, details)


def _made(
    name: str,
    quantity: str,
    empirical: float,
    slack: float,
    complexity: float,
    delta: float,
    assumptions: tuple[str, ...],
    broken: tuple[str, ...],
    details: dict[str, Any],
) -> Certificate:
    return Certificate(
        name=f"{name} (Letarte, Morvant & Germain 2019)",
        bound=empirical + slack,
        empirical=empirical,
        complexity=complexity,
        delta=delta,
        quantity=quantity,
        assumptions=assumptions,
        vacuous=empirical + slack >= 1.0,
        broken=broken,
        details=details,
    )


def _loss(empirical: Any) -> float:
    value = check_number("empirical", empirical, 0.0, "it is a loss in [0, 1].")
    if value > 1.0 + 1e-9:
        raise ValueError(f"empirical must be a loss in [0, 1], got {empirical!r}.")
    return value


def _ts(t: Any, default: float) -> FloatArray:
    ts = np.atleast_1d(np.asarray(default if t is None else t, dtype=np.float64))
    if ts.ndim != 1 or not ts.size or not np.all((ts > 0) & np.isfinite(ts)):
        raise ValueError(f"t must be a finite number above 0, or a list of such, got {t!r}.")
    return ts
