"""`Energy`: candidates ranked by how much of the targets each holds by itself (EERF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import statistics
from ..families.base import check_option
from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import Block, RowSource
from .base import Learner, Needs, Request, Selection
from .greedy.choice import strength
from .greedy.losses import TargetFigures, with_targets

TARGETS = ("auto", "centered", "raw")


class Energy(Learner):
    """The n_components candidates of largest |mean(y phi)| (EERF, Shahrampour et al. 2018).

        two classes     |mean(y phi_m)|, y = +-1
        more classes    root of sum_c mean(y_c phi_m)^2, y_c = +1 in class c, else -1
        regression      root of sum_k mean(y_k phi_m)^2, each target in its own deviations

    One pass; the columns are in the order of their rank, with equal weights.

    Parameters
    ----------
    target : {"auto", "centered", "raw"}, default="auto"
        Take the mean off y first: raw scores reward features that follow the mean of unequal
        classes. "auto" is "raw", as the paper has it, for classes, and "centered" for amounts,
        whose zero is arbitrary.

    Examples
    --------
    >>> from bochner.learners import Energy
    >>> Energy()
    Energy()
    """

    needs: ClassVar[Needs] = Needs(passes=2, targets=True)
    candidates_per_component: ClassVar[int] = 20
    takes_candidates: ClassVar[bool] = True

    def __init__(self, target: str = "auto") -> None:
        self.target = target

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        check_option("Energy", "target", self.target, TARGETS)
        fm, hook = request.candidates_for(source.n_features), request.hook
        source = with_targets(source, "squared", request.task)
        scores = self._scores(source, fm, request)
        M = min(request.n_components, fm.n_features)
        columns = np.argsort(-scores, kind="stable")[:M]
        taken, weights = fm.take(columns), np.zeros(fm.n_features)
        weights[columns] = 1.0 / M
        kept = FeatureMap(taken.family, taken.projection, taken.weights / np.sqrt(M))
        hook.at("energy")
        stats = {"columns": columns}
        return kept, Selection("ranked", scores, weights, np.sort(columns), stats)

    def _scores(self, source: RowSource, fm: FeatureMap, request: Request) -> FloatArray:
        hook, amounts = request.hook, request.task.kind == "regression"
        hook.at("targets")
        total, mean, variance = source.reduce(TargetFigures(), hook=hook)
        centred = self.target == "centered" or (self.target == "auto" and amounts)
        shift = mean if centred else np.zeros_like(mean)
        size = np.sqrt(variance + (mean - shift) ** 2) if amounts else np.ones_like(mean)
        coefficients = Standardised(shift, np.where(size > 0, size, 1.0))
        hook.at("scores")
        return strength(statistics.project(source, fm, coefficients, hook=hook) / total)


@dataclass(frozen=True, eq=False)
class Standardised:
    """(y - shift) / size as row coefficients."""

    shift: FloatArray
    size: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        assert block.y is not None
        return np.asarray((block.y - self.shift) / self.size)
