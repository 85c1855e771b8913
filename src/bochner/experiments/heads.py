"""A linear head whose penalty is free of units, and its choice on rows held out for it.

A penalty p stands for alpha = p sum_i |phi(x_i)|^2, the sum of the Gram matrix's eigenvalues: the
same p means as much on half the rows, or for features of another scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..feature_map import FeatureMap
from ..linear import LinearModel, Logistic, Ridge, SquaredHinge
from ..rows import MemorySource
from .wide import ridge_path

#: Bytes of features that are made once for all penalties; beyond that a head makes its own.
AT_ONCE = 1.5e9
#: Columns beyond which a few Cholesky factors take less time than one decomposition.
MOST_COLUMNS = 2000


@dataclass(frozen=True)
class Penalised:
    """A "ridge" (on signs of classes), "logistic" or "squared_hinge", and the penalties to try."""

    kind: str = "logistic"
    penalties: tuple[float, ...] = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
    tol: float = 1e-9

    def fit(self, rows: Rows, penalties: Sequence[float]) -> list[LinearModel]:
        """One model a penalty, strongest first, each from the one before."""
        alphas = [p * rows.size for p in penalties]
        if self.kind == "ridge":
            return _ridge(rows, alphas)
        head = {"logistic": Logistic, "squared_hinge": SquaredHinge}[self.kind]
        models: list[LinearModel] = []
        source = MemorySource(rows.Z, rows.indices.astype(np.float64))
        for alpha in alphas:
            start = models[-1] if models else None
            made = head(alpha, tol=self.tol)
            models.append(made.fit(source, rows.fm, n_classes=len(rows.classes), start=start))
        return models

    @property
    def descending(self) -> tuple[float, ...]:
        return tuple(sorted(self.penalties, reverse=True))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows for a head: features where they fit into memory at once, else rows and a map."""

    Z: Any
    fm: FeatureMap | None
    y: Any
    classes: Any  # empty for regression
    size: float  # sum_i |phi(x_i)|^2

    @classmethod
    def of(cls, fm: FeatureMap, X: Any, y: Any, task: str) -> Rows:
        Z, left = features(fm, X)
        classes = np.unique(y) if task == "classification" else np.zeros(0)
        whole = Z if left is None else fm(X[:2000])
        size = float(np.square(whole.data if sparse.issparse(whole) else whole).sum())
        return cls(Z, left, y, classes, max(size * X.shape[0] / whole.shape[0], 1e-300))

    @property
    def indices(self) -> Any:
        return np.searchsorted(self.classes, self.y)

    @property
    def targets(self) -> Any:
        """For ridge: y itself, one sign, or one sign a class."""
        if len(self.classes) == 0:
            return np.asarray(self.y, dtype=np.float64)
        signs = np.where(self.indices[:, None] == np.arange(len(self.classes)), 1.0, -1.0)
        return signs[:, 1] if len(self.classes) == 2 else signs


def features(fm: FeatureMap, X: Any) -> tuple[Any, FeatureMap | None]:
    """(phi(X), None) where that fits; else (X, fm). Wide columns of sparse rows stay sparse."""
    if fm.n_features > X.shape[0] and (Z := fm.sparse(X)) is not None:
        return Z, None
    if X.shape[0] * fm.n_features * 4.0 > AT_ONCE:
        return X, fm
    return fm(X), None


def predict(model: LinearModel, classes: Any, fm: FeatureMap | None, Z: Any) -> Any:
    """Classes, or numbers for regression."""
    scores = model.decision(fm, Z)
    if len(classes) == 0:
        return scores[:, 0] if scores.shape[1] == 1 else scores
    if scores.shape[1] == 1:
        return classes[(scores[:, 0] > 0).astype(np.intp)]
    return classes[np.argmax(scores, axis=1)]


def _ridge(rows: Rows, alphas: Sequence[float]) -> list[LinearModel]:
    """Of the two systems the smaller; one decomposition for all penalties where that pays."""
    n, M = rows.Z.shape
    if rows.fm is None and n < M:
        return ridge_path(rows.Z, rows.targets, alphas)
    source = MemorySource(rows.Z, rows.targets)
    if len(alphas) == 1 or M > MOST_COLUMNS:
        return [Ridge(alpha).fit(source, rows.fm) for alpha in alphas]
    path = Ridge(alphas[0], alphas=alphas).fit(source, rows.fm).path
    assert path is not None
    models = []
    for alpha in alphas:
        coef = path.coef(alpha)
        mean = path.spectrum.mean_y - coef @ path.spectrum.mean_x
        models.append(LinearModel(coef, mean))
    return models
