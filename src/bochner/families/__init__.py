"""Candidate features: base measures, how to draw from them, the formula of one feature."""

from __future__ import annotations

from typing import Any

from .arc_cosine import ArcCosine
from .base import Family
from .base import check_option as check_option
from .cauchy import Cauchy
from .gaussian import Gaussian
from .harmonics import Harmonics
from .laplace import Laplace
from .linear import Linear
from .matern import Matern
from .taylor import Taylor
from .union import Union

_BY_NAME: dict[str, type[Family]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "cauchy": Cauchy,
    "matern": Matern,
    "arc_cosine": ArcCosine,
    "linear": Linear,
    "taylor": Taylor,
    "harmonics": Harmonics,
}


def as_family(family: Any) -> Family:
    """A family from a family or its name."""
    if isinstance(family, Family):
        return family
    if isinstance(family, type) and issubclass(family, Family):
        raise TypeError(
            f"family={family.__name__} is a class; give an instance: {family.__name__}()."
        )
    if not isinstance(family, str):
        raise TypeError(
            f"family must be a family such as Gaussian() or a string, got {type(family).__name__}."
        )
    check_option("", "family", family, tuple(_BY_NAME))
    return _BY_NAME[family]()


__all__ = [
    "ArcCosine",
    "Cauchy",
    "Family",
    "Gaussian",
    "Harmonics",
    "Laplace",
    "Linear",
    "Matern",
    "Taylor",
    "Union",
    "as_family",
]
