"""A fitted linear head: its numbers, how good they are, and what it says of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..feature_map import FeatureMap
from ..rows import Block, RowSource

if TYPE_CHECKING:
    from ..ops import FloatArray
    from .spectrum import RidgePath


@dataclass(frozen=True, eq=False)
class LinearModel:
    """f_c(x) = sum_m coef_cm phi_m(x) + intercept_c.

    Attributes
    ----------
    coef : array of C x M
    intercept : array of C
    status : str
        "optimal"; "stopped" (a callback asked, this is the best point so far); "max_iter";
        "precision" (rounding leaves no step that decreases the objective); "minimum_norm" (a
        ridge of alpha = 0 whose features are linearly dependent).
    n_iter : int
    gap : float
        How far the objective can be above its optimum. Of `Logistic` and `SquaredHinge` the
        Fenchel duality gap, which is an upper bound; of `Ridge`, a quadratic, the distance itself.
    stats : mapping
        objective, gradient_norm, n_rows, passes, solver, and what a head adds.
    path : RidgePath or None
        The regularisation path of a `Ridge` that searched one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import LinearModel
    >>> model = LinearModel(coef=np.array([[1.0, -1.0]]), intercept=np.array([0.5]))
    >>> model.decision(None, np.array([[2.0, 1.0]]))
    array([[1.5]])
    """

    coef: FloatArray
    intercept: FloatArray
    status: str = "optimal"
    n_iter: int = 0
    gap: float = float("nan")
    stats: Mapping[str, Any] = field(default_factory=dict)
    path: RidgePath | None = None

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> LinearModel:
        """The model in a checkpoint, to go on from: ``head.fit(..., start=model)``."""
        return cls(np.asarray(state["coef"]), np.asarray(state["intercept"]), "stopped")

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {"coef": self.coef, "intercept": self.intercept}

    @property
    def n_outputs(self) -> int:
        """C, the number of columns of a decision."""
        return int(self.coef.shape[0])

    def decision(self, fm: FeatureMap | None, X: Any) -> FloatArray:
        """f_c(x_i) for rows in memory, n x C; ``fm`` None means that the rows are the features."""
        scores = np.asarray(X @ self._columns(X) if fm is None else fm.map_rows(X, self.coef.T))
        return np.asarray(scores + self.intercept.astype(scores.dtype, copy=False))

    def scores(self, source: RowSource, fm: FeatureMap | None) -> Any:
        """f_c(x_i) for every row of a source, in the shape that it gives its outputs."""
        return source.map(_Decide(self, fm), dtype=source.schema.dtype, width=self.n_outputs)

    def _columns(self, X: Any) -> FloatArray:
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        return self.coef.T.astype(dtype, copy=False)


class _Decide:
    """The decision on a block, picklable for a cluster."""

    def __init__(self, model: LinearModel, fm: FeatureMap | None) -> None:
        self.model = LinearModel(model.coef, model.intercept)
        self.fm = fm

    def __call__(self, block: Block) -> FloatArray:
        return self.model.decision(self.fm, block.X)


def check_intercept(head: Any) -> None:
    """Refuse a ``fit_intercept`` that is neither True nor False."""
    if not isinstance(head.fit_intercept, bool | np.bool_):
        name = type(head).__name__
        raise ValueError(f"{name}(fit_intercept={head.fit_intercept!r}): give True or False.")


def sigmoid(z: FloatArray) -> FloatArray:
    """1 / (1 + exp(-z)), without overflow at either end."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))


def softmax(Z: FloatArray) -> FloatArray:
    """exp(Z_ic) / sum_k exp(Z_ik), n x C; the largest exponent is zero."""
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return np.asarray(E / E.sum(axis=1, keepdims=True))


def squeezed(scores: Any) -> Any:
    """n x 1 as n: scikit-learn's shape of one score a row."""
    return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores


def best_class(scores: FloatArray) -> Any:
    """The index of the class with the highest score; of one column the sign decides."""
    binary = scores.shape[1] == 1
    return (scores[:, 0] > 0).astype(np.intp) if binary else np.argmax(scores, axis=1)


def probabilities(scores: FloatArray) -> FloatArray:
    """Class probabilities from the scores of `Logistic`: n x 2 from one column, else n x C.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import probabilities
    >>> probabilities(np.array([[0.0], [np.log(3.0)]]))
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    if scores.ndim == 1 or scores.shape[1] == 1:
        z = scores.reshape(-1)
        return np.stack([sigmoid(-z), sigmoid(z)], axis=1)
    return softmax(scores)
