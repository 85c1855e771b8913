"""What `KernelClassifier` and `KernelRegressor` share: rows, features, head, raw scores."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..certificates import Certificate
from ..families import Family, Gaussian, as_family
from ..feature_map import FeatureMap
from ..learners import as_learner
from ..learners.base import Task
from ..learners.scoring import Scoring
from ..linear import Head, LinearModel, Logistic, Ridge, as_head
from ..linear.incremental import IncrementalRidge
from ..rows import Hook, RowSource
from ..rows.adapt import refuse_frame
from ..rows.block import Array
from ..rows.threads import limited
from ..search.columns import learn_treatment
from . import predictors, settings
from .certify import (
    BANDWIDTH,
    COLUMNS,
    AsideSum,
    Certified,
    Parts,
    Unseen,
    of_head,
    of_kernel,
    of_learner,
)
from .features import learn_features
from .holding import Holding
from .inputs import open_rows
from .penalty import held_out_choice
from .radius import InBall
from .targets import with_signs
from .words import TakesWords

#: The key of the rows held out for alpha, where ``cv=`` is a share.
ALPHA_KEY = 0x2545F491


class KernelModel(Certified, InBall, TakesWords):
    """What the classifier and the regressor share: opening rows, fitting, and raw scores."""

    family: Any
    head: Any
    learner: Any
    n_candidates: Any
    n_components: Any
    preprocess: Any
    cv: Any
    scoring: Any
    random_state: Any
    device: Any
    verbose: int
    callback: Any
    n_jobs: Any
    certify: Any
    unseen_: Unseen
    _sums: IncrementalRidge

    def _open(self, X: Any, y: Any = None, weight: Any = None, *, reset: bool) -> RowSource:
        if self.preprocess not in ("auto", None):
            raise ValueError(f"preprocess={self.preprocess!r} is not known; use 'auto' or None.")
        mixed = self.preprocess == "auto"
        allow_nan = mixed and not sparse.issparse(X)
        source = open_rows(self, X, y, weight, reset=reset, allow_nan=allow_nan, allow_frame=mixed)
        if not reset:
            self._check_kinds(source)
        return source

    def _check_kinds(self, source: RowSource) -> None:
        if self.treatment_ is None:
            refuse_frame(source)
        else:
            self.treatment_.check(source.schema)

    def _words(self) -> Mapping[str, Callable[[str], Any]]:
        own = {"family": self._family_of, "head": self._head_of}
        return {**super()._words(), **own}

    def _family_of(self, word: str) -> Family:
        return Resolved(self).family if word == "auto" else as_family(word)

    def _head_of(self, word: str) -> Head:
        return self._auto_head() if word == "auto" else as_head(word)

    def _head(self) -> Head:
        """The head asked for."""
        return self._head_of(self.head) if isinstance(self.head, str) else as_head(self.head)

    def _auto_head(self) -> Head:
        """What "auto" means: the estimator's own choice."""
        raise NotImplementedError

    def _fit_source(self, parts: Parts, task: Task) -> None:
        """Everything after validation: the rows carry class indices or float targets."""
        source, held = parts.fit, parts.held
        rng = settings.generator(self.random_state)
        hook = Hook(self.callback, self.verbose)
        head = self._head()
        if hasattr(self, "_sums"):  # batches of an earlier partial_fit are not these rows
            del self._sums
        rows, treatment = self._treated(source, hook)
        feature_map, selection = learn_features(rows, Resolved(self), task, rng, hook, held)
        treated = rows
        if task.n_classes is not None and isinstance(head, Ridge):
            rows = with_signs(rows, task.n_classes)
        if isinstance(self.head, str) and self.head == "auto":
            head = self._scaled(head, rows, feature_map)
        head = self._penalised(head, rows, feature_map, task, held)
        model = head.fit(rows, feature_map, n_classes=task.n_classes, hook=hook.at("head"))
        self.treatment_, self.feature_map_, self.selection_ = treatment, feature_map, selection
        self._keep(model)
        hook.at("certificates")
        self._certify(treated, parts.aside, task)

    def _penalised(
        self, head: Head, rows: RowSource, fm: FeatureMap, task: Task, held: Holding
    ) -> Head:
        """A `Ridge` that chooses its alpha, with the choice that ``cv=`` and the like ask for."""
        searches = isinstance(head, Ridge) and isinstance(head.alpha, str)
        asked = self.cv is not None or held.groups is not None or self.scoring is not None
        if not (searches and asked):
            return head
        assert isinstance(head, Ridge)
        scoring = None if self.scoring is None else Scoring(self.scoring, task)
        hook = Hook(self.callback, self.verbose)
        return held_out_choice(head, rows, fm, task, held.rule(ALPHA_KEY), scoring, hook)

    def _certify(self, rows: RowSource, aside: RowSource | None, task: Task) -> None:
        """What is guaranteed: ``rows`` were fitted on, after the column treatment."""
        fm = self.feature_map_
        found: dict[str, Certificate] = {}
        if aside is not None:
            logistic = task.n_classes is not None and isinstance(self._head(), Logistic)
            self.unseen_ = aside.reduce(AsideSum(self._decision(), task, logistic))
            found |= self._of_unseen(self.unseen_)
            known = self.treatment_
            treated = aside if known is None else aside.mapped(known, known.output)
            found |= of_kernel(fm, rows, treated, task)
        elif hasattr(self, "unseen_"):  # of an earlier fit
            del self.unseen_
        broken = [BANDWIDTH] if Resolved(self).family.needs_sample else []
        broken += [COLUMNS] if self.treatment_ is not None else []
        learner = as_learner(self.learner)
        found |= of_learner(learner, self.selection_, rows.n_rows, fm, broken)
        if aside is not None and task.n_classes is not None:
            found |= of_head(rows, fm, self.model_, broken, learned=learner.needs.targets)
        self.certificates_ = found

    def _scores_aside(self, method: str) -> Array:
        """Conformal scores of the rows set aside, ascending."""
        check_is_fitted(self, "model_")
        if not hasattr(self, "unseen_"):
            raise ValueError(
                f"{method} needs rows that nothing was fitted on: fit with certify=True, or with "
                "the share of rows to set aside."
            )
        return self.unseen_.scores

    def _of_unseen(self, unseen: Unseen) -> dict[str, Certificate]:
        """What the predictions on rows set aside say."""
        raise NotImplementedError

    def _scaled(self, head: Head, rows: RowSource, feature_map: FeatureMap) -> Head:
        """The automatic head in the units of these features; `Ridge` finds its own."""
        return head

    def _add_source(self, source: RowSource, task: Task, held: Holding) -> None:
        """`partial_fit` after validation: the first batch fixes columns and features."""
        head = self._head()
        if not isinstance(head, Ridge):
            raise ValueError(f"partial_fit needs a Ridge head, whose sums add up; got {head!r}.")
        hook = Hook(self.callback, self.verbose)
        if hasattr(self, "_sums"):
            sums = self._sums
            known = self.treatment_
            rows = source if known is None else source.mapped(known, known.output)
        else:
            rng = settings.generator(self.random_state)
            rows, self.treatment_ = self._treated(source, hook)
            learned = learn_features(rows, Resolved(self), task, rng, hook, held)
            self.feature_map_, self.selection_ = learned
            self.certificates_ = {}
            sums = IncrementalRidge(head)
        if task.n_classes is not None:
            rows = with_signs(rows, task.n_classes)
        self._sums, model = sums.add(rows, self.feature_map_)
        self._keep(model)

    def _treated(self, source: RowSource, hook: Hook) -> tuple[RowSource, Any]:
        if self.preprocess is None:
            return source, None
        hook.at("columns")
        treatment = learn_treatment(source)
        if treatment is None:
            return source, None
        return source.mapped(treatment, treatment.output), treatment

    def _keep(self, model: LinearModel) -> None:
        self.model_ = model
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.n_iter_ = max(1, model.n_iter)

    def _decision(self) -> predictors.Decision:
        check_is_fitted(self, "model_")
        return predictors.Decision(self.treatment_, self.feature_map_, self.model_)

    def _map(self, X: Any, function: Any, *, dtype: Any, width: int | None) -> Any:
        check_is_fitted(self, "model_")
        with limited(settings.threads(self.n_jobs)):
            source = self._open(X, reset=False)
            return source.map(predictors.Then(self._decision(), function), dtype=dtype, width=width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.preprocess == "auto"
        return tags


class Resolved:
    """The settings of an estimator with ``family="auto"`` spelled out."""

    def __init__(self, model: KernelModel) -> None:
        self.learner, self.scoring = model.learner, model.scoring
        self.n_candidates, self.n_components = model.n_candidates, model.n_components
        self.family = model.family
        if isinstance(self.family, str) and self.family == "auto":
            counts = (self.n_candidates, self.n_components)
            odd = any(isinstance(n, numbers.Integral) and int(n) % 2 for n in counts)
            self.family = Gaussian(form="phase" if odd else "pair", sampling="orthogonal")
        self.family = as_family(self.family)
