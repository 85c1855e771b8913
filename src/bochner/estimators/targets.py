"""Targets: which task they pose, and how classes become indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from ..learners.base import Task
from ..rows import Block, RowSource, RowSum
from ..rows.block import Array
from ..rows.optional import is_dask

#: More classes than this, or different numbers, are taken for an amount passed by mistake.
MAX_CLASSES = 10_000
MAX_NUMBERS = 1_000
#: Above this sums of squared amounts come near the end of float64.
MAX_AMOUNT = 1e140


_NOT_A_DATE = (
    "a date is neither a class nor an amount: give the months, or the days since a date, as "
    "numbers or text."
)


def refuse_dates(y: Any, what: str = "regression ") -> None:
    """Raise where a target holds dates, which NumPy would read as microseconds."""
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "kind", "") in "mM" and dtype is not None:
        raise ValueError(f"the {what}target has dtype {dtype}; {_NOT_A_DATE}")


def infer_task(task: str, y: Any) -> str:
    """Classification or regression; a target that could be either is refused, not guessed."""
    if task in ("classification", "regression"):
        return task
    if task != "auto":
        raise ValueError(
            f"task={task!r} is not known; use 'auto', 'classification' or 'regression'."
        )
    y = np.asarray(y)
    refuse_dates(y, "")
    if y.ndim == 1:
        as_labels(y)
    kind = type_of_target(y, input_name="y")
    if kind in ("continuous", "continuous-multioutput"):
        return "regression"
    if y.dtype.kind in "OUSb" or (kind == "binary" and y.ndim == 1):
        return "classification"
    if kind == "multiclass" and len(np.unique(y)) <= 20 and y.dtype.kind in "iu":
        distinct = np.unique(y)
        if np.array_equal(distinct, np.arange(distinct[0], distinct[0] + len(distinct))):
            return "classification"
    if y.ndim > 1:
        raise ValueError(
            f"y has shape {y.shape} and holds whole numbers: expected one class a row, (n,), or "
            "amounts, (n, k), which are said to be such with task='regression'."
        )
    raise ValueError(
        f"y holds {len(np.unique(y))} different whole numbers: these could be classes or amounts. "
        "Say which with task='classification' or task='regression'."
    )


def kind_of_stream(task: str) -> str:
    """The task of a scan or Dask collection, whose targets cannot be looked at beforehand."""
    if task == "auto":
        raise ValueError(
            "task='auto' looks at all of y, which a scan or Dask collection does not give: say "
            "task='classification' or task='regression'."
        )
    return infer_task(task, None)


def checked(y: Any, kind: str) -> Any:
    """y in memory as labels or float64 amounts; None or a Dask collection as it is."""
    if y is None or is_dask(y):
        return y
    if kind == "classification":
        return classification_targets(y)
    refuse_dates(y)
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")


def for_learning(source: RowSource, kind: str) -> tuple[RowSource, Task]:
    """The source as learners see it, class indices or float targets, and the task."""
    if kind == "none" or source.schema.n_targets is None:
        return source, Task(kind)
    if kind == "regression":
        return source.mapped(CheckNumbers(), source.schema), Task(kind)
    classes = source.reduce(ClassSum())
    return with_classes(source, classes, None), Task(kind, len(classes), tuple(classes.tolist()))


class ClassSum(RowSum["set[Any]", Array]):
    """The distinct targets of rows with a positive weight."""

    def start(self) -> set[Any]:
        return set()

    def update(self, state: set[Any], block: Block) -> set[Any]:
        if block.y is None:
            raise ValueError("these rows have no targets; give y, or a source with target=...")
        y = column_or_1d(block.y)
        values = y if block.weight is None else y[block.weight > 0]
        return self._limit(state.union(_distinct(values)))

    def merge(self, a: set[Any], b: set[Any]) -> set[Any]:
        return self._limit(a | b)

    def _limit(self, classes: set[Any]) -> set[Any]:
        if len(classes) > MAX_CLASSES:
            raise ValueError(
                f"the target has more than {MAX_CLASSES:,} different values, too many for classes. "
                "If it is an amount, use KernelRegressor."
            )
        if len(classes) > MAX_NUMBERS and not any(isinstance(value, str) for value in classes):
            raise ValueError(
                f"the target holds more than {MAX_NUMBERS:,} different numbers, which look like an "
                "amount and not like classes. Use KernelRegressor; or, if they are classes, give "
                "them as text: y.astype(str)."
            )
        return classes

    def finalise(self, state: set[Any]) -> Array:
        if not state:
            raise ValueError("the source holds no rows with a positive weight; give at least one.")
        if len({isinstance(value, str) for value in state}) > 1:
            raise ValueError("the target mixes text and numbers; give labels of one kind.")
        return np.array(sorted(state))


def _distinct(values: Array) -> list[Any]:
    if values.dtype.kind == "O":
        if any(v is None or v != v for v in values):
            raise ValueError("Input y contains NaN: some targets are missing; drop those rows.")
        return list(set(values.tolist()))
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError("Input y contains NaN or infinity; drop those rows.")
        if np.any(values != np.floor(values)):
            raise ValueError(
                "Unknown label type: the target holds fractions, so it is an amount and not a "
                "class. Use KernelRegressor, or turn it into classes first."
            )
    return list(np.unique(values).tolist())


@dataclass(frozen=True, eq=False)
class EncodeClasses:
    """Blocks with targets replaced by the index of their class, times a weight for the class."""

    classes: Array
    class_weight: Array | None = None

    def __call__(self, block: Block) -> Block:
        if block.y is None:
            return block
        y, weight = column_or_1d(block.y), block.weight
        index = np.zeros(len(y), dtype=np.intp)  # of rows without weight, which are not there
        there = slice(None) if weight is None else weight > 0
        index[there] = encode(self.classes, y[there])
        if self.class_weight is not None:
            weight = block.weights() * self.class_weight[index]
        return block.replace(y=index, weight=weight)


def encode(classes: Array, y: Array) -> Array:
    """The index of each target among the (sorted) classes."""
    y = as_labels(y)
    if len(y) and (y.dtype.kind in "US") != (classes.dtype.kind in "US"):
        raise ValueError(
            f"the target holds labels such as {y[0]!r}, but the classes known so far are of "
            f"another kind, such as {classes[0]!r}; give text or numbers, not both."
        )
    index = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = classes[index] != y
    if np.any(unknown):
        raise ValueError(
            f"the target holds {y[unknown][0]!r}, which is none of the {len(classes)} classes "
            "known so far. Classes must all be present in the first pass or in classes=..."
        )
    return np.asarray(index)


def as_labels(y: Array) -> Array:
    """Labels as an array of text or of numbers; a mixture of both is refused."""
    if y.dtype.kind != "O":
        return y
    values = y.tolist()
    text = {isinstance(value, str) for value in values}
    if len(text) > 1:
        raise ValueError("the target mixes text and numbers; give labels of one kind.")
    return np.array(values)


class ClassWeights(RowSum["Array", "Array"]):
    """The total weight of each class; targets are class indices already."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def start(self) -> Array:
        return np.zeros(self.n_classes)

    def update(self, state: Array, block: Block) -> Array:
        assert block.y is not None
        index = block.y.astype(np.intp)
        return state + np.bincount(index, block.weights(), minlength=self.n_classes)

    def merge(self, a: Array, b: Array) -> Array:
        return a + b

    def finalise(self, state: Array) -> Array:
        return state


