"""How the chosen columns go with the classes: what `Selection.table` shows.

Columns of X itself, such as k-grams, are counted class by class in one pass over the rows. Of drawn
features the sums behind the scores tell as much as there is to say: centred at class shares p they
are s_c = n p_c (1 - p_c) (mean of the class - mean of the others).
"""

from __future__ import annotations

import numpy as np

from ...feature_map import FeatureMap
from ...ops import Columns, FloatArray
from ...rows import Hook, RowSource
from ..base import Selection, Task
from ..held_out import Share
from ..kept import Kept
from ..label_kernel import Target
from ..ranking import Association, ClassSum, Ranking, association, departure, ranked
from ..shares import reduced


def of_columns(
    source: RowSource,
    operator: Columns,
    found: Selection,
    s: FloatArray,
    target: Target,
    share: Share | None,
    hook: Hook,
) -> Ranking:
    """The support by falling weight, with its frequency in each class."""
    chosen = ranked(found.weights)
    columns = operator.index[chosen]
    if target.task.kind == "classification":
        hook.at("table")
        row_sum = ClassSum(columns, target.task.n_classes)
        seen: Association | None = association(reduced(source, row_sum, share, hook))
    else:
        seen = _from_sums(s[chosen], target)
    names = source.schema.names
    named = None if names is None else [names[j] for j in columns.tolist()]
    assert found.weights is not None
    return Ranking(columns, found.weights[chosen], seen, _labels(target.task), named)


def of_features(
    kept: Kept, fm: FeatureMap, found: Selection, s: FloatArray, target: Target
) -> Ranking:
    """The columns kept by falling weight, by the sums behind their scores."""
    assert found.weights is not None
    order = np.argsort(-found.weights[kept.columns], kind="stable")
    columns = kept.columns[order]
    names = [fm.names[i] for i in order.tolist()]
    seen = _from_sums(s[columns], target)
    return Ranking(columns, found.weights[columns], seen, _labels(target.task), names)


def _from_sums(s: FloatArray, target: Target) -> Association | None:
    if target.kernel is not None or not target.centered:
        return None
    if not target.one_hot:  # two classes, or amounts
        return departure(np.stack([-s[:, 0], s[:, 0]])) if s.shape[1] == 1 else None
    assert target.shift is not None
    p = np.asarray(target.shift)
    return departure((s / np.maximum(p * (1.0 - p), 1e-300)).T)


def _labels(task: Task) -> tuple[object, ...] | None:
    if task.kind != "classification":
        return None
    return tuple(range(task.n_classes or 0)) if task.classes is None else task.classes
