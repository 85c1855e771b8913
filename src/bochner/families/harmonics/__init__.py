"""Spherical harmonics: the family, and the pure functions behind it."""

from .basis import area, evaluate
from .columns import HarmonicColumns
from .family import Harmonics
from .gegenbauer import Expansion, expand, polynomials
from .indices import Indices, count, count_up_to, numbered

__all__ = [
    "Expansion",
    "HarmonicColumns",
    "Harmonics",
    "Indices",
    "area",
    "count",
    "count_up_to",
    "evaluate",
    "expand",
    "numbered",
    "polynomials",
]
