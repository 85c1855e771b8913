"""Linear heads on a feature map: ridge, logistic, squared hinge.

A head is a settings object. ``head.fit(source, fm)`` runs sums over rows and returns a
`LinearModel`, which says how good it is; the head itself never changes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from .classifiers import Logistic, SquaredHinge
from .model import LinearModel, probabilities, sigmoid, softmax
from .ridge import Ridge
from .spectrum import RidgePath

Head: TypeAlias = Ridge | Logistic | SquaredHinge

_BY_NAME: dict[str, type[Head]] = {
    "ridge": Ridge,
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
}


def as_head(head: Any) -> Head:
    """A head from a head or its name."""
    if isinstance(head, (Ridge, Logistic, SquaredHinge)):
        return head
    if isinstance(head, type) and issubclass(head, (Ridge, Logistic, SquaredHinge)):
        raise TypeError(f"head={head.__name__} is a class; give an instance: {head.__name__}().")
    names = ", ".join(f'"{name}"' for name in _BY_NAME)
    if not isinstance(head, str):
        raise TypeError(
            f"head must be a Ridge, Logistic or SquaredHinge, or one of {names}; got "
            f"{type(head).__name__}."
        )
    if head not in _BY_NAME:
        raise ValueError(f"head={head!r} is not known; choose one of {names}.")
    return _BY_NAME[head]()


__all__ = [
    "Head",
    "LinearModel",
    "Logistic",
    "Ridge",
    "RidgePath",
    "SquaredHinge",
    "as_head",
    "probabilities",
    "sigmoid",
    "softmax",
]
