"""Settings of `MarginSearch` that make no sense, refused with what would."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.base import check_option

if TYPE_CHECKING:
    from .learner import MarginSearch

LOSSES = ("auto", "hinge", "squared_hinge", "squared")
METHODS = ("momentum", "langevin")
PEAKS = ("auto", "leader", "no_regret")


def check_settings(learner: MarginSearch) -> None:
    """Raise where a search of peaks or a scan could not use a setting."""
    check_option("MarginSearch", "loss", learner.loss, LOSSES)
    check_option("MarginSearch", "method", learner.method, METHODS)
    for name in ("chains", "steps", "per_round", "rows", "rounds"):
        value = getattr(learner, name)
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not (whole and value >= 1):
            raise ValueError(f"MarginSearch({name}={value!r}): give a whole number >= 1.")
    for name in ("polish", "early_stop", "repeats", "invariant"):
        if not isinstance(getattr(learner, name), bool | np.bool_):
            raise ValueError(
                f"MarginSearch({name}={getattr(learner, name)!r}): give True or False."
            )
    _above("gap", learner.gap, "0.01 leaves one part in a hundred", least=0.0)
    _above("C", learner.C, "it bounds the weight of a row; 1.0 is a good start")
    for name in ("init_scale", "temperature"):
        value = getattr(learner, name)
        if not (isinstance(value, str) and value == "auto"):
            _above(name, value, 'or give "auto"', least=0.0 if name == "temperature" else None)
    if learner.band is not None:
        _above("band", learner.band, "or None for no limit")


def check_peaks(learner: MarginSearch) -> None:
    """Refuse dynamics that a search of peaks has not got."""
    check_option("MarginSearch", "dynamics", learner.dynamics, PEAKS)
    if learner.dynamics == "leader" and learner.loss == "hinge":
        raise ValueError(
            "MarginSearch(dynamics='leader') needs a strongly concave game, which that of the "
            "hinge is not: use loss='squared_hinge', or dynamics='no_regret'."
        )


def _above(name: str, value: Any, advice: str, least: float | None = None) -> None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    high = number and np.isfinite(float(value)) and float(value) >= (least or 0.0)
    if not high or (least is None and float(value) == 0.0):
        bound = ">= 0" if least is not None else "above zero"
        raise ValueError(f"MarginSearch({name}={value!r}): give a number {bound}; {advice}.")
