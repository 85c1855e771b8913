"""Arguments that the bounds of Sinha & Duchi 2016 share, and the assumptions they may break."""

from __future__ import annotations

import math

from .certificate import check_count, check_number

ROWS = "rows are independent draws from one distribution"
WEIGHTED = "rows have weights: they are no independent draws from one distribution"
CENTRED = "centred targets make S depend on the rows and leave [-1, 1]"


def broken_by(b: float, order: float, centered: bool) -> tuple[str, ...]:
    k = check_number("order", order, 1.0, "the divergence needs k > 1.", open_end=True)
    found = [CENTRED] if centered else []
    if k < 2.0:
        found.append(f"the order is {k:g}, and the theory needs k >= 2")
    if math.isinf(b):
        found.append("the features are not bounded")
    return tuple(found)


def common(n: int, rho: float, feature_bound: float) -> tuple[int, float, float]:
    return (
        check_count("n", n, 2, "a pair needs two rows."),
        check_radius(rho),
        check_feature_bound(feature_bound),
    )


def check_radius(rho: float) -> float:
    rho = check_number("rho", rho, 0.0, "it is a divergence from the base measure.")
    if math.isinf(rho):
        raise ValueError("rho must be finite; the largest that matters is N^(k-1) - 1.")
    return rho


def check_feature_bound(b: float) -> float:
    advice = "it is sup |phi|: sqrt(2) for Fourier features, infinity where there is none."
    return check_number("feature_bound", b, 0.0, advice, open_end=True)
