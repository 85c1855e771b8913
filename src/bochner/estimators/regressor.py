"""`KernelRegressor`: column treatment, features and a linear head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ..certificates import Certificate, residual_tolerance
from ..certificates.conformal import threshold
from ..learners.base import Task
from ..linear import Head, Ridge
from ..linear.model import squeezed
from ..rows import RowSource
from . import predictors, settings, targets
from .certify import DELTA, DISTINCT, Interval, Unseen, set_aside
from .holding import holding
from .inputs import is_streamed
from .kernel_model import KernelModel


class KernelRegressor(RegressorMixin, KernelModel):
    """A kernel regressor as a linear model on explicit features.

    Parameters
    ----------
    family : Family, str or "auto", default="auto"
        Where features come from, see `bochner.families`. "auto" is a Gaussian with the median
        bandwidth, orthogonal frequencies and (cos, sin) pairs.
    learner : Learner or str, default="uniform"
        What the labels do to the features, see `bochner.learners`.
    n_candidates, n_components : int or "auto"
        Columns drawn and columns kept, see `LearnedFeatures`.
    head : Ridge, "ridge" or "auto", default="auto"
        The linear model on the features, see `bochner.linear`. "auto" is a `Ridge` whose alpha
        is chosen by leave-one-out error, or by held-out rows where ``cv``, ``groups`` or
        ``scoring`` say how.
    preprocess : "auto" or None, default="auto"
        "auto" standardises numbers, fills missing ones and marks them, and gives every value of a
        category a column; sparse rows pass as they are. None takes the numbers as they come.
    cv, scoring, random_state, device, verbose, callback, n_jobs
        See `LearnedFeatures`.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_iter_, coef_, intercept_
        As in scikit-learn; ``coef_`` is over the features.
    feature_map_, selection_, model_, treatment_
        See `KernelClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bochner import KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> KernelRegressor(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.4
    True
    """

    n_outputs_: int
    _vector: bool

    def __init__(
        self,
        family: Any = "auto",
        learner: Any = "uniform",
        n_candidates: Any = "auto",
        n_components: Any = "auto",
        *,
        head: Any = "auto",
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
        """Fit on rows X with targets y, (n,) or (n, k) (none for a scan with a target).

        ``groups`` names a group for each row: see ``cv`` of `LearnedFeatures`.
        """
        with settings.fitting(self):
            numbers = self._numbers(X, y, sample_weight, reset=True)
            held = holding(self.cv, X, y, groups)
            parts = set_aside(self.certify, numbers, held, self.random_state)
            self._fit_source(parts, Task("regression"))
        return self

    def _of_unseen(self, unseen: Unseen) -> dict[str, Certificate]:
        if unseen.n < 9:  # too few for the radius of alpha = 0.1
            return {}
        found = residual_tolerance(unseen.scores, 0.1, DELTA)
        return {"residual": replace(found, assumptions=(*found.assumptions, DISTINCT))}

    def predict_interval(self, X: Any, alpha: float = 0.1) -> Any:
        """Lower and upper end for each row, n x 2, the target missed in alpha of all rows.

        Split conformal: the prediction and on either side the same radius, from the rows that
        ``certify=`` set aside. Over these and a new row from the same distribution,
        P(target inside) >= 1 - alpha, whatever the model.
        """
        if self.n_outputs_ > 1:
            raise ValueError(
                f"predict_interval takes one target, but there are {self.n_outputs_}: fit one "
                "regressor for each."
            )
        ends = Interval(threshold(self._scores_aside("predict_interval"), alpha))
        return self._map(X, ends, dtype=np.float64, width=2)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows and solve for all rows so far.

        The first batch fixes the treatment of columns and the features (with their bandwidth), so
        it should be typical; after that, order and size of the batches do not matter. A call after
        `fit` starts afresh. ``alpha="auto"`` is by generalised cross-validation here.
        """
        with settings.fitting(self):
            fresh = not hasattr(self, "_sums")
            numbers = self._numbers(X, y, sample_weight, reset=fresh)
            self._add_source(numbers, Task("regression"), holding(self.cv, X, y))
        return self

    def _numbers(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> RowSource:
        """The rows with float targets, whose number of columns is held against earlier ones."""
        y = y if is_streamed(X) else _regression_targets(y)
        source = self._open(X, y, sample_weight, reset=reset)
        width = source.schema.n_targets
        if width is None:
            raise ValueError("requires y to be passed: give y, or a scan with target=...")
        if not reset and max(1, width) != self.n_outputs_:
            raise ValueError(
                f"y has {max(1, width)} targets, but the batches before had {self.n_outputs_}."
            )
        self.n_outputs_, self._vector = max(1, width), width == 0
        return source.mapped(targets.CheckNumbers(), source.schema)

    def _auto_head(self) -> Head:
        return Ridge(alpha="auto")

    def _head(self) -> Head:
        head = super()._head()
        if not isinstance(head, Ridge):
            raise ValueError(
                f"KernelRegressor(head={self.head!r}): that head is for classes; use head='ridge', "
                "a Ridge or 'auto', or KernelClassifier."
            )
        return head

    def predict(self, X: Any) -> Any:
        """The predicted targets, in the shape that y had."""
        check_is_fitted(self, "model_")
        shape = squeezed if self._vector else predictors.unchanged
        width = None if self._vector else self.n_outputs_
        return self._map(X, shape, dtype=np.float64, width=width)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2; a scan brings its own targets."""
        if not is_streamed(X):
            return float(super().score(X, y, sample_weight))
        shape = predictors.Then(self._decision(), predictors.unchanged)
        source = self._open(X, y, sample_weight, reset=False)
        return predictors.score_rows(source, shape, "regression")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _regression_targets(y: Any) -> Any:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: KernelRegressor learns from "
            "targets."
        )
    targets.refuse_dates(y)
    try:
        return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"the regression target holds text ({error}); give numbers, or use KernelClassifier "
            "for classes."
        ) from error
