"""`KernelClassifier`: column treatment, features and a linear head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..certificates import Certificate, held_out_error
from ..certificates.conformal import threshold
from ..feature_map import FeatureMap
from ..learners.base import Task
from ..linear import Head, Logistic, Ridge, probabilities
from ..linear.model import squeezed
from ..rows import RowSource, draw_sample
from ..rows.block import is_sparse
from . import predictors, settings, targets
from .certify import DELTA, DISTINCT, Parts, SetOf, Unseen, set_aside
from .holding import holding
from .inputs import is_streamed
from .kernel_model import KernelModel

#: The penalty of head="auto": at or near the least cross-validated log loss on the training parts
#: of magic, spam, satimage and letter (``python -m benchmarks.defaults``); 1 lost up to 12 points.
AUTO_ALPHA = 0.03
#: Rows from which the size of unbounded features is read.
SCALE_ROWS = 1_000


def _models_probabilities(estimator: KernelClassifier) -> bool:
    """What `available_if` asks; the error is what a user of another head sees."""
    if isinstance(estimator._head(), Logistic):
        return True
    raise AttributeError(
        f"KernelClassifier(head={estimator.head!r}) has no probabilities: only head='logistic' "
        "models them. Use it, or calibrate with sklearn.calibration.CalibratedClassifierCV."
    )


def _adds_up(estimator: KernelClassifier) -> bool:
    """Do the sums of its head add up over batches? What `available_if` asks."""
    if isinstance(estimator._head(), Ridge):
        return True
    raise AttributeError(
        f"KernelClassifier(head={estimator.head!r}) has no partial_fit: a logistic or hinge loss "
        "needs all rows again. Use head='ridge', or fit on a scan of the batches."
    )


class KernelClassifier(ClassifierMixin, KernelModel):
    """A kernel classifier as a linear model on explicit features.

    Parameters
    ----------
    family : Family, str or "auto", default="auto"
        Where features come from, see `bochner.families`. "auto" is a Gaussian with the median
        bandwidth, orthogonal frequencies and (cos, sin) pairs.
    learner : Learner or str, default="uniform"
        What the labels do to the features, see `bochner.learners`.
    n_candidates, n_components : int or "auto"
        Columns drawn and columns kept, see `LearnedFeatures`.
    head : a head, its name or "auto", default="auto"
        The linear model on the features, see `bochner.linear`. "auto" is `Logistic` with an alpha
        of 0.03 times the mean of |phi(x)|^2, which is 1 for translation-invariant kernels
        (``python -m benchmarks.defaults`` shows why); with `Ridge` the classes are fitted by
        least squares.
    preprocess : "auto" or None, default="auto"
        "auto" standardises numbers, fills missing ones and marks them, and gives every value of a
        category a column; sparse rows pass as they are. None takes the numbers as they come.
    cv, scoring, random_state, device, verbose, callback, n_jobs
        See `LearnedFeatures`.
    certify : bool or float in (0, 1), default=False
        True sets a fifth of the rows aside (a number: that share) before anything is learned, by a
        hash of their content. They certify the result: `certificate_` and `certificates_`, and
        `predict_set`.
    class_weight : None, "balanced" or dict, default=None
        Factors on the weights of the rows of each class.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_, coef_, intercept_
        As in scikit-learn; ``coef_`` is over the features.
    feature_map_ : FeatureMap
    selection_ : Selection
    rho_ : float
        The radius of the divergence ball, of learners that move in one.
    model_ : LinearModel
        The head's solution, with its status and optimality gap.
    treatment_ : ColumnTreatment or None
    certificate_ : Certificate
        What is guaranteed, each at 0.95: with ``certify=True`` the error of this classifier, else
        what the learner's theory says of its kernel, with the assumptions that are broken.
    certificates_ : dict of Certificate
        "error", "kernel" (alignment loss, from rows set aside), "head" (PAC-Bayes, from the rows
        fitted on) and "learner", as far as there are any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bochner import KernelClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> KernelClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95
    True
    """

    def __init__(
        self,
        family: Any = "auto",
        learner: Any = "uniform",
        n_candidates: Any = "auto",
        n_components: Any = "auto",
        *,
        head: Any = "auto",
        class_weight: Any = None,
        preprocess: str | None = "auto",
        cv: Any = None,
        scoring: Any = None,
        random_state: Any = None,
        certify: Any = False,
        device: str | None = None,
        verbose: int = 0,
        callback: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.learner = learner
        self.n_candidates = n_candidates
        self.n_components = n_components
        self.head = head
        self.class_weight = class_weight
        self.preprocess = preprocess
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state
        self.certify = certify
        self.device = device
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit on rows X with labels y (none when X is a scan that names its target).

        ``groups`` names a group for each row: see ``cv`` of `LearnedFeatures`.
        """
        with settings.fitting(self):
            y = y if is_streamed(X) else _labels(y)
            source = self._open(X, y, sample_weight, reset=True)
            held = holding(self.cv, X, y, groups)
            self.classes_ = source.reduce(targets.ClassSum())
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y holds only one class ({self.classes_.tolist()[0]!r}); a classifier needs "
                    "at least two. Check the target column, or how the rows were selected."
                )
            parts = set_aside(self.certify, source, held, self.random_state)
            self._fit_source(self._encoded(parts), self._task())
        return self

    def _encoded(self, parts: Parts) -> Parts:
        """Class indices for labels; rows set aside have no say in the weights of classes."""
        fit = targets.with_classes(parts.fit, self.classes_, self.class_weight)
        if parts.aside is None:
            return replace(parts, fit=fit)
        left = parts.fit.reduce(targets.ClassSum())
        if len(left) < len(self.classes_):
            missing = sorted(set(self.classes_.tolist()) - set(left.tolist()))[:5]
            raise ValueError(
                f"certify={self.certify!r} sets all rows of the classes {missing} aside: give more "
                "rows of them, or a smaller share."
            )
        return replace(parts, fit=fit, aside=targets.with_classes(parts.aside, self.classes_, None))

    def _of_unseen(self, unseen: Unseen) -> dict[str, Certificate]:
        found = held_out_error(unseen.errors, unseen.n, DELTA)
        return {"error": replace(found, assumptions=(*found.assumptions, DISTINCT))}

    def predict_set(self, X: Any, alpha: float = 0.1) -> Any:
        """Which classes a row may have, n x C of booleans, the truth missed in alpha of all rows.

        Split conformal sets from the rows that ``certify=`` set aside: over these and a new row
        from the same distribution, P(truth in its set) >= 1 - alpha, whatever the model. The
        predicted class is always in the set. Columns follow ``classes_``.
        """
        most = threshold(self._scores_aside("predict_set"), alpha)
        pick = SetOf(most, isinstance(self._head(), Logistic))
        return self._map(X, pick, dtype=np.bool_, width=len(self.classes_))

    @available_if(_adds_up)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add a batch of rows and solve for all rows so far; for heads whose sums add up.

        ``classes`` names all classes, at the first call at the latest. The first batch fixes the
        treatment of columns and the features, so it should be typical. A call after `fit` starts
        afresh, with the same classes. ``class_weight`` must be a dict or None: "balanced" would
        need all rows.
        """
        with settings.fitting(self):
            fresh = not hasattr(self, "_sums")
            self._know_classes(classes, fresh)
            y = y if is_streamed(X) else _labels(y)
            source = self._open(X, y, sample_weight, reset=fresh)
            encoded = targets.with_classes(source, self.classes_, self.class_weight)
            task = self._task()
            self._add_source(encoded, task, holding(self.cv, X, y))
        return self

    def _task(self) -> Task:
        return Task("classification", len(self.classes_), tuple(self.classes_.tolist()))

    def _know_classes(self, classes: Any, fresh: bool) -> None:
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows; give partial_fit a dict."
            )
        if classes is None:
            return
        known = np.unique(np.asarray(classes))
        if not fresh and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes={known!r} is not what it was before: {self.classes_!r}.")
        if len(known) < 2:
            raise ValueError(f"a classifier needs at least two classes, got {known!r}.")
        self.classes_ = known

    def _auto_head(self) -> Head:
        return Logistic(alpha=AUTO_ALPHA)

    def _scaled(self, head: Head, rows: RowSource, feature_map: FeatureMap) -> Head:
        """A penalty means the same for features of any size, such as columns of X themselves."""
        if np.isfinite(feature_map.family.bound):  # then the kernel is 1 on its diagonal
            return head
        sample = draw_sample(rows, SCALE_ROWS, 0)
        phi: Any = feature_map(sample.X)
        norms = phi.multiply(phi) if is_sparse(phi) else np.square(phi)
        mean = float(sample.weight @ np.asarray(norms.sum(axis=1)).ravel()) / sample.weight.sum()
        return Logistic(alpha=AUTO_ALPHA * mean) if mean > 0 else head

    def decision_function(self, X: Any) -> Any:
        """Raw scores: n for two classes, n x C otherwise."""
        check_is_fitted(self, "model_")
        width = None if len(self.coef_) == 1 else len(self.coef_)
        return self._map(X, squeezed, dtype=np.float64, width=width)

    def predict(self, X: Any) -> Any:
        """The predicted class of each row."""
        check_is_fitted(self, "model_")
        pick = predictors.PickClass(self.classes_)
        return self._map(X, pick, dtype=self.classes_.dtype, width=None)

    @available_if(_models_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, n x C; for heads that model them."""
        check_is_fitted(self, "model_")
        return self._map(X, probabilities, dtype=np.float64, width=len(self.classes_))

    @available_if(_models_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba`."""
        check_is_fitted(self, "model_")
        return self._map(X, _log_softmax, dtype=np.float64, width=len(self.classes_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; a scan brings its own targets."""
        if not is_streamed(X):
            return float(super().score(X, y, sample_weight))
        pick = predictors.Then(self._decision(), predictors.PickClass(self.classes_))
        source = self._open(X, y, sample_weight, reset=False)
        return predictors.score_rows(source, pick, "classification")


def _log_softmax(scores: Any) -> Any:
    return np.log(np.maximum(probabilities(scores), np.finfo(np.float64).tiny))


def _labels(y: Any) -> Any:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: KernelClassifier learns from "
            "labels."
        )
    return targets.classification_targets(y)
