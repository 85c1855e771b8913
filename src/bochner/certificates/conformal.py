"""Split conformal prediction from rows set aside (Vovk et al. 2005; Lei et al. 2018).

With scores r_1 .. r_n of rows that nothing was fitted on, and r of a new row from the same
distribution, P(r <= r_(k)) >= 1 - alpha for k = ceil((n + 1)(1 - alpha)): over the rows set aside
and the new row together, whatever the model and the distribution.

For one set of rows, the share of new rows beyond r_(k) is at most a Beta(n + 1 - k, k) variable
(exactly one where scores have no ties), which is what `residual_tolerance` inverts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..ops import FloatArray
from .arguments import ROWS
from .certificate import Certificate, check_count, check_delta
from .classifier import UNSEEN


def threshold(scores: FloatArray, alpha: Any) -> float:
    """r_(k) of ascending scores."""
    return float(scores[rank(len(scores), alpha) - 1])


def rank(n: int, alpha: Any) -> int:
    """k = ceil((n + 1)(1 - alpha)), or an error where n rows are too few for alpha."""
    ok = isinstance(alpha, int | float | np.floating) and not isinstance(alpha, bool)
    if not ok or not 0.0 < float(alpha) < 1.0:
        raise ValueError(
            f"alpha must be above 0 and below 1, got {alpha!r}: it is the share of rows whose "
            "truth may be missed, 0.1 for instance."
        )
    k = math.ceil((n + 1) * (1.0 - float(alpha)) - 1e-9)
    if k > n:
        need = math.ceil(1.0 / float(alpha)) - 1
        raise ValueError(
            f"alpha={alpha!r} needs at least {need} rows set aside, but there are {n}: give a "
            "larger alpha, more rows, or a larger certify= share."
        )
    return max(1, k)


def class_scores(raw: FloatArray, probabilities: FloatArray | None) -> FloatArray:
    """How badly each class fits a row, n x C: 1 - p_c, or by how much the best other class leads.

    ``raw`` are decisions, n x C, or n x 1 of the second of two classes.
    """
    if probabilities is not None:
        return np.asarray(1.0 - probabilities, dtype=np.float64)
    f = np.asarray(raw, dtype=np.float64)
    if f.shape[1] == 1:
        return np.concatenate([2.0 * f, -2.0 * f], axis=1)
    order = np.sort(f, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return np.asarray(np.where(f == best, second, best) - f)


def residual_tolerance(
    residuals: FloatArray, alpha: float = 0.1, delta: float = 0.05
) -> Certificate:
    """How many new rows are further off than the conformal radius of alpha, at 1 - delta.

    ``residuals`` ascending, of rows set aside. ``empirical`` is the share of these beyond it.

    Examples
    --------
    >>> from bochner.certificates import residual_tolerance
    >>> import numpy as np
    >>> certificate = residual_tolerance(np.arange(1, 1001) / 100)
    >>> round(certificate.bound, 3), certificate.details["radius"]
    (0.116, 9.01)
    """
    n, delta = check_count("n", len(residuals), 1, "set rows aside."), check_delta(delta)
    k = rank(n, alpha)
    radius = float(residuals[k - 1])
    bound = float(special.betaincinv(n + 1.0 - k, float(k), 1.0 - delta))
    return Certificate(
        name="Tolerance limit from rows set aside",
        bound=bound,
        empirical=float(np.mean(residuals > radius)),
        complexity=0.0,
        delta=delta,
        quantity=f"share of rows whose target is more than {radius:.4g} away from its prediction",
        assumptions=(ROWS, UNSEEN),
        vacuous=bound >= 1.0,
        details={"n": n, "alpha": float(alpha), "radius": radius},
    )
