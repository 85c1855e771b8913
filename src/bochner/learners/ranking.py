"""Which named columns a learner chose: a ranked table, with how each goes with the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import FloatArray
from ..rows import Block, Hook, RowSource, RowSum
from ..rows.adapt import as_source
from ..rows.optional import need

Names = Sequence[str] | NDArray[Any] | Callable[[NDArray[np.intp]], Sequence[str]]


@dataclass(frozen=True, eq=False)
class SelectionTable:
    """Chosen columns from the largest weight down, as named arrays of equal length.

    pandas, polars, pyarrow and others read it through the Arrow and DataFrame protocols
    (``polars.DataFrame(table)``, ``pandas.DataFrame.from_arrow(table)``); `to_pandas` and
    `to_dict` need no such protocol.
    """

    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of this table."""
        return tuple(self.columns)

    def head(self, n: int = 10) -> SelectionTable:
        """The first n rows."""
        return SelectionTable({name: values[:n] for name, values in self.columns.items()})

    def to_dict(self) -> dict[str, list[Any]]:
        """Plain lists of plain values."""
        return {name: values.tolist() for name, values in self.columns.items()}

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        pandas = need("pandas", "test", "to_pandas()")
        return pandas.DataFrame(dict(self.columns))

    def _to_arrow(self) -> Any:
        pyarrow = need("pyarrow", "parquet", "Handing this table to another library")
        return pyarrow.table({name: pyarrow.array(v) for name, v in self.columns.items()})

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._to_arrow().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self._to_arrow().__dataframe__(nan_as_null, allow_copy)

    def __str__(self) -> str:
        shown = self.head(20)
        cells = [[name, *map(_cell, values.tolist())] for name, values in shown.columns.items()]
        widths = [max(map(len, column)) for column in cells]
        rows = zip(*cells, strict=True)
        lines = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        more = [] if len(self) == len(shown) else [f"... {len(self)} rows in all"]
        return "\n".join(lines + more)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def selection_table(
    names: Names,
    weights: FloatArray,
    X: Any = None,
    class_indices: Any = None,
    classes: Sequence[Any] | None = None,
    *,
    columns: Any = None,
    top: int | None = None,
    hook: Hook | None = None,
) -> SelectionTable:
    """The columns of positive weight, ranked, with their frequency in each class.

    One pass over the rows, which reads the chosen columns only.

    Parameters
    ----------
    names : sequence of N names, or a function from columns to their names
        `KGramEncoder.names_of` is such a function.
    weights : array of N
        The learned measure q; ties rank by column.
    X : array, CSR (n, d) or RowSource, optional
        The rows; None leaves all about classes out.
    class_indices : int array (n,), optional
        The class of each row, 0 .. C-1; None if X is a source that brings such targets.
    classes : sequence of C labels, optional
        0 .. C-1 where not given.
    columns : int array (N,), optional
        Which column of X each weight belongs to, where it is not the m-th to the m-th.
    top : int, optional
        How many rows at most.

    Returns
    -------
    SelectionTable
        ``name``, ``column``, ``weight``; with X also ``class`` (the class in which the column's
        mean departs most from its mean over the other rows; with two classes always the second),
        ``sign`` (+1 if it is larger there, -1 if smaller, 0 if it is the same) and
        ``frequency[c]``, the share of class c in which the column is not zero.
    """
    chosen = ranked(weights, top)
    kept = chosen if columns is None else np.asarray(columns, dtype=np.intp)[chosen]
    weight = np.asarray(weights, dtype=np.float64)[chosen]
    seen = None
    if X is not None:
        n_classes = None if classes is None else len(classes)
        source = _source(X, class_indices)
        seen = source.reduce(ClassSum(kept, n_classes), hook=hook)
        classes = [*range(len(seen.rows))] if classes is None else classes
    return Ranking(kept, weight, None if seen is None else association(seen), classes).table(names)


