"""`Alignment`: draw candidates, weigh them by alignment in a divergence ball, keep some."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...certificates import Certificate
from ...families.base import check_option
from ...feature_map import FeatureMap
from ...ops import Columns, FloatArray
from ...rows import RowSource, draw_sample
from ..base import Learner, Needs, Request, Selection
from ..held_out import HeldOut, MarkHeld, Share
from ..kept import USES, Kept, kept
from ..label_kernel import FactorFigures, LabelKernel, Target, as_target
from ..ranking import Ranking
from ..shares import reduced, sums
from . import held_out as judging
from .associated import of_columns, of_features
from .ball import Path, path
from .certified import suboptimality


class Alignment(Learner):
    """Weights over candidates that maximise alignment with the labels (Sinha & Duchi 2016, (4)).

    Parameters
    ----------
    radius : float in [0, 1] or "auto", default="auto"
        rho as a share of its largest useful value N^(k-1) - 1: 0 is the base measure, 1 all weight
        on the best. At k = 2 it is the paper's rho / N but for 1 / N, and about 1 / radius atoms
        share the weight, however many candidates there are. "auto" judges a path of radii by ridge
        regression on held-out rows.
    order : float, default=2
        k > 1 of the divergence mean((N q)^k) - 1.
    target : {"auto", "centered", "raw"} or LabelKernel, default="auto"
        How targets become the label kernel. "auto" is "centered": raw alignment rewards features
        that follow the mean. Errors in three folds of training rows, centred against raw (5,000
        candidates, radius 0.01, 100 and 300 columns): a9a 15.8 / 16.5 and 15.3 / 16.0 %, satimage
        12.0 / 12.5 % at 100, magic 15.3 / 14.5 and 13.8 / 13.8 %.
    subsample : float in (0, 1], default=1.0
        The share of rows, chosen by hash, that scores are summed over.
    use : {"auto", "sample", "weight", "support", "top"}, default="auto"
        What becomes of the weights q. "sample": n_components draws from q, estimator (5), where a
        repeated feature is one column; "weight": the support with weights sqrt(q), estimator (6);
        "support": the support, unweighted; "top": the n_components best scores, unweighted;
        "auto": "sample" where n_components is less than the support, else "weight".

    Notes
    -----
    With more components than the support fewer columns come out; ``selection_.stats`` has
    "columns" (the candidate behind each column), "use", "rho", "radius", "gap", "eta", "nnz" and,
    with radius="auto", "radii" and their held-out "errors"; ``selection_.path`` is the path.

    Centring, orders below 2 and unbounded features are outside the paper's Lemmas 1 to 3.

    Examples
    --------
    >>> from bochner.learners import Alignment
    >>> Alignment(radius=0.01)
    Alignment(radius=0.01)
    """

    needs: ClassVar[Needs] = Needs(passes=2, targets=True)
    candidates_per_component: ClassVar[int] = 20
    takes_candidates: ClassVar[bool] = True

    def __init__(
        self,
        radius: Any = "auto",
        order: float = 2,
        target: Any = "auto",
        subsample: float = 1.0,
        use: str = "auto",
    ) -> None:
        self.radius = radius
        self.order = order
        self.target = target
        self.subsample = subsample
        self.use = use

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        self._check()
        _rho(1.0, request.n_candidates, self.order)
        run = _Run.begin(self, source, request)
        radius, found = self.radius, run.path_of_all
        judged: dict[str, Any] = {}
        if isinstance(radius, str):
            radius, judged = run.best_radius()
        selection = found.at(_rho(float(radius), run.n, self.order))
        columns = kept(selection, request.n_components, self.use, request.rng)
        stats = {**selection.stats, **judged, **run.facts, "radius": float(radius)}
        assert selection.support is not None
        stats |= {"nnz": len(selection.support), "columns": columns.columns, "use": columns.use}
        fm = run.map_of(columns)
        ranking = run.ranking(selection, columns, fm)
        return fm, replace(selection, stats=stats, path=found, ranking=ranking)

    def certificate(
        self, selection: Selection, n_rows: int, feature_bound: float, delta: float
    ) -> Certificate | None:
        """Theorem 1 for the kernel in use, with every assumption that it breaks.

        The rows that count are those behind the scores (``stats["rows"]``), a share of n_rows.
        """
        return suboptimality(selection, feature_bound, delta, float(self.order))

    def _check(self) -> None:
        check_option("Alignment", "use", self.use, USES)
        if not isinstance(self.target, LabelKernel):
            check_option("Alignment", "target", self.target, ("auto", "centered", "raw"))
        if not (isinstance(self.radius, str) and self.radius == "auto"):
            _check_number("radius", self.radius, 0.0 <= _number(self.radius) <= 1.0, "in [0, 1]")
        _check_number("subsample", self.subsample, 0 < _number(self.subsample) <= 1, "in (0, 1]")
        _check_number("order", self.order, 1.0 < _number(self.order) < np.inf, "above 1")


@dataclass(frozen=True, eq=False)
class _Run:
    """One fit: the candidates with their sums over the rows to learn from, and over all."""

    learner: Alignment
    source: RowSource
    request: Request
    candidates: FeatureMap
    target: Target
    share: Share | None
    held_out: HeldOut | None
    learned: FloatArray
    all: FloatArray
    rows: int

    @classmethod
    def begin(cls, learner: Alignment, source: RowSource, request: Request) -> _Run:
        """Draw candidates and run the passes."""
        rng, hook = request.rng, request.hook
        seed = int(rng.integers(2**62))
        given = request.candidates_for(source.n_features)
        candidates = replace(given, weights=np.ones(given.n_features))  # the base measure is even
        share = Share(seed, learner.subsample) if learner.subsample < 1.0 else None
        held_out = request.held_out if isinstance(learner.radius, str) else None
        target = as_target(learner.target, request.task)
        if target.needs_figures:
            hook.at("targets")
            target = target.fitted(reduced(source, FactorFigures(target), share, hook))
        hook.at("scores")
        found = sums(source, candidates, target, share, held_out, hook)
        return cls(learner, source, request, candidates, target, share, held_out, *found)

    @property
    def n(self) -> int:
        """N, the number of candidates."""
        return self.candidates.n_features

    @property
    def facts(self) -> dict[str, Any]:
        """What a certificate has to know of this fit."""
        return {
            "rows": self.rows,
            "weighted": self.source.schema.weighted,
            "subsample": float(self.learner.subsample),
            "centered": self.target.centered,
            "similarity": self.target.similarity,
            "drawn": _way_of_drawing(self.request, self.source.n_features),
            "draws": self.request.n_components,
        }

    @property
    def path_of_all(self) -> Path:
        """Solutions from the scores of all rows."""
        return self._path(self.all)

    def _path(self, s: FloatArray) -> Path:
        radii = judging.grid(self.n, self.request.n_components, self.learner.order)
        rhos = [_rho(float(r), self.n, self.learner.order) for r in radii]
        return path(self.target.scores(s), rhos, self.learner.order)

    def best_radius(self) -> tuple[float, dict[str, Any]]:
        """The radius that does best on held-out rows, and how each did."""
        assert self.held_out is not None
        request, n = self.request, self.source.n_rows
        D = request.n_components
        radii = judging.grid(self.n, D, self.learner.order)
        used = None if n is None else int(n * self.learner.subsample)
        columns = self._column_operator is not None
        size = judging.sample_rows(used, self.n, D, self.source.n_features, columns)
        request.hook.at("radius")
        seed = int(request.rng.integers(2**62))
        rows = self.source.mapped(MarkHeld(self.held_out), self.source.schema)
        sample = draw_sample(rows, size, seed, targets=True, hook=request.hook)
        draws = int(request.rng.integers(2**62))  # the same draws for each radius
        maps = [
            partial(self._map_at, selection, np.random.default_rng(draws))
            for selection in self._path(self.learned)
        ]
        width = self.source.schema.n_targets
        best, errors = judging.choose(sample, self.target, width, maps, request.scoring)
        return float(radii[best]), {"radii": radii, "errors": errors}

    def _map_at(self, selection: Selection, rng: np.random.Generator) -> FeatureMap:
        return self.map_of(kept(selection, self.request.n_components, self.learner.use, rng))

    @property
    def _column_operator(self) -> Columns | None:
        """Where candidates are columns of X: which ones."""
        operator = getattr(self.candidates.projection, "operator", None)
        return operator if isinstance(operator, Columns) else None

    def ranking(self, found: Selection, columns: Kept, fm: FeatureMap) -> Ranking:
        """What is shown of the choice as a table."""
        operator = self._column_operator
        if operator is not None:
            given = (self.all, self.target, self.share, self.request.hook)
            return of_columns(self.source, operator, found, *given)
        return of_features(columns, fm, found, self.all, self.target)

    def map_of(self, columns: Kept) -> FeatureMap:
        """The feature map of some candidates."""
        taken = self.candidates.take(columns.columns)
        return FeatureMap(taken.family, taken.projection, columns.weights)


def _way_of_drawing(request: Request, n_inputs: int) -> str:
    """Whether candidates are independent draws; "finite" where all there are can be listed."""
    family = request.family
    if request.candidates is not None:
        return "kept"
    if family.n_available(n_inputs) is not None:
        return "finite"
    alone = family.columns_per_atom == 1 and getattr(family, "sampling", None) == "iid"
    return "independent" if alone else "jointly"


def _rho(radius: float, N: int, order: float) -> float:
    """rho = radius (N^(k-1) - 1)."""
    with np.errstate(over="ignore"):
        most = float(np.expm1((order - 1.0) * np.log(N)))
    if not np.isfinite(most):
        raise ValueError(
            f"Alignment(order={order!r}): N^(order - 1) overflows for {N} candidates; use a lower "
            "order."
        )
    return radius * most


def _number(value: Any) -> float:
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if ok else float("nan")


def _check_number(name: str, value: Any, ok: bool, what: str) -> None:
    if not ok:
        hint = ' (or "auto")' if name == "radius" else ""
        raise ValueError(f"Alignment({name}={value!r}): give a number {what}{hint}.")
