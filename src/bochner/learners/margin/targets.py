"""The games that targets make: between two classes, one for each class, or of amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.base import check_option
from ...ops import FloatArray
from ..base import Request, Task
from .games import Game, Hinge, Squared, SquaredHinge
from .ledger import Ledger

if TYPE_CHECKING:
    from .learner import MarginSearch


def follows_leader(learner: MarginSearch) -> bool:
    """Do the weights of a search of peaks follow the leader?"""
    if learner.dynamics == "auto":
        return learner.loss != "hinge"
    return learner.dynamics == "leader"


def games_of(
    learner: MarginSearch, request: Request, ledger: Ledger, leads: bool = False
) -> list[Game]:
    """The games between the classes of the rows, or the one for their amounts."""
    y, w, C, task = ledger.y, ledger.weight, float(learner.C), request.task
    if task.kind == "regression":
        if learner.loss not in ("auto", "squared"):
            raise ValueError(f"MarginSearch(loss={learner.loss!r}) is for classes; use 'squared'.")
        spread = float(np.sqrt(w @ (y - (w @ y) / w.sum()) ** 2 / w.sum()))
        if spread == 0.0:
            raise ValueError("MarginSearch needs targets that differ, but all are equal.")
        return [Squared((y - (w @ y) / w.sum()) / spread, w, C)]
    if learner.loss == "squared":
        raise ValueError("MarginSearch(loss='squared') is for amounts; use 'hinge'.")
    strong = learner.loss == "squared_hinge" or (learner.loss == "auto" and leads)
    kind = SquaredHinge if strong else Hinge
    against = classes_against("MarginSearch", y, w, task)
    box = C * class_factors(learner.class_weight, y, w)
    return [kind(np.where(y == k, 1.0, -1.0), w, box) for k in against]


def classes_against(name: str, y: FloatArray, w: FloatArray, task: Task) -> list[float]:
    """The classes (indices) that play against the rest: of two the second, of more each."""
    present = np.flatnonzero(np.bincount(y.astype(np.intp), weights=w) > 0)
    if len(present) < 2:
        raise ValueError(
            f"{name} needs rows of at least two classes, got one: a margin lies between two."
        )
    return [1.0] if (task.n_classes or 0) <= 2 else [float(k) for k in present]


def class_factors(
    class_weight: Any, y: FloatArray, w: FloatArray, name: str = "MarginSearch"
) -> Any:
    """A factor on C for each row; 1.0 for none."""
    if class_weight is None:
        return 1.0
    index = y.astype(np.intp)
    totals = np.bincount(index, weights=w)
    if isinstance(class_weight, str):
        check_option(name, "class_weight", class_weight, ("balanced",))
        return (totals.sum() / np.count_nonzero(totals) / np.maximum(totals, 1e-300))[index]
    if not isinstance(class_weight, dict):
        raise TypeError(
            f"class_weight must be None, 'balanced' or a dict by class index, got {class_weight!r}."
        )
    if unknown := [k for k in class_weight if k not in range(len(totals))]:
        raise ValueError(
            f"class_weight has {unknown}, but classes are counted 0 to {len(totals) - 1}, in the "
            "order of classes_: give these as keys."
        )
    factors = np.array([float(class_weight.get(k, 1.0)) for k in range(len(totals))])
    if not np.all(factors > 0):
        raise ValueError(f"class_weight must hold numbers above zero, got {class_weight!r}.")
    return factors[index]
