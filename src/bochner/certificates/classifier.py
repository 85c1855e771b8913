"""What users care about: the error of a final classifier, from rows it has never seen or from all.

Neither bound is in the papers on learned kernels. With k errors on n rows that nothing was fitted
on, the error p of a classifier is at most the largest p for which k errors or fewer still have
probability delta (Clopper & Pearson 1934; Langford 2005): exact, no slack.

For a linear head on a *fixed* map the rows it was fitted on serve too: McAllester's bound in the
small-kl form (Seeger 2002; Maurer 2004) for a Gaussian around the head (Langford & Shawe-Taylor
2002), with e^_Q = mean of Phi(-s margin_i), s the length of its mean, KL = s^2 / 2:

    kl(e^_Q | e_Q) <= (s^2 / 2 + ln(2 sqrt(n) / delta)) / n,      error of the head <= 2 e_Q.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..ops import FloatArray
from .arguments import ROWS
from .certificate import Certificate, check_count, check_delta

UNSEEN = "nothing about the model was fitted or chosen on these rows"
ERROR = "error of the classifier, P(prediction is not the label)"
FIXED = "the feature map is fixed without these rows; the linear head may have been fitted on them"
SCALES = tuple(float(s) for s in 2.0 ** np.arange(-1.0, 9.0))


def held_out_error(
    errors: int, n: int, delta: float = 0.05, *, broken: tuple[str, ...] = ()
) -> Certificate:
    """The error of a classifier from ``errors`` of n rows set aside: binomial tail inversion.

    Examples
    --------
    >>> from bochner.certificates import held_out_error
    >>> round(held_out_error(10, 1000).bound, 4)
    0.0169
    """
    n = check_count("n", n, 1, "set at least one row aside.")
    k = check_count("errors", errors, 0, "it counts wrong predictions.")
    delta = check_delta(delta)
    if k > n:
        raise ValueError(f"errors={k} of n={n} rows: there cannot be more errors than rows.")
    bound = 1.0 if k == n else float(special.betaincinv(k + 1.0, float(n - k), 1.0 - delta))
    return Certificate(
        name="Binomial tail inversion on rows set aside",
        bound=bound,
        empirical=k / n,
        complexity=0.0,
        delta=delta,
        quantity=ERROR,
        assumptions=(ROWS, UNSEEN),
        vacuous=bound >= 1.0,
        broken=broken,
        details={"n": n, "errors": k},
    )


def pac_bayes_linear(
    margins: Any,
    delta: float = 0.05,
    *,
    scales: tuple[float, ...] = SCALES,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """Twice the error of a Gaussian around a linear head on a fixed feature map.

    ``margins``: y_i w.phi(x_i) / (|w| |phi(x_i)|) in [-1, 1] of every row, phi with a constant for
    the intercept. The length s of the Gaussian's mean is the best of ``scales``, which share delta.
    ``empirical`` is the error of the head itself on the rows, ``complexity`` the KL.

    Examples
    --------
    >>> from bochner.certificates import pac_bayes_linear
    >>> import numpy as np
    >>> round(pac_bayes_linear(np.full(10_000, 0.2)).bound, 3)
    0.033
    """
    m = np.asarray(margins, dtype=np.float64)
    if m.ndim != 1 or not m.size or not np.all(np.abs(m) <= 1.0 + 1e-6):
        raise ValueError(
            f"margins must be a vector of numbers in [-1, 1], one a row, got shape {m.shape}: "
            "divide y w.phi by |w| and |phi|."
        )
    sums = np.array([special.ndtr(-s * m).sum() for s in scales])
    return from_gibbs(sums, int(np.sum(m <= 0)), len(m), delta, scales=scales, broken=broken)


def from_gibbs(
    sums: FloatArray,
    errors: int,
    n: int,
    delta: float,
    *,
    scales: tuple[float, ...] = SCALES,
    broken: tuple[str, ...] = (),
) -> Certificate:
    """`pac_bayes_linear` from sums over rows: of Phi(-s margin) for each s, and errors."""
    n, delta = check_count("n", n, 1, "give at least one row."), check_delta(delta)
    logs = math.log(2.0 * math.sqrt(n) * len(scales) / delta)
    bounds = [
        kl_inverse(float(total) / n, (0.5 * s * s + logs) / n)
        for total, s in zip(sums, scales, strict=True)
    ]
    best = int(np.argmin(bounds))
    bound = min(1.0, 2.0 * bounds[best])
    return Certificate(
        name="PAC-Bayes small-kl bound, Gaussian around the linear head",
        bound=bound,
        empirical=errors / n,
        complexity=0.5 * scales[best] ** 2,
        delta=delta,
        quantity=ERROR,
        assumptions=(ROWS, FIXED),
        vacuous=bound >= 1.0,
        broken=broken,
        details={
            "n": n,
            "scale": scales[best],
            "scales": len(scales),
            "error of the Gaussian": float(sums[best]) / n,
            "bound on it": bounds[best],
        },
    )


def kl_inverse(q: float, c: float) -> float:
    """The largest p with kl(q | p) <= c, for q in [0, 1] and c >= 0; 1 where there is no less.

    Rounded up: p is at least the root, to within 1e-12.
    """
    low, high = min(max(q, 0.0), 1.0), 1.0
    for _ in range(60):
        p = 0.5 * (low + high)
        within = float(special.rel_entr(q, p) + special.rel_entr(1.0 - q, 1.0 - p)) <= c
        low, high = (p, high) if within else (low, p)
    return high
