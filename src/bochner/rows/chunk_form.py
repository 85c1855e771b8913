"""What the first chunk looked like, and whether a later one still does."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .block import Array, Block, is_sparse, working_dtype
from .checks import checked_target, checked_weight, refuse_inexact
from .numeric import as_numeric
from .optional import is_table
from .source import Schema
from .table import Layout, alike, plan

_EXPECTED = (
    "Expected X, (X, y) or (X, y, weight), with X an array, a SciPy sparse matrix or a DataFrame "
    "of two dimensions (rows x features)."
)


@dataclass(frozen=True)
class ChunkForm:
    """The parts, the width and the kinds of a chunk, held from the first one on."""

    schema: Schema
    n_parts: int
    row_bytes: int
    layout: Layout | None = None  # of chunks that are DataFrames
    forced: bool = False  # was the dtype asked for?

    def rows(self, chunk: Any) -> int:
        X = _parts(chunk)[0]
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)

    def block(self, chunk: Any, number: int, offset: int) -> Block:
        """The block of chunk ``number``; raises where it is not like the first one."""
        what = f"chunk {number}"
        parts = _parts(chunk)
        if len(parts) != self.n_parts:
            raise ValueError(_changed(what, f"{len(parts)} parts", f"{self.n_parts}"))
        block = self._table(parts[0], what, offset) if self.layout else self._array(parts[0], what)
        changes: dict[str, Any] = {"offset": offset}
        if len(parts) > 1 and parts[1] is not None:
            changes["y"] = self._y(parts[1], block.n_rows, what)
        if len(parts) > 2 and parts[2] is not None:
            changes["weight"] = checked_weight(parts[2], block.n_rows, f"the weight of {what}")
        return block.replace(**changes)

    def _y(self, y: Any, n_rows: int, what: str) -> Array:
        out = checked_target(y, n_rows, f"y of {what}")
        width = 0 if out.ndim == 1 else out.shape[1]
        if self.schema.n_targets != width:
            raise ValueError(
                _changed(what, f"a y of shape {out.shape}", f"{self.schema.n_targets} outputs")
            )
        return out

    def _table(self, data: Any, what: str, offset: int) -> Block:
        from .frames import as_table

        layout = self.layout
        assert layout is not None
        if not is_table(data):
            raise ValueError(_changed(what, f"a {type(data).__name__}", "a DataFrame"))
        table = as_table(data, what)
        now = plan(table, what, target=layout.target, columns=layout.features, weight=layout.weight)
        extra = set(table.names) - set(layout.columns) if not layout.pruned else set()
        if extra:
            raise ValueError(_changed(what, f"extra columns {sorted(map(str, extra))}", "none"))
        for name, then, kind in zip(layout.features, layout.kinds, now.kinds, strict=True):
            if not alike(then, kind) and not _empty(table, name):
                raise ValueError(_changed(what, f"column {name!r} of kind {kind}", then))
        self._check_dtype(now.dtype, what)
        return layout.block(table, what, 0, offset)

    def _array(self, X: Any, what: str) -> Block:
        if is_table(X):
            raise ValueError(_changed(what, f"a {type(X).__name__}", "an array"))
        X = as_numeric(X, f"X of {what}")
        if is_sparse(X) != self.schema.sparse:
            raise ValueError(_changed(what, *_texture(X)))
        if X.shape[1] != self.schema.n_features:
            raise ValueError(_changed(what, f"{X.shape[1]} columns", str(self.schema.n_features)))
        self._check_dtype(X.dtype, what)
        if X.dtype.kind in "iu":
            refuse_inexact(X.data if is_sparse(X) else X, f"X of {what}")
        if is_sparse(X):
            return Block(X.astype(self.schema.dtype, copy=False))
        return Block(np.ascontiguousarray(X, dtype=self.schema.dtype))

    def _check_dtype(self, dtype: np.dtype[Any], what: str) -> None:
        wider = working_dtype([dtype]).itemsize > self.schema.dtype.itemsize
        if wider and not self.forced and self.schema.kinds is None:
            raise ValueError(
                _changed(what, f"dtype {dtype}", f"what {self.schema.dtype} holds exactly")
                + " Or pass dtype='float64' to scan."
            )


def _empty(table: Any, name: Hashable) -> bool:
    """A column of nothing but missing values fits any kind."""
    return table.n_rows == 0 or all(v is None for v in table.objects(name))


def _texture(X: Any) -> tuple[str, str]:
    return ("a sparse matrix", "a dense array") if is_sparse(X) else ("a dense array", "CSR")


def _changed(what: str, now: str, then: str) -> str:
    return (
        f"{what} (counting from 0) has {now}, but chunk 0 set the form: {then}. Every chunk must "
        "have the same columns, parts and kinds as the first: convert the odd one out."
    )


def _parts(chunk: Any) -> tuple[Any, ...]:
    return chunk if isinstance(chunk, tuple) else (chunk,)


def first_form(
    chunk: Any,
    target: Any,
    columns: Sequence[Hashable] | None,
    weight: Hashable | None,
    dtype: Any,
) -> ChunkForm:
    """Read the form off the first chunk."""
    parts = _parts(chunk)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"chunk 0 is a tuple of {len(parts)} parts. {_EXPECTED}")
    own = _own_target(parts)
    weighted = len(parts) > 2 and parts[2] is not None
    if is_table(parts[0]):
        return _table_form(parts, target, columns, weight, dtype, own, weighted)
    if target is not None or weight is not None or columns is not None:
        raise ValueError(
            "target=, weight= and columns= name columns of DataFrame chunks, but chunk 0 holds "
            f"a {type(parts[0]).__name__}. Give each chunk as (X, y) or (X, y, weight) instead."
        )
    try:
        X = as_numeric(parts[0], "X of chunk 0")
    except ValueError as error:
        raise ValueError(f"{error} {_EXPECTED}") from error
    schema = Schema(
        n_features=int(X.shape[1]),
        dtype=working_dtype([X.dtype]) if dtype is None else np.dtype(dtype),
        sparse=is_sparse(X),
        n_targets=own,
        weighted=weighted,
    )
    stored = X.nnz // max(1, X.shape[0]) if schema.sparse else 0
    row_bytes = 12 * stored if schema.sparse else schema.dtype.itemsize * X.shape[1]
    return ChunkForm(schema, len(parts), max(1, row_bytes), forced=dtype is not None)


def _own_target(parts: tuple[Any, ...]) -> int | None:
    if len(parts) < 2 or parts[1] is None:
        return None
    shape = np.shape(parts[1])
    return 0 if len(shape) < 2 else int(shape[1])


def _table_form(
    parts: tuple[Any, ...],
    target: Any,
    columns: Sequence[Hashable] | None,
    weight: Hashable | None,
    dtype: Any,
    own: int | None,
    weighted: bool,
) -> ChunkForm:
    from .frames import as_table

    if (target is not None and own is not None) or (weight is not None and weighted):
        raise ValueError(
            "The target or the weight was given twice: by name and as a part of the chunk. Give "
            "DataFrame chunks with target='name', or (X, y, weight) chunks without."
        )
    table = as_table(parts[0], "chunk 0")
    layout = plan(table, "chunk 0", target=target, columns=columns, weight=weight, dtype=dtype)
    schema = layout.schema()
    schema = replace(
        schema,
        n_targets=schema.n_targets if own is None else own,
        weighted=schema.weighted or weighted,
    )
    return ChunkForm(schema, len(parts), layout.row_bytes, layout, dtype is not None)
