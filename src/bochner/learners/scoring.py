"""``scoring=``: what an inner choice takes for better, in scikit-learn's words.

A scorer asks an estimator for predictions of rows. Inner choices have raw scores instead: rows of
C numbers, from a linear model that exists for the moment. A stand-in turns these into what the
scorer asks for, so that ``scorer(stand_in, raw, y)`` is any score that scikit-learn knows.
"""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils.metaestimators import available_if

from ..linear import probabilities
from ..linear.model import best_class, squeezed
from ..ops import FloatArray
from .base import Task


class RawClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are raw scores, n x C; ``logistic``: do they model probabilities?"""

    def __init__(self, classes: Any, logistic: bool) -> None:
        self.classes = classes
        self.logistic = logistic
        self.classes_ = np.asarray(classes)

    def fit(self, X: Any, y: Any = None) -> RawClassifier:
        """There is nothing to learn."""
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        return squeezed(X)

    def predict(self, X: FloatArray) -> Any:
        return self.classes_[best_class(X)]

    @available_if(lambda self: self.logistic)
    def predict_proba(self, X: FloatArray) -> FloatArray:
        return probabilities(X)


class RawRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose rows are its predictions."""

    def fit(self, X: Any, y: Any = None) -> RawRegressor:
        """There is nothing to learn."""
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        return squeezed(X)


@dataclass(frozen=True, eq=False)
class Scoring:
    """``scoring=`` of an estimator, for rows and targets as learners see them."""

    given: Any
    task: Task

    def __post_init__(self) -> None:
        """Refuse what is no score before any work."""
        self._scorer(True)

    def error(self, raw: FloatArray, y: Any, w: FloatArray, *, logistic: bool = False) -> float:
        """Minus the score of raw scores, n x C, of rows with weights w (0 is absent).

        A score that knows no weights sees a row of weight 2 twice.
        """
        there = np.flatnonzero(w > 0)
        w = w[there]
        options: dict[str, Any] = {}
        if np.ptp(w) > 0 or w[0] != np.floor(w[0]):
            if self._takes_weights:
                options = {"sample_weight": w}
            elif np.all(w == np.floor(w)):
                there = np.repeat(there, w.astype(np.intp))
            else:
                raise ValueError(
                    f"scoring={self.given!r} takes no sample_weight, but rows have weights such as "
                    f"{w[w != np.floor(w)][0]:g}. Give a score that takes them, or whole weights."
                )
        labels = self.labels(np.asarray(y)[there])
        return -self._score(raw[there].astype(np.float64), labels, logistic, options)

    def labels(self, y: Any) -> Any:
        """Targets as the caller gave them, from class indices, +-1 columns or amounts."""
        if self.task.kind != "classification":
            return squeezed(y)
        index = best_class(y) if y.ndim == 2 else y.astype(np.intp)
        return self._classes[index]

    def _score(self, raw: FloatArray, labels: Any, logistic: bool, options: Any) -> float:
        try:
            score = self._scorer(logistic)(self._stand_in(logistic), raw, labels, **options)
        except AttributeError as error:
            raise ValueError(
                f"scoring={self.given!r} asks for what this choice does not have ({error}): it is "
                "judged by least squares, which has no probabilities. Give a score of predictions "
                "or of decision_function, such as 'accuracy' or 'balanced_accuracy'."
            ) from error
        except ValueError as error:
            raise ValueError(
                f"scoring={self.given!r} cannot judge this {self.task.kind} on {len(raw)} held-out "
                f"rows: {error} Give a score for such targets, or hold out other rows (cv=)."
            ) from error
        if not np.ndim(score) == 0 or not np.isfinite(score):
            raise ValueError(
                f"scoring={self.given!r} came out as {score!r} on {len(raw)} held-out rows; "
                "expected a finite number. Hold out more rows (cv=), or give another score."
            )
        return float(score)

    @property
    def _classes(self) -> Any:
        known = self.task.classes
        return np.arange(self.task.n_classes or 2) if known is None else np.array(known)

    def _stand_in(self, logistic: bool) -> Any:
        if self.task.kind != "classification":
            return RawRegressor()
        return RawClassifier(self._classes, logistic)

    def _scorer(self, logistic: bool) -> Any:
        if not (isinstance(self.given, str) or callable(self.given)):
            raise ValueError(
                f"scoring={self.given!r}: give the name of one score, such as 'accuracy' or 'r2' "
                "(sklearn.metrics.get_scorer_names() lists them), a callable(estimator, X, y), or "
                "None."
            )
        if isinstance(self.given, str) and self.given not in get_scorer_names():
            near = difflib.get_close_matches(self.given, get_scorer_names(), 3)
            raise ValueError(
                f"scoring={self.given!r} is no score of scikit-learn; "
                + (f"did you mean {', '.join(map(repr, near))}? " if near else "")
                + "sklearn.metrics.get_scorer_names() lists them."
            )
        return check_scoring(self._stand_in(logistic), scoring=self.given)

    @property
    def _takes_weights(self) -> bool:
        scorer = self._scorer(True)
        asked = getattr(scorer, "_score_func", scorer)
        return "sample_weight" in inspect.signature(asked).parameters
