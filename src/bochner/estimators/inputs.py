"""What reaches the estimators, as a source of rows: validation and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..rows import RowSource
from ..rows.adapt import as_source, refuse_unreadable
from ..rows.frames import as_table
from ..rows.optional import is_dask, is_table
from ..rows.table import refuse_repeated


def is_streamed(X: Any) -> bool:
    """Is X a scan or a Dask collection, rather than something scikit-learn can validate?"""
    return isinstance(X, RowSource) or is_dask(X)


def open_rows(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    reset: bool,
    allow_nan: bool = False,
    allow_frame: bool = False,
) -> RowSource:
    """A source for X, checked the way scikit-learn checks; ``y`` must be an array already.

    ``reset=True`` records ``n_features_in_`` and ``feature_names_in_``; otherwise X is held
    against them. Dask collections and scans are dispatched before anything could gather them.
    """
    if is_streamed(X):
        source = as_source(X, y, sample_weight, allow_frame=allow_frame, check_finite=not allow_nan)
        _check_streamed_features(estimator, source, reset)
        return source
    if is_table(X):
        refuse_repeated(as_table(X), "the DataFrame")  # before others stumble on them
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        weight = _weights(sample_weight, X)
        return as_source(X, y, weight, allow_frame=allow_frame, check_finite=not allow_nan)
    refuse_unreadable(X)
    unchecked = isinstance(X, np.memmap) and not allow_nan  # validation makes a plain array of it
    X = _check_memory(estimator, X, reset=reset, allow_nan=allow_nan)
    weight = _weights(sample_weight, X)
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but y has {len(y)}; they must be the same.")
    return as_source(X, y, weight, allow_frame=False, check_finite=unchecked)


def _check_memory(estimator: Any, X: Any, *, reset: bool, allow_nan: bool) -> Any:
    # a memory map is checked block by block: a check here would read all of it once more
    finite: Any = False if isinstance(X, np.memmap) else ("allow-nan" if allow_nan else True)
    with _advising():
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype="numeric",
            order=None,
            copy=False,
            ensure_all_finite=finite,
        )


#: What scikit-learn's refusals say, and what to do here.
_ADVICE = (
    (
        "contains NaN",
        "Impute missing values first (for instance with sklearn.impute.SimpleImputer), or give "
        "dense rows to KernelClassifier / KernelRegressor, whose preprocess='auto' takes NaN as "
        "missing.",
    ),
    ("contains infinity", "Clip such values, or mark them as missing (NaN)."),
    (
        "could not convert string to float",
        "X holds text: give a DataFrame to KernelClassifier / KernelRegressor, which take "
        "categories, or encode it first (sklearn.preprocessing.OneHotEncoder).",
    ),
    (
        "not compatible with arrays of bytes/strings",
        "X holds text: give a DataFrame to KernelClassifier / KernelRegressor, which take "
        "categories, or convert it with X.astype(float) where the text spells numbers.",
    ),
    ("Complex data not supported", "Give the real and the imaginary part as columns."),
    ("inhomogeneous shape", "X has rows of unlike lengths; expected rows x features."),
)


_A_NUMBER = "Give one finite number, not negative, for each row of X; 0 leaves a row out."
_WEIGHT_ADVICE = (
    ("Negative values", _A_NUMBER),
    ("contains NaN", _A_NUMBER),
    ("contains infinity", _A_NUMBER),
    (
        "could not convert string",
        "sample_weight takes numbers, one for each row; 'balanced' goes to class_weight.",
    ),
    ("sample_weight.shape", _A_NUMBER),
    ("1D array or scalar", _A_NUMBER),
)


@contextmanager
def _advising(advices: tuple[tuple[str, str], ...] = _ADVICE) -> Iterator[None]:
    """scikit-learn's refusals, in their first sentence, with what to do about them here."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        for words, advice in advices:
            if words in said:
                first = said.split("\n")[0].split(". ")[0].rstrip(".")
                raise ValueError(f"{first[:200]}. {advice}") from error
        raise


def _weights(sample_weight: Any, X: Any) -> Any:
    if sample_weight is None:
        return None
    template = X if sparse.issparse(X) or isinstance(X, np.ndarray) else np.empty((len(X), 1))
    with _advising(_WEIGHT_ADVICE):
        weight = _check_sample_weight(
            sample_weight, template, dtype=np.float64, ensure_non_negative=True
        )
    if not np.any(weight > 0):
        raise ValueError(
            "sample_weight is zero for every row; at least one row needs a positive weight."
        )
    return weight


def _check_streamed_features(estimator: Any, source: RowSource, reset: bool) -> None:
    """scikit-learn's feature checks for rows that it cannot see."""
    if source.n_features == 0:
        raise ValueError(
            f"Found array with 0 feature(s) while a minimum of 1 is required by "
            f"{type(estimator).__name__}: X has no columns. Check how they were selected."
        )
    if reset:
        estimator.n_features_in_ = source.n_features
        if source.schema.names is not None:
            estimator.feature_names_in_ = np.array(source.schema.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    name = type(estimator).__name__
    _refuse_extra(estimator, source)
    if source.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {source.n_features} features, but {name} is expecting "
            f"{estimator.n_features_in_} features as input; give the same columns as in fit."
        )
    known, given = getattr(estimator, "feature_names_in_", None), source.schema.names
    if known is not None and given is not None and tuple(known) != tuple(given):
        missing = [n for n in known if n not in given]
        raise ValueError(
            "The feature names should match those that were passed during fit. "
            + (f"Missing: {missing[:5]}." if missing else f"Expected the order {list(known)[:5]}.")
        )


def _refuse_extra(estimator: Any, source: RowSource) -> None:
    """Name the columns that fit never saw: a target that travels along, most often."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or source.schema.names is None or source.n_features <= len(known):
        return
    extra = [name for name in source.schema.names if name not in set(known)]
    if extra and len(extra) + len(known) == source.n_features:
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{len(known)} features as input: {extra[:5]} were not there in fit. Leave them out "
            "with scan(..., columns=[...]), or name the target with scan(..., target=...)."
        )