@dataclass(frozen=True, eq=False)
class Association:
    """How s columns go with C classes: the class each departs in, +1 or -1, and how often it is
    not zero in each class (C x s, None where features are never zero).
    """

    which: NDArray[np.intp]
    sign: NDArray[np.int8]
    frequency: FloatArray | None = None

    def take(self, places: Any) -> Association:
        """Of some of the columns."""
        frequency = None if self.frequency is None else self.frequency[:, places]
        return Association(self.which[places], self.sign[places], frequency)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Chosen columns from the largest weight down, and how they go with the classes.

    ``names`` are those of these columns; ``which`` of the association means nothing where
    ``classes`` is None: then there are amounts.
    """

    columns: NDArray[np.intp]
    weights: FloatArray
    association: Association | None = None
    classes: Sequence[Any] | None = None
    names: Sequence[str] | None = None

    def table(self, names: Names | None = None, top: int | None = None) -> SelectionTable:
        """As a table, of at most ``top`` rows; ``names`` are those of all candidates."""
        check_top(top)
        kept = self.columns[:top]
        named = self._own_names(top) if names is None else _named(names, kept)
        table: dict[str, Any] = {"name": np.array(named, dtype=object)}
        table |= {"column": kept.astype(np.int64), "weight": self.weights[:top]}
        if self.association is not None:
            table |= _about_classes(self.association.take(slice(top)), self.classes)
        return SelectionTable(table)

    def _own_names(self, top: int | None) -> list[str]:
        if self.names is None:
            return [f"x{j}" for j in self.columns[:top].tolist()]
        return list(self.names[:top])


def ranked(weights: Any, top: int | None = None) -> NDArray[np.intp]:
    """Places of the positive weights, from the largest down; ties by place."""
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or np.isnan(w).any():
        raise ValueError(f"weights must be a vector without NaN, got shape {w.shape}.")
    check_top(top)
    order = np.argsort(-w, kind="stable")
    return order[: int(np.count_nonzero(w > 0))][:top]


def check_top(top: int | None) -> None:
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, or None for all, got {top}.")


def _named(names: Names, columns: NDArray[np.intp]) -> list[str]:
    if callable(names):
        return list(names(columns))
    if len(names) <= columns.max(initial=-1):
        raise ValueError(
            f"names holds {len(names)}, but column {columns.max()} was chosen: give the name of "
            "every candidate, or a function from columns to their names (KGramEncoder.names_of)."
        )
    return [names[j] for j in columns.tolist()]


@dataclass
class ClassCounts:
    """By class: weight of rows, and of each column the sum and the weight of rows not zero."""

    rows: FloatArray
    sums: FloatArray
    nonzero: FloatArray

    def grown(self, n_classes: int) -> ClassCounts:
        """The same with rows of zeros for classes not seen so far."""
        more = max(0, n_classes - len(self.rows))
        return ClassCounts(
            np.pad(self.rows, (0, more)),
            np.pad(self.sums, ((0, more), (0, 0))),
            np.pad(self.nonzero, ((0, more), (0, 0))),
        )

    def __add__(self, other: ClassCounts) -> ClassCounts:
        C = max(len(self.rows), len(other.rows))
        a, b = self.grown(C), other.grown(C)
        return ClassCounts(a.rows + b.rows, a.sums + b.sums, a.nonzero + b.nonzero)


class ClassSum(RowSum[ClassCounts, ClassCounts]):
    """Sums of some columns within each class."""

    def __init__(self, columns: NDArray[np.intp], n_classes: int | None) -> None:
        self.columns, self.n_classes = columns, n_classes

    def start(self) -> ClassCounts:
        s = len(self.columns)
        return ClassCounts(np.zeros(0), np.zeros((0, s)), np.zeros((0, s))).grown(
            self.n_classes or 0
        )

    def update(self, state: ClassCounts, block: Block) -> ClassCounts:
        which = self._classes(block)
        G = sparse.csr_matrix((block.weights(), (which, np.arange(block.n_rows))))
        X = block.X[:, self.columns]
        dense = [G @ X.astype(np.float64), G @ (X != 0).astype(np.float64)]
        sums = [part.toarray() if sparse.issparse(part) else np.asarray(part) for part in dense]
        return state + ClassCounts(np.asarray(G.sum(axis=1)).ravel(), *sums)

    def _classes(self, block: Block) -> NDArray[np.intp]:
        if block.y is None:
            raise ValueError("these rows have no classes; give class_indices, or X=None.")
        y = np.asarray(block.y)
        whole = y.ndim == 1 and y.dtype.kind in "iubf" and np.all((y >= 0) & (y == np.floor(y)))
        if not whole or (self.n_classes is not None and y.max(initial=0) >= self.n_classes):
            raise ValueError(
                "class_indices must be whole numbers 0 .. C-1, one a row"
                + (f", with C = {self.n_classes} classes given" if self.n_classes else "")
                + "; encode labels first: classes, class_indices = np.unique(y, "
                "return_inverse=True)."
            )
        return y.astype(np.intp)

    def merge(self, a: ClassCounts, b: ClassCounts) -> ClassCounts:
        return a + b

    def finalise(self, state: ClassCounts) -> ClassCounts:
        return state


def _source(X: Any, class_indices: Any) -> RowSource:
    if class_indices is None:
        return as_source(X, allow_frame=False)
    y = np.asarray(class_indices)
    return as_source(X, y, allow_frame=False)


def association(seen: ClassCounts) -> Association:
    """Where the mean of a column departs most from its mean over the other rows."""
    C = len(seen.rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        frequency = seen.nonzero / seen.rows[:, None]
        mean = seen.sums / seen.rows[:, None]
        rest = (seen.sums.sum(0) - seen.sums) / (seen.rows.sum() - seen.rows)[:, None]
    excess = np.nan_to_num(mean - rest)
    # sums in another order differ by rounding: what is below it is no association
    excess[np.abs(excess) <= 1e-12 * np.abs(np.nan_to_num(mean)).max(0, initial=0.0)] = 0.0
    return departure(excess, frequency if C else None)


def departure(excess: FloatArray, frequency: FloatArray | None = None) -> Association:
    """The class of the largest excess, C x s; with two classes always the second."""
    C, s = excess.shape
    which = np.full(s, C - 1) if C <= 2 else np.argmax(np.abs(excess), axis=0)
    sign = np.sign(np.take_along_axis(excess, which[None, :], axis=0)[0])
    return Association(which, sign.astype(np.int8), frequency)


def _about_classes(found: Association, classes: Sequence[Any] | None) -> dict[str, Any]:
    if classes is None:
        return {"sign": found.sign}
    labels = [str(label) for label in classes]
    out: dict[str, Any] = {"class": np.array([labels[c] for c in found.which], dtype=object)}
    out["sign"] = found.sign
    if found.frequency is not None:
        out |= {f"frequency[{c}]": row for c, row in zip(labels, found.frequency, strict=True)}
    return out
