"""A greedy path judged by ``scoring=``: any score that scikit-learn knows, on held-out rows.

The standard error of a score that is no mean over rows is that of the jackknife which leaves out a
twentieth of the rows at a time (Efron & Stein 1981), s_g the score without part g of G:

    error^2 = (G - 1) / G  sum_g (s_g - mean s)^2
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...feature_map import FeatureMap
from ...ops import FloatArray
from ...rows import Hook, RowSource, draw_sample
from ..held_out import NONE_HELD
from ..scoring import Scoring
from .path import GreedyPath, as_columns

#: Held-out rows that are looked at, and numbers that the predictions of all models may be: rows
#: are fewer where models and classes are many.
ROWS, LEAST_ROWS, NUMBERS = 10_000, 1_000, 2**23
PARTS = 20


def scored(
    path: GreedyPath,
    held: RowSource,
    fm: FeatureMap,
    scoring: Scoring,
    hook: Hook,
    *,
    logistic: Any,
) -> GreedyPath:
    """The path with minus the score of each model, and the standard error of the best one."""
    columns = as_columns(path, fm.n_features)
    size = min(ROWS, max(LEAST_ROWS, NUMBERS // columns.shape[1]))
    sample = draw_sample(held, size, 0, targets=True, hook=hook, empty=NONE_HELD)
    Z = np.asarray(fm.map_rows(sample.X, columns), dtype=np.float64)
    Z = Z.reshape(len(sample), len(path), -1)

    def error(i: int, rows: Any) -> float:
        assert sample.y is not None
        raw, w = Z[rows, i] + path.intercepts[i], sample.weight[rows]
        return scoring.error(raw, sample.y[rows], w, logistic=logistic)

    errors = np.array([error(i, slice(None)) for i in range(len(path))])
    spread, best = np.full(len(path), np.nan), int(np.argmin(errors))
    spread[best] = _jackknife([error(best, rows) for rows in _all_but_a_part(len(sample))])
    return replace(path, held_out=errors, errors=spread)


def _all_but_a_part(n: int) -> list[FloatArray]:
    """Rows without each part in turn; they stand in the order of a hash, so parts are by lot."""
    parts = np.arange(n) % min(PARTS, n)
    return [np.flatnonzero(parts != g) for g in range(min(PARTS, n))] if n > 1 else []


def _jackknife(without: list[float]) -> float:
    if len(without) < 2:
        return 0.0
    G = len(without)
    return float(np.sqrt((G - 1) / G * np.square(np.array(without) - np.mean(without)).sum()))
