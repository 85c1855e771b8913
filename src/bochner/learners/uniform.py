"""The baseline: random features as drawn (Rahimi & Recht 2007)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..feature_map import FeatureMap
from ..rows import RowSource
from .base import Learner, Needs, Request, Selection


class Uniform(Learner):
    """Keep ``n_components`` columns as drawn, with equal weights: nothing is learned.

    No labels and no pass over the rows; candidates beyond ``n_components`` are never drawn.

    Examples
    --------
    >>> from bochner.learners import Uniform
    >>> Uniform()
    Uniform()
    """

    needs: ClassVar[Needs] = Needs()

    def __init__(self) -> None:
        pass

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        M = request.n_components
        fm = FeatureMap.uniform(request.family, M, source.n_features, request.rng)
        selection = Selection("uniform", None, np.full(M, 1.0 / M), np.arange(M))
        return fm, selection
