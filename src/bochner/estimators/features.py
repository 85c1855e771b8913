"""`LearnedFeatures`: the scikit-learn transformer around a learner."""

from __future__ import annotations

import re
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils._set_output import _get_output_config, _wrap_data_with_container
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .. import statistics
from ..certificates import Certificate
from ..families import as_family
from ..feature_map import FeatureMap
from ..learners import Selection, as_learner, check_needs
from ..learners.base import Request, Task
from ..learners.scoring import Scoring
from ..rows import Hook, RowSource, draw_sample
from ..rows.optional import is_dask
from ..rows.reduce import all_blocks
from ..rows.sample import stacked
from ..rows.threads import limited
from . import settings, targets
from .certify import (
    BANDWIDTH,
    Certified,
    Parts,
    of_kernel,
    of_learner,
    set_aside,
    share_of,
)
from .holding import Holding, holding
from .inputs import is_streamed, open_rows
from .radius import InBall
from .words import TakesWords


def learn_features(
    source: RowSource,
    estimator: Any,
    task: Task,
    rng: np.random.Generator,
    hook: Hook,
    held: Holding,
) -> tuple[FeatureMap, Selection]:
    """From rows and the settings of an estimator to a feature map: the one way there is."""
    d = source.n_features
    family = as_family(estimator.family)
    family.check(d)
    learner = as_learner(estimator.learner)
    check_needs(learner, source)
    available = family.n_available(d)
    counts = settings.counts(
        estimator.n_candidates,
        estimator.n_components,
        available,
        family.columns_per_atom,
        learner.candidates_per_component,
    )
    if family.needs_sample:
        hook.at("bandwidth")
        seed = int(rng.integers(2**62))
        sample = draw_sample(source, settings.SAMPLE_ROWS, seed, hook=hook)
        family = family.resolve(sample)
    hook.at("features")
    key = int(rng.integers(2**62)) if learner.needs.targets else 0
    auto = isinstance(estimator.n_components, str)
    given = estimator.scoring
    scoring = None if given is None or task.kind == "none" else Scoring(given, task)
    request = Request(family, *counts, task, rng, hook, held.rule(key), auto, scoring=scoring)
    return learner.learn(source, request)


