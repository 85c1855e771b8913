"""Arc-cosine kernels (Cho & Saul 2009): infinitely wide one-layer networks."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ..ops.projection import Activation, FloatArray, Operator, Projection
from . import radial
from .base import Family, check_option
from .distances import as_rows, inner_products

_ACTIVATIONS: tuple[Activation, ...] = ("step", "relu", "relu2")


class ArcCosine(Family):
    """phi(x) = sqrt(2) max(0, w.x)^order with w ~ N(0, I); order 0 is a step.

    The exact kernel is |x|^order |x'|^order J_order(angle) / pi (Cho & Saul 2009, eq. 3). It
    grows with |x| for orders 1 and 2, so there the features have no bound. It has no bandwidth:
    rescaling x only rescales the kernel.

    Parameters
    ----------
    order : 0, 1 or 2
        The power of the rectifier.
    sampling : "iid", "orthogonal", "structured" or "sobol"
        As in `Gaussian`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import ArcCosine
    >>> ArcCosine(order=1).exact_kernel(np.eye(2)).round(3)
    array([[1.   , 0.318],
           [0.318, 1.   ]])
    """

    typical: ClassVar = {"order": (1, 0, 2), "sampling": radial.DRAWS}

    def __init__(self, order: int = 1, *, sampling: str = "iid") -> None:
        self.order = order
        self.sampling = sampling

    @property
    def bound(self) -> float:
        return float(np.sqrt(2.0)) if self.order == 0 else float("inf")

    @property
    def differentiable(self) -> bool:
        return self.order != 0

    def check(self, n_features: int) -> None:
        order: object = self.order  # 1.0 and True equal 1, but are no index of an activation
        if (
            isinstance(order, bool)
            or not isinstance(order, Integral)
            or self.order not in (0, 1, 2)
        ):
            raise ValueError(f"ArcCosine(order={self.order!r}): the order must be 0, 1 or 2.")
        check_option("ArcCosine", "sampling", self.sampling, radial.DRAWS)

    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> Projection:
        self.check(n_features)
        n_atoms = self._check_count(n_columns)
        one = np.ones(())
        operator: Operator
        match self.sampling:
            case "structured":
                operator = radial.structured(n_atoms, n_features, rng, one)
            case "sobol":
                u = radial.sobol_uniforms(n_atoms, n_features, rng)
                operator = radial.dense(radial.normal_quantile(u), one)
            case "orthogonal":
                operator = radial.dense(radial.orthogonal(n_atoms, n_features, rng), one)
            case _:
                operator = radial.dense(radial.iid(n_atoms, n_features, rng), one)
        return Projection(operator, _ACTIVATIONS[self.order], float(np.sqrt(2.0)))

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        X = as_rows(X)
        Y = X if Y is None else as_rows(Y)
        self.check(X.shape[1])
        norms = np.outer(_norms(X), _norms(Y))
        inner = inner_products(X, Y)
        cosine = np.clip(np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0), -1, 1)
        # a row of zeros is never above zero, so order 0 is zero there too
        return np.where(norms > 0, norms**self.order * _angular(self.order, cosine) / np.pi, 0.0)


def _angular(order: int, cosine: FloatArray) -> FloatArray:
    """J_order of the angle (Cho & Saul 2009, eqs. 5 to 7)."""
    theta = np.arccos(cosine)
    if order == 0:
        return np.asarray(np.pi - theta)
    sine = np.sin(theta)
    if order == 1:
        return np.asarray(sine + (np.pi - theta) * cosine)
    return np.asarray(3.0 * sine * cosine + (np.pi - theta) * (1.0 + 2.0 * cosine**2))


def _norms(X: Any) -> FloatArray:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.square(X).sum(axis=1)
    return np.sqrt(np.asarray(squares).ravel())
