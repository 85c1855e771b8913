"""Ridge from sums alone: rows come in batches, are added up, and never seen again.

What a fit on all rows at once would add up is kept, so the order and the size of batches do not
matter. A leave-one-out search needs the rows a second time; here ``alpha="auto"`` minimises
generalised cross-validation (Golub, Heath & Wahba 1979) instead, which the sums determine:

    GCV(alpha) = W RSS(alpha) / (W - df(alpha))^2
    df(alpha)  = 1 + sum_j lambda_j / (lambda_j + alpha)
    RSS(alpha) = S - sum_j r_j^2 (2 / (lambda_j + alpha) - lambda_j / (lambda_j + alpha)^2)

with lambda the eigenvalues of the centred Gram matrix, r = V' cross, S = sum w (y - mean)^2.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import RowSource
from .design import Design
from .model import LinearModel
from .moments import MomentSum
from .ridge import Ridge
from .spectrum import EPS, Spectrum, alpha_grid


class IncrementalRidge:
    """The running sums of a `Ridge`; `add` returns new ones and leaves the old as they were."""

    def __init__(self, head: Ridge, sums: Any = None) -> None:
        head._check()
        self.head, self.sums = head, sums

    def add(self, source: RowSource, fm: FeatureMap | None) -> tuple[IncrementalRidge, LinearModel]:
        """The sums with these rows added, and the solution from all rows so far."""
        design = Design.of(source, fm)
        row_sum = MomentSum(design, self.head.fit_intercept, precise=True)
        fresh: Any = source.reduce(_Unfinished(row_sum))
        state = row_sum.merge(copy.deepcopy(self.sums), fresh)
        system = Spectrum.of_normal(row_sum.finalise(state), EPS)
        alphas = self._alphas(system)
        coef = system.coefficients(alphas).T
        intercept = system.mean_y - coef @ system.mean_x
        stats = {"n_rows": system.n_rows, "solver": "sums", "alpha": float(alphas[0])}
        model = LinearModel(coef, intercept, "optimal", 1, 0.0, stats)
        return IncrementalRidge(self.head, state), model

    def _alphas(self, system: Spectrum) -> FloatArray:
        k = len(system.mean_y)
        if not isinstance(self.head.alpha, str):
            return np.array(np.broadcast_to(np.asarray(self.head.alpha, dtype=np.float64), (k,)))
        grid = alpha_grid(system, EPS)
        scores = generalised_cross_validation(system, grid, self.head.fit_intercept)
        return np.full(k, grid[int(np.argmin(scores))])


class _Unfinished(MomentSum):
    """A sum that stops short of its last step, so that more can be added later."""

    def __init__(self, inner: MomentSum) -> None:
        super().__init__(inner.design, inner.fit_intercept, precise=inner.precise)

    def finalise(self, state: Any) -> Any:
        return state


def generalised_cross_validation(
    system: Spectrum, alphas: FloatArray, fit_intercept: bool = True
) -> FloatArray:
    """GCV(alpha) for L alphas, averaged over targets relative to their variance; see the module."""
    shrunk = system.shrinkage(alphas)  # r x L
    fitted = system.values[:, None] * shrunk
    df = fitted.sum(axis=0) + (1.0 if fit_intercept else 0.0)
    rss = system.squares[None, :] - (shrunk * (2.0 - fitted)).T @ np.square(system.rotated)
    scale = np.where(system.squares > 0, system.squares, 1.0)
    room = np.maximum(system.total - df, 1e-9 * system.total)
    relative = np.mean(np.maximum(rss, 0.0) / scale, axis=1)
    return np.asarray(system.total**2 * relative / np.square(room))
