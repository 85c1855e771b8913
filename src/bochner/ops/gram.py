"""gram: weighted sums over rows of outer products of features, by tiles of the upper triangle.

Features are made a panel of rows at a time; then every pair of column tiles is a task that
multiplies at most 1024 rows in the data's dtype and adds to float64. Up to `WHOLE` columns are one
tile: one symmetric product, which reads a row once. Where the features are the rows themselves, X
is the panel. The definition is ``reference.gram``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checks, linear, pool
from .column_set import AnyColumns
from .projection import Columns, FloatArray, Projection
from .pull import derivative as derivative_of
from .rowwise import features
from .tiles import TASKS, TILE_ROWS, Rows, cut, row_chunks

#: Columns of a tile of the Gram matrix, where there are more than `WHOLE`.
TILE_COLUMNS = 256
WHOLE = 512
#: Features kept at a time; more only where 1024 rows of them need more.
PANEL_BYTES = 16 << 20
PARTIAL_BYTES = 32 << 20


def gram(
    X: Any,
    p: AnyColumns,
    w: FloatArray | None = None,
    *,
    derivative: bool = False,
    out: FloatArray | None = None,
    threads: int | None = None,
) -> FloatArray:
    """sum_i w_i phi_m(x_i) phi_l(x_i), M x M in float64, exactly symmetric.

    With ``derivative`` the same of d phi / dz. Added to ``out``, of which only the upper triangle
    is read.
    """
    rows = checks.rows_of(X, p)
    w = checks.row_weights(w, rows.n)
    out = checks.total(out, (p.n_columns, p.n_columns))
    if derivative and isinstance(p, Projection) and p.activation == "identity":
        out += p.scale**2 * (rows.n if w is None else float(np.sum(w, dtype=np.float64)))
    elif isinstance(p, Projection) and _is_sparse_columns(rows, p):
        out += _sparse_gram(rows, p, w)
    else:
        _add_panels(rows, derivative_of(p) if derivative else p, w, out, threads)
    return _mirrored(out)


def _add_panels(
    rows: Rows, p: AnyColumns, w: FloatArray | None, out: FloatArray, threads: int | None
) -> None:
    if linear.is_plain(rows, p):
        _add_products(rows, w, out, threads)
        return
    fits = PANEL_BYTES // max(1, p.n_columns * rows.dtype.itemsize)
    step = max(TILE_ROWS, fits // TILE_ROWS * TILE_ROWS)
    panel = np.empty((min(step, rows.n), p.n_columns), rows.dtype)
    for at in cut(0, rows.n, step):
        phi = features(rows.X[at], p, out=panel[: at.stop - at.start], threads=threads)
        _add_products(Rows.of(phi), None if w is None else w[at], out, threads)


def _add_products(panel: Rows, w: FloatArray | None, out: FloatArray, threads: int | None) -> None:
    """Add panel' diag(w) panel to ``out``, on and above the diagonal tiles."""
    M = panel.n_inputs
    columns = cut(0, M, max(1, M) if M <= WHOLE else TILE_COLUMNS)
    pairs = [(a, b) for i, a in enumerate(columns) for b in columns[i:]]
    most = min(TASKS // max(1, len(pairs)), PARTIAL_BYTES // max(1, out.nbytes))
    grain = TILE_ROWS * max(1, 4 * M // TILE_ROWS)  # rows whose product outweighs a merge
    chunks = row_chunks(panel.n, max(1, most), grain)
    roots = _split_weights(w, panel.dtype)
    todo = [(a, b, chunk) for chunk in chunks for a, b in pairs]

    def task(item: tuple[slice, slice, slice]) -> FloatArray | None:
        a, b, _ = item
        if len(chunks) == 1:  # nobody else adds to this tile
            _product(panel, *roots, *item, out, (a.start, b.start))
            return None
        part = np.zeros((a.stop - a.start, b.stop - b.start))
        _product(panel, *roots, *item, part, (0, 0))
        return part

    for (a, b, _), part in zip(todo, pool.run(task, todo, threads), strict=True):
        if part is not None:
            out[a, b] += part


def _split_weights(
    w: FloatArray | None, dtype: np.dtype[Any]
) -> tuple[FloatArray | None, FloatArray | None]:
    """Factors left * right = w, equal (a symmetric product) where no weight is negative."""
    if w is None:
        return None, None
    if np.any(w < 0):
        return w[:, None].astype(dtype), None
    root = np.sqrt(w, dtype=np.float64).astype(dtype)[:, None]
    return root, root


def _product(
    panel: Rows,
    left: FloatArray | None,
    right: FloatArray | None,
    a: slice,
    b: slice,
    chunk: slice,
    total: FloatArray,
    corner: tuple[int, int],
) -> None:
    """Add sum_i left_i panel_ia right_i panel_ib to ``total``, from ``corner`` on."""
    from .kernels import add_at, add_upper

    add = add_upper if a == b else add_at
    product = np.empty((a.stop - a.start, b.stop - b.start), panel.dtype)
    for at in cut(chunk.start, chunk.stop, TILE_ROWS):
        tile = panel.dense(at)
        A = tile[:, a] if left is None else tile[:, a] * left[at]
        B = A if a == b and left is right else tile[:, b]
        if B is not A and right is not None:
            B = B * right[at]
        np.matmul(A.T, B, out=product)  # half the work where B is A: BLAS sees the symmetry
        add(total, *corner, product)


def _is_sparse_columns(rows: Rows, p: Projection) -> bool:
    return rows.sparse and p.activation == "identity" and isinstance(p.operator, Columns)


def _sparse_gram(rows: Rows, p: Projection, w: FloatArray | None) -> FloatArray:
    """(S + b)' diag(w) (S + b) for sparse columns S, multiplied out."""
    assert isinstance(p.operator, Columns)
    S = rows.X[:, p.operator.index].astype(np.float64)
    weight = np.ones(rows.n) if w is None else np.asarray(w, np.float64)
    weighted = S.multiply(weight[:, None]).tocsr()
    total: NDArray[np.float64] = np.asarray((weighted.T @ S).toarray())
    if p.offsets is not None:
        b, sums = np.asarray(p.offsets, np.float64), np.asarray(weighted.sum(axis=0)).ravel()
        total += np.outer(sums, b) + np.outer(b, sums) + weight.sum() * np.outer(b, b)
    return p.scale**2 * total


def _mirrored(G: FloatArray) -> FloatArray:
    """The lower triangle as a copy of the upper one, tile by tile."""
    columns = cut(0, len(G), TILE_COLUMNS)
    for i, a in enumerate(columns):
        for b in columns[i + 1 :]:
            G[b, a] = G[a, b].T
        upper = np.triu(G[a, a])
        G[a, a] = upper + np.triu(upper, 1).T
    return G
