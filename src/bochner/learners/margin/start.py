"""Before the first round of a search: lengths, how chains move, an earlier path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.fourier import FourierFamily
from ...rows import RowSource, draw_sample
from ..base import Request
from .path import Path
from .peaks import Climb

if TYPE_CHECKING:
    from .learner import MarginSearch

#: The length of a step in units of 1 / L; of plain Langevin steps, per gradient of the share.
STEP = {"momentum": 3.0, "langevin": 30.0}
TEMPERATURE = {"momentum": 0.0, "langevin": 1.0}
#: Rows from which the typical distance of two rows is read.
LENGTH_ROWS = 2000


def typical_distance(source: RowSource, seed: int, request: Request) -> float:
    """L = sqrt(2 sum_j var x_j), the root mean square distance of two rows of a sample."""
    sample = draw_sample(source, LENGTH_ROWS, seed, hook=request.hook)
    X = sample.X.toarray() if hasattr(sample.X, "toarray") else np.asarray(sample.X)
    share = sample.weight / sample.weight.sum()
    X = X.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        L = float(np.sqrt(2.0 * (share @ (X - share @ X) ** 2).sum()))
    if not np.isfinite(L):
        raise ValueError(
            f"MarginSearch cannot measure distances: X holds numbers as large as "
            f"{np.abs(X).max():.3g}, whose squares are not finite. Rescale the columns first, for "
            "instance with sklearn.preprocessing.RobustScaler."
        )
    if L == 0.0:
        raise ValueError(
            "MarginSearch needs rows that differ: all columns are constant on a sample of "
            f"{len(sample)} distinct rows. Check X."
        )
    return L


def path_of(start: Any) -> Path | None:
    """The path of an earlier search."""
    if start is None:
        return None
    path = getattr(start, "path", None)
    if not isinstance(path, Path):
        raise ValueError(
            f"MarginSearch(start={start!r}) must be the selection_ of an earlier MarginSearch for "
            "peaks, or None."
        )
    return path


def fourier(family: Any) -> FourierFamily:
    if not isinstance(family, FourierFamily):
        raise ValueError(
            f"MarginSearch(search='peaks') looks for frequencies, which {type(family).__name__} "
            "does not have: use Gaussian, Laplace, Cauchy or Matern, or search='scan'."
        )
    return family


def climb_of(learner: MarginSearch, L: float) -> Climb:
    auto = isinstance(learner.temperature, str)
    heat = TEMPERATURE[learner.method] if auto else float(learner.temperature)
    longest = np.inf if learner.band is None else float(learner.band) / L
    return Climb(learner.method, learner.steps, STEP[learner.method], heat, longest)