class Transforms:
    """`transform` and `kernel` of a fitted map.

    They stand here out of reach of the wrapper that would make one table of a stream.
    """

    feature_map_: FeatureMap
    n_jobs: int | None

    def transform(self, X: Any) -> Any:
        """The features of X: an array; an iterator of arrays for a scan; a Dask array for Dask.

        Columns chosen from sparse rows stay sparse: CSR, and CSR blocks of a scan. `set_output`
        applies to rows in memory, and makes a table of them.
        """
        check_is_fitted(self)
        with limited(settings.threads(self.n_jobs)):
            if self._stays_sparse(X):
                return self.feature_map_.sparse(self._rows(X))
            blocks = is_streamed(X) and not is_dask(X)
            source = open_rows(self, X, reset=False)
            Z = statistics.features(source, self.feature_map_, sparse=blocks)
        return Z if is_streamed(X) else _wrap_data_with_container("transform", Z, X, self)

    def _stays_sparse(self, X: Any) -> bool:
        if not sparse.issparse(X) or self.feature_map_.input_columns is None:
            return False
        return bool(_get_output_config("transform", self)["dense"] == "default")

    def kernel(self, X: Any, Y: Any = None) -> Any:
        """The learned kernel between the rows of X and of Y (of X, where None): n x m.

        It goes where scikit-learn takes a kernel as a function: ``SVC(kernel=features.kernel)``.
        """
        check_is_fitted(self)
        left = self._rows(X)
        return self.feature_map_.kernel(left, None if Y is None else self._rows(Y))

    def _rows(self, X: Any) -> Any:
        if is_streamed(X):
            raise ValueError(
                "a kernel matrix needs rows in memory; transform takes scans and Dask."
            )
        blocks = [block.X for block in all_blocks(open_rows(self, X, reset=False))]
        return blocks[0] if len(blocks) == 1 else stacked(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A readable name for each column, with those of the columns of X in it."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        columns = self.feature_map_.input_columns
        if columns is not None and given is not None:
            return np.asarray(given, dtype=object)[columns]

        def told(name: str) -> str:
            return re.sub(r"\bx(\d+)\b", lambda found: str(given[int(found[1])]), name)

        return np.array([told(name) for name in self.feature_map_.names], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self.feature_map_.n_features


class LearnedFeatures(Transforms, Certified, InBall, TransformerMixin, TakesWords):
    """An explicit feature map whose inner product is a kernel, learned from the labels.

    With ``learner="uniform"`` nothing is learned: these are random features as drawn, the
    equivalent of scikit-learn's `RBFSampler` for every family here.

    Parameters
    ----------
    family : Family or str, default="gaussian"
        Where candidate features come from, see `bochner.families`.
    learner : Learner or str, default="uniform"
        What the labels do to them, see `bochner.learners`.
    n_candidates : int or "auto", default="auto"
        Columns drawn. "auto" is as many as the learner can use: ``n_components`` for "uniform",
        20 times that for "alignment".
    n_components : int or "auto", default="auto"
        Columns kept. "auto" is 512, or all there are where a family is finite
        (the columns of X for Linear).
    task : "auto", "classification" or "regression"
        What y means, for learners that use it. Of a scan or Dask collection it must be said.
    cv : None, float or scikit-learn splitter, default=None
        Which rows a learner's own choices hold out: None is a quarter, by a keyed hash of their
        content; a float is another share; the first split of a splitter decides for rows in memory.
    scoring : None, str or callable, default=None
        How these rows judge: None is the learner's own way (squared error, or its loss); else a
        score of scikit-learn ("accuracy", "r2"), or a callable(estimator, X, y), greater is
        better, whose estimator makes predictions of X, the raw scores of a model in the making.
    random_state : int, RandomState, Generator or None
    certify : bool or float in (0, 1), default=False
        True sets a fifth of the rows aside (a number: that share) before anything is learned, by a
        hash of their content. They certify the alignment loss of the learned kernel.
    device : None or "cpu"
        Where to compute; a device that is not available raises.
    verbose : int
        1 prints a line a second to stderr, 2 every event.
    callback : callable or list of callables
        Called with an `Event` during long loops; returning True stops the fit.
    n_jobs : int or None
        Threads to use; None uses all cores of the process.

    Attributes
    ----------
    feature_map_ : FeatureMap
        The map itself; it works without this estimator.
    selection_ : Selection
        What the learner chose.
    rho_ : float
        The radius of the divergence ball, of learners that move in one.
    certificate_ : Certificate
        What is guaranteed of the kernel at 0.95: from rows set aside with ``certify=True``, else
        by the theory of the learner, with the assumptions that are broken.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import LearnedFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> LearnedFeatures(n_components=100, random_state=0).fit_transform(X).shape
    (150, 100)
    """

    def __init__(
        self,
        family: Any = "gaussian",
        learner: Any = "uniform",
        n_candidates: Any = "auto",
        n_components: Any = "auto",
        *,
        task: str = "auto",
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
        self.task = task
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state
        self.certify = certify
        self.device = device
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the map. X is anything `scan` or scikit-learn takes; y is needed by some learners.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix, memory map, scan or Dask collection (n, d)
        y : array (n,) or (n, k), optional
        sample_weight : array (n,), optional
        groups : array (n,), optional
            Rows of one group are held out together, or not at all.
        """
        with settings.fitting(self):
            rng = settings.generator(self.random_state)
            kind = self._kind_of_targets(X, y)
            y = None if kind == "none" else targets.checked(y, kind)
            source = open_rows(self, X, y, sample_weight, reset=True)
            held = holding(self.cv, X, y, groups)
            source, task = targets.for_learning(source, kind)
            hook = Hook(self.callback, self.verbose)
            parts = set_aside(self.certify, source, held, self.random_state)
            learned = learn_features(parts.fit, self, task, rng, hook, parts.held)
            self.feature_map_, self.selection_ = learned
            self.certificates_ = self._certify(parts, task)
        return self

    def truncate(self, M: int) -> Self:
        """The same features up to the M-th, as a fitted transformer of their own.

        Of `Greedy`, `Energy` and `MarginSearch`, whose columns are in the order of selection, it is
        the fit for M columns (up to a common factor), without a fit; ``selection_`` is still that
        of all. What was certified of all columns does not hold of some, and is dropped.

        Examples
        --------
        >>> import numpy as np
        >>> from bochner import LearnedFeatures
        >>> X = np.random.default_rng(0).standard_normal((100, 20))
        >>> features = LearnedFeatures("linear", "greedy", n_components=2).fit(X, X[:, 4] - X[:, 1])
        >>> features.truncate(1).transform(X).shape
        (100, 1)
        """
        check_is_fitted(self)
        part = copy(self).set_params(n_components=M)
        part.feature_map_, part.certificates_ = self.feature_map_.truncate(M), {}
        return part

    def _certify(self, parts: Parts, task: Task) -> dict[str, Certificate]:
        found: dict[str, Certificate] = {}
        if parts.aside is not None:
            found |= of_kernel(self.feature_map_, parts.fit, parts.aside, task)
        broken = [BANDWIDTH] if as_family(self.family).needs_sample else []
        learner, n = as_learner(self.learner), parts.fit.n_rows
        return found | of_learner(learner, self.selection_, n, self.feature_map_, broken)

    def _kind_of_targets(self, X: Any, y: Any) -> str:
        """Classification, regression, or "none" where nothing looks at y."""
        if not as_learner(self.learner).needs.targets and share_of(self.certify) is None:
            return "none"
        if is_streamed(X):
            return targets.kind_of_stream(self.task)
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: the learner of this "
                "LearnedFeatures learns from targets."
            )
        return targets.infer_task(self.task, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = settings.learns_from_targets(self.learner)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
