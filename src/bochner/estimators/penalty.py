"""``Ridge(alpha="auto")`` where ``cv=``, ``groups=`` or ``scoring=`` speak: held-out rows choose.

By itself it takes the least leave-one-out error, which leaves the rest of a row's group in, and
which knows squared errors only.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ..feature_map import FeatureMap
from ..learners.base import Task
from ..learners.held_out import NONE_HELD, HeldOut, OnlyHeld
from ..learners.scoring import Scoring
from ..linear import Ridge, RidgePath
from ..ops import FloatArray
from ..rows import Hook, RowSample, RowSource, draw_sample

#: Held-out rows that are looked at, in memory.
ROWS = 10_000


def held_out_choice(
    head: Ridge,
    rows: RowSource,
    fm: FeatureMap,
    task: Task,
    held_out: HeldOut,
    scoring: Scoring | None,
    hook: Hook,
) -> Ridge:
    """The head with the alpha of its path that does best on held-out rows, the larger of equals.

    The path is that of the other rows; the alpha is then used for all.
    """
    hook.at("alpha")
    learned = OnlyHeld(held_out, False).of(rows)
    path = head.fit(learned, fm, n_classes=task.n_classes, hook=hook).path
    assert path is not None
    held = OnlyHeld(held_out, True).of(rows)
    sample = draw_sample(held, ROWS, 0, targets=True, hook=hook, empty=NONE_HELD)
    errors = _errors(path, sample, fm, scoring)
    close = errors <= errors.min() + 1e-12 * abs(errors.min())
    chosen: Ridge = clone(head)
    return chosen.set_params(alpha=float(path.alphas[close].max()), alphas=path.alphas)


def _errors(
    path: RidgePath, sample: RowSample, fm: FeatureMap, scoring: Scoring | None
) -> FloatArray:
    """Of each alpha: minus the score, or the squared error relative to the target's variance."""
    assert sample.y is not None
    Y, w = sample.y.reshape(len(sample), -1), sample.weight
    variance = path.spectrum.squares / path.spectrum.total
    scale = np.where(variance > 0, variance, 1.0)
    errors = []
    for coef, intercept in zip(path.coefs, path.intercepts, strict=True):
        raw = np.asarray(fm.map_rows(sample.X, coef.T), dtype=np.float64) + intercept
        squares = float(np.mean(w @ np.square(Y - raw) / scale))
        errors.append(squares if scoring is None else scoring.error(raw, Y, w))
    return np.array(errors)
