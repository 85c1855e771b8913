"""``cv=`` and ``groups=``: which rows every inner choice holds out.

cv=None       a quarter of the rows, by a keyed hash of their content
cv=0.1        a tenth
cv=splitter   the test rows of the first split of a scikit-learn splitter; rows in memory
groups=...    rows of one group stay together; rows in memory
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from ..learners.held_out import HELD_OUT, HeldOut, Rows, Share, of_groups
from ..rows.block import Array
from .inputs import is_streamed


@dataclass(frozen=True, eq=False)
class Holding:
    """A checked choice that waits for its key: ``share`` of rows or groups, or ``rows`` as said."""

    share: float = HELD_OUT
    groups: Array | None = None
    rows: Rows | None = None

    def rule(self, seed: int) -> HeldOut:
        if self.rows is not None:
            return self.rows
        if self.groups is not None:
            return of_groups(self.groups, seed, self.share)
        return Share(seed, self.share)

    def among(self, rows: Array) -> Holding:
        """The same choice where only these rows are left, in this order."""
        groups = None if self.groups is None else self.groups[rows]
        return Holding(
            self.share, groups, None if self.rows is None else Rows(self.rows.picked[rows])
        )


def holding(cv: Any, X: Any, y: Any = None, groups: Any = None) -> Holding:
    """What is held out of these rows, or an error that says what to give."""
    splitter = hasattr(cv, "split") and not isinstance(cv, str | bytes)
    splitter |= isinstance(cv, list | tuple) and len(cv) > 0
    if groups is not None or splitter:
        _refuse_stream(X, "groups" if groups is not None else "cv")
    if groups is not None:
        groups = _checked_groups(groups, _num_samples(X))
    if splitter:
        return Holding(rows=_first_split(cv, X, y, groups))
    return Holding(_share(cv), groups)


def _share(cv: Any) -> float:
    if cv is None:
        return HELD_OUT
    number = isinstance(cv, numbers.Real) and not isinstance(cv, numbers.Integral | bool)
    if number and 0.0 < float(cv) < 1.0:
        return float(cv)
    raise ValueError(
        f"cv={cv!r} is not known: give the share of rows to hold out, between 0 and 1 (0.25), or a "
        "scikit-learn splitter such as GroupKFold(), whose first split is used."
    )


def _refuse_stream(X: Any, name: str) -> None:
    if is_streamed(X):
        raise ValueError(
            f"{name}=... looks at all rows by their place, which a scan or Dask collection does "
            "not give. Give cv=0.25 (a share, by the content of rows), or rows in memory."
        )


def _checked_groups(groups: Any, n_rows: int) -> Array:
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(
            f"groups has shape {given.shape}, but there are {n_rows} rows: expected ({n_rows},), "
            "the name of a group for each row."
        )
    if given.dtype.kind == "O":
        if any(name is None or name != name for name in given.tolist()):
            raise ValueError("groups holds missing names; give every row a group.")
        given = given.astype(str)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("groups holds NaN or infinity; give every row a group.")
    return given


def _first_split(cv: Any, X: Any, y: Any, groups: Array | None) -> Rows:
    n = _num_samples(X)
    splits = cv.split(X, y, groups) if hasattr(cv, "split") else cv
    train, test = (_picked(index, n) for index in next(iter(splits)))
    if not train.any() or not test.any():
        raise ValueError(f"the first split of cv={cv!r} leaves no rows on one of its sides.")
    if np.any(train == test):
        raise ValueError(
            f"the first split of cv={cv!r} puts {int(np.sum(train == test))} of {n} rows on both "
            "sides or on none. Give a splitter that puts each row on one side; PredefinedSplit "
            "takes any."
        )
    return Rows(test)


def _picked(index: Any, n: int) -> Array:
    mask = np.zeros(n, dtype=bool)
    mask[index] = True
    return mask
