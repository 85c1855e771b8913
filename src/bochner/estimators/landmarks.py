"""`LandmarkFeatures`: one learned similarity to each of some landmarks."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array

from ..certificates import Certificate, fixed_landmarks, landmark
from ..certificates.kernel_loss import good_ts
from ..families import as_family
from ..families.base import check_option
from ..families.fourier import FourierFamily
from ..learners.base import Selection, Task
from ..learners.label_kernel import Target
from ..learners.landmark_choice import (
    INFERRED,
    Landmarks,
    centroids,
    check_distinct,
    distinct,
    mean_factor,
    rows_by_lot,
)
from ..learners.landmarks import Learned, exact, learn, loss_of_map
from ..learners.pseudo_posterior.posterior import check_beta
from ..learners.pseudo_posterior.similarity import similarity_target
from ..rows import Block, Hook, RowSample, RowSource, draw_sample
from ..rows.block import Array
from ..rows.sample import SAMPLE_BYTES
from . import settings, targets
from .certify import BANDWIDTH, DELTA, DISTINCT, Certified, Parts, set_aside, share_of
from .features import Transforms
from .holding import holding
from .inputs import is_streamed, open_rows
from .words import TakesWords

AMOUNTS = "the similarity of amounts is scaled by the mean and deviation of these rows"


class LandmarkFeatures(Transforms, Certified, TransformerMixin, TakesWords):
    """A column for each landmark: how alike a row is to it, learned from the labels.

    Column l is sum_k Q_lk cos(w_lk.(x - x_l)), with K frequencies of its own and the weights of
    Letarte et al. 2019, eq. (12): those whose cosine to the landmark goes with the label. It is a
    compact representation (a tenth of the rows as columns, by default) for a linear model on top.
    One pass over the rows; nothing of rows by frequencies is ever held.

    Parameters
    ----------
    n_landmarks : float in (0, 1) or int, default=0.1
        How many, as a share of the rows (at most the distinct ones) or a number. Ignored where
        ``landmarks`` are given.
    landmarks : {"kmeans", "random"}, array (L, d) or (array, targets), default="kmeans"
        Centroids of a sample of the rows, rows by lot, or points given, with their targets or with
        those of the nearest rows.
    n_frequencies : int, default=64
        K, frequencies of each landmark.
    beta : float, default=1.0
        Inverse temperature in units of sqrt(n).
    learn : bool, default=True
        False gives the kernel itself, exp(-|x - x_l|^2 / 2 bandwidth^2) for a Gaussian; y is not
        used then.
    family : Family or str, default="gaussian"
        A Fourier family: the prior of the frequencies. Its ``form`` does not matter here.
    stratify : bool, default=False
        Draw landmarks class by class, in proportion. The theorem covers landmarks="random" without
        it, and points given with their targets; not "kmeans", which looks at all rows.
    task : "auto", "classification" or "regression"
    certify : bool or float in (0, 1), default=False
        Sets rows aside for a certificate that holds whatever the landmarks are.
    random_state, device, verbose, callback, n_jobs
        See `LearnedFeatures`.

    Attributes
    ----------
    feature_map_ : FeatureMap
        Its ``projection`` mixes L K cosines down to L columns.
    landmarks_ : array (L, d)
    selection_ : Selection
        ``stats``: "losses" (L x K), and "loss", "kl" and "effective" (sample size of Q) of each
        landmark.
    certificate_, certificates_
        The bound under eq. (12) for all landmarks at once; from rows set aside with ``certify``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import LandmarkFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> LandmarkFeatures(random_state=0).fit(X, y).transform(X).shape
    (150, 15)
    """

    landmarks_: Any

    def __init__(
        self,
        n_landmarks: Any = 0.1,
        landmarks: Any = "kmeans",
        n_frequencies: int = 64,
        beta: float = 1.0,
        learn: bool = True,
        *,
        family: Any = "gaussian",
        stratify: bool = False,
        task: str = "auto",
        certify: Any = False,
        random_state: Any = None,
        device: str | None = None,
        verbose: int = 0,
        callback: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_frequencies = n_frequencies
        self.beta = beta
        self.learn = learn
        self.family = family
        self.stratify = stratify
        self.task = task
        self.certify = certify
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose landmarks and learn their similarities; X as for `LearnedFeatures`.

        With ``certify`` rows of one of the ``groups`` are set aside together, or not at all.
        """
        with settings.fitting(self):
            self._check()
            kind = self._kind(X, y)
            y = None if kind == "none" else targets.checked(y, kind)
            source = open_rows(self, X, y, sample_weight, reset=True)
            held = holding(None, X, y, groups)
            source, task, classes = _encoded(source, kind)
            parts = set_aside(self.certify, source, held, self.random_state)
            self._fit_parts(parts, task, classes)
        return self

    def _fit_parts(self, parts: Parts, task: Task, classes: Array | None) -> None:
        rng, hook = settings.generator(self.random_state), Hook(self.callback, self.verbose)
        source, family = parts.fit, as_family(self.family)
        if not isinstance(family, FourierFamily):
            raise ValueError(
                f"LandmarkFeatures(family={self.family!r}): similarities are made of cosines; use "
                "a Fourier family (Gaussian, Laplace, Cauchy, Matern)."
            )
        family.check(source.n_features)
        hook.at("landmarks")
        sample = draw_sample(source, settings.SAMPLE_ROWS, _seed(rng), targets=True, hook=hook)
        resolved = family.resolve(sample)
        target = None
        if task.kind != "none":
            target = similarity_target("raw", source, task, hook)
        found = self._landmarks(source, sample, target, classes, rng, hook)
        self.landmarks_ = found.X
        if not self.learn:
            self.feature_map_ = exact(resolved, found)
            self.selection_ = Selection("uniform")
            self.certificates_ = self._certified(parts, found, target, None, task)
            return
        assert target is not None
        K, beta = int(self.n_frequencies), float(self.beta)
        learned = learn(source, resolved, found, K, beta, target, rng, hook)
        self.feature_map_, self.selection_ = learned.feature_map, learned.selection
        self.certificates_ = self._certified(parts, found, target, learned, task)

    def _landmarks(
        self,
        source: RowSource,
        sample: RowSample,
        target: Target | None,
        classes: Array | None,
        rng: np.random.Generator,
        hook: Hook,
    ) -> Landmarks:
        """The points, and the targets that they are aligned with."""
        if not isinstance(self.landmarks, str):
            return self._given(sample, source.n_features, target, classes)
        L = self._count(sample)
        if len(distinct(sample)) < L or (self.landmarks == "kmeans" and len(sample) < 3 * L):
            size = 2 * L if self.landmarks == "random" else 3 * L
            most = max(SAMPLE_BYTES, 12 * size * source.n_features)
            sample = draw_sample(source, size, _seed(rng), targets=True, max_bytes=most, hook=hook)
        rows = distinct(sample)
        if len(rows) < L and not isinstance(self.n_landmarks, numbers.Integral):
            L = len(rows)  # a share of rows that repeat: every distinct one is a landmark
        if len(rows) < L:
            raise ValueError(
                f"n_landmarks={self.n_landmarks!r} asks for {L} landmarks, but there are only "
                f"{len(rows)} distinct rows; ask for fewer."
            )
        groups = None
        if self.stratify:
            if classes is None:
                raise ValueError("stratify=True draws by class, but there are no classes here.")
            groups = np.arange(len(classes))
        if self.landmarks == "random":
            return rows_by_lot(rows, L, target, groups)
        return centroids(sample, L, target, groups, _seed(rng) % 2**31)

    def _given(
        self, sample: RowSample, d: int, target: Target | None, classes: Array | None
    ) -> Landmarks:
        points, y = self.landmarks, None
        if isinstance(points, tuple):
            points, y = points
        points = check_array(points, accept_sparse="csr", dtype=(np.float64, np.float32))
        if points.shape[1] != d:
            raise ValueError(
                f"landmarks has {points.shape[1]} columns, but X has {d}; give points of X."
            )
        check_distinct(points)
        if target is None:
            return Landmarks(points, None)
        if y is None:
            A = mean_factor(sample, target(Block(sample.X, sample.y)), points)
            return Landmarks(points, A, False, (INFERRED,))
        y = np.asarray(y) if classes is None else targets.encode(classes, np.asarray(y))
        if len(y) != points.shape[0]:
            raise ValueError(f"landmarks has {points.shape[0]} points, but {len(y)} targets.")
        return Landmarks(points, target(Block(points, y)))

    def _count(self, sample: RowSample) -> int:
        """L from a number, or from a share of the rows: one of weight 2 is there twice."""
        given, n_rows = self.n_landmarks, sample.n_rows
        if not isinstance(given, numbers.Integral):
            return max(1, round(float(given) * sample.total_weight))
        L = int(given)
        if n_rows < L:
            raise ValueError(
                f"n_landmarks={given!r} is more than the {n_rows} rows there are; ask for fewer."
            )
        return L

    def _certified(
        self,
        parts: Parts,
        found: Landmarks,
        target: Target | None,
        learned: Learned | None,
        task: Task,
    ) -> dict[str, Certificate]:
        certificates: dict[str, Certificate] = {}
        if parts.aside is not None and target is not None:
            losses, n = loss_of_map(parts.aside, self.feature_map_, found, target)
            fixed = fixed_landmarks(float(np.clip(losses.mean(), 0.0, 1.0)), n, DELTA)
            assumptions = (*fixed.assumptions, DISTINCT)
            certificates["kernel"] = replace(fixed, assumptions=assumptions)
        if learned is None:
            return certificates
        broken = list(found.broken)
        if isinstance(as_family(self.family).bandwidth, str):
            broken.append(BANDWIDTH)
        if task.kind == "regression":
            broken.append(AMOUNTS)
        others = int(learned.n) - (1 if found.own else 0)
        stats, K = self.selection_.stats, int(self.n_frequencies)
        ts = good_ts(2 * others, DELTA / len(found), K)
        certificates["learner"] = landmark(
            np.clip(stats["loss"], 0, 1), stats["kl"], others, DELTA, t=ts, broken=tuple(broken)
        )
        return certificates

    def _check(self) -> None:
        if isinstance(self.landmarks, str):
            check_option(type(self).__name__, "landmarks", self.landmarks, ("kmeans", "random"))
        given = self.n_landmarks
        whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
        share = isinstance(given, numbers.Real) and not whole and not isinstance(given, bool)
        if not ((whole and int(given) >= 1) or (share and 0.0 < float(given) < 1.0)):
            raise ValueError(
                f"n_landmarks={given!r}: give a share of the rows in (0, 1), or a whole number "
                "from 1 on."
            )
        K: Any = self.n_frequencies
        if isinstance(K, bool) or not isinstance(K, numbers.Integral) or int(K) < 1:
            raise ValueError(f"n_frequencies={K!r}: give a whole number from 1 on.")
        for name in ("learn", "stratify"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name}={getattr(self, name)!r}: give True or False.")
        check_beta(self.beta)

    def _kind(self, X: Any, y: Any) -> str:
        """Classification, regression, or "none" where nothing looks at y."""
        if not (self.learn or self.stratify or share_of(self.certify) is not None):
            return "none"
        if is_streamed(X):
            return targets.kind_of_stream(self.task)
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: LandmarkFeatures learns from "
                "targets (learn=False does not)."
            )
        return targets.infer_task(self.task, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = bool(self.learn)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _encoded(source: RowSource, kind: str) -> tuple[RowSource, Task, Array | None]:
    """The rows as learners see them, the task, and the classes."""
    if kind != "classification":
        source, task = targets.for_learning(source, kind)
        return source, task, None
    if source.schema.n_targets is None:
        raise ValueError("LandmarkFeatures learns from targets: give y, or scan(target=...).")
    classes = source.reduce(targets.ClassSum())
    task = Task("classification", len(classes))
    return targets.with_classes(source, classes, None), task, classes


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**62))