def class_weights(given: Any, classes: Array, totals: Array) -> Array | None:
    """One factor a class from ``class_weight``: None, "balanced" or a dict."""
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError(
                f"class_weight={given!r} is not known; use 'balanced', a dict from class to "
                "weight, or None."
            )
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, 1e-300)))
    if not isinstance(given, Mapping):
        raise TypeError(
            f"class_weight must be 'balanced', a dict from class to weight, or None, got {given!r}."
        )
    known = list(classes.tolist())
    unknown = [c for c in given if c not in known]
    if unknown:
        raise ValueError(f"class_weight names {unknown[:5]}, but the classes are {known[:10]}.")
    factors = np.array([float(given.get(c, 1.0)) for c in known])
    if np.any(factors < 0) or not np.isfinite(factors).all():
        raise ValueError(f"class_weight must be finite and not negative, got {given!r}.")
    return factors


@dataclass(frozen=True)
class CheckNumbers:
    """Blocks whose targets are finite float64, or an error that says which row is not."""

    def __call__(self, block: Block) -> Block:
        if block.y is None:
            return block
        if block.y.dtype.kind not in "biuf":
            raise ValueError(
                f"the regression target has dtype {block.y.dtype}; give numbers, or use "
                "KernelClassifier for classes."
            )
        y = block.y.astype(np.float64, copy=False)
        if not np.isfinite(y).all():
            row = int(np.nonzero(~np.isfinite(y.reshape(len(y), -1)).all(axis=1))[0][0])
            raise ValueError(
                f"Input y contains NaN or infinity: row {block.offset + row} of partition "
                f"{block.partition}. Drop such rows."
            )
        if np.abs(y).max(initial=0.0) > MAX_AMOUNT:
            raise ValueError(
                f"the regression target holds numbers as large as {np.abs(y).max():.3g}, whose "
                f"squares would overflow; expected at most {MAX_AMOUNT:g}. Divide it by a "
                "constant first, and multiply the predictions by it."
            )
        return block.replace(y=y)


@dataclass(frozen=True)
class SignTargets:
    """Class indices as targets of least squares: +-1, one column a class when more than two."""

    n_classes: int

    def __call__(self, block: Block) -> Block:
        assert block.y is not None
        if self.n_classes == 2:
            return block.replace(y=2.0 * block.y - 1.0)
        return block.replace(y=2.0 * (block.y[:, None] == np.arange(self.n_classes)) - 1.0)


def with_signs(source: RowSource, n_classes: int) -> RowSource:
    """A source of class indices as one of least-squares targets."""
    width = 0 if n_classes == 2 else n_classes
    return source.mapped(SignTargets(n_classes), replace(source.schema, n_targets=width))


def with_classes(source: RowSource, classes: Array, class_weight: Any) -> RowSource:
    """The source with class indices for targets and class weights folded into the weights."""
    schema = replace(source.schema, n_targets=0)
    encoded = source.mapped(EncodeClasses(classes), schema)
    if class_weight is None:
        return encoded
    totals = encoded.reduce(ClassWeights(len(classes)))
    factors = class_weights(class_weight, classes, totals)
    return source.mapped(EncodeClasses(classes, factors), replace(schema, weighted=True))


def classification_targets(y: Any) -> Array:
    """y in memory as a vector of labels."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "mM":
        raise ValueError(f"Unknown label type: the target has dtype {y.dtype}; {_NOT_A_DATE}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        _distinct(y)
    if y.dtype.kind == "O":
        _distinct(y)  # refuses missing labels in words that say so
        as_labels(y)
    if y.dtype.kind == "f" and np.isfinite(y).all() and np.any(y != np.floor(y)):
        _distinct(y)
    check_classification_targets(y)
    return np.asarray(y)
