"""gram: weighted sums over rows of outer products of features, by tiles of the upper triangle.

Features are made a panel of rows at a time; then every pair of column tiles is a task that
multiplies at most 1024 rows in the data's dtype and adds to float64. Up to `WHOLE` columns are one
tile: one symmetric product, which reads a row once. Where the features are the rows themselves, X
is the panel. `gram_and_project` adds the thin product while a piece is in cache. The definitions
are ``reference.gram`` and ``reference.project``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checks, linear, pool
from .column_set import AnyColumns
from .project import project
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
        _add_panels(rows, derivative_of(p) if derivative else p, w, None, Sums(out), threads)
    return _mirrored(out)


def gram_and_project(
    X: Any,
    p: AnyColumns,
    R: FloatArray,
    w: FloatArray | None = None,
    *,
    threads: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """`gram` (of phi, with w) and `project` (of R, without w), with the features made once."""
    rows = checks.rows_of(X, p)
    w, R = checks.row_weights(w, rows.n), checks.thin(R, "R", rows.n, "row of X")
    if isinstance(p, Projection) and _is_sparse_columns(rows, p):
        return gram(X, p, w, threads=threads), project(X, p, R, threads=threads)
    total, thin = np.zeros((p.n_columns, p.n_columns)), np.zeros((p.n_columns, R.shape[1]))
    _add_panels(rows, p, w, R, Sums(total, thin), threads)
    return _mirrored(total), thin


def _add_panels(
    rows: Rows,
    p: AnyColumns,
    w: FloatArray | None,
    R: FloatArray | None,
    sums: Sums,
    threads: int | None,
) -> None:
    if linear.is_plain(rows, p):
        _add_products(Panel.of(rows, w, R), sums, threads)
        return
    fits = PANEL_BYTES // max(1, p.n_columns * rows.dtype.itemsize)
    step = max(TILE_ROWS, fits // TILE_ROWS * TILE_ROWS)
    panel = np.empty((min(step, rows.n), p.n_columns), rows.dtype)
    for at in cut(0, rows.n, step):
        phi = features(rows.X[at], p, out=panel[: at.stop - at.start], threads=threads)
        here = (None if v is None else v[at] for v in (w, R))
        _add_products(Panel.of(Rows.of(phi), *here), sums, threads)


@dataclass(frozen=True, eq=False)
class Panel:
    """Features of some rows; factors left * right = w of each row; R', C x n."""

    rows: Rows
    left: FloatArray | None
    right: FloatArray | None
    thin: FloatArray | None

    @classmethod
    def of(cls, rows: Rows, w: FloatArray | None, R: FloatArray | None) -> Panel:
        """The factors are equal (a symmetric product) where no weight is negative."""
        left = right = None
        if w is not None and np.any(w < 0):
            left = w[:, None].astype(rows.dtype)
        elif w is not None:
            left = right = np.sqrt(w, dtype=np.float64).astype(rows.dtype)[:, None]
        thin = None if R is None else np.ascontiguousarray(R.T, dtype=rows.dtype)
        return cls(rows, left, right, thin)


@dataclass(frozen=True, eq=False)
class Sums:
    """What is added to: gram, M x M, and phi' R, M x C (None: not asked for)."""

    gram: FloatArray
    thin: FloatArray | None = None

    def fresh(self, a: slice, b: slice) -> Sums:
        """Zeros for one tile of columns."""
        rows, thin = a.stop - a.start, None
        if self.thin is not None and a == b:
            thin = np.zeros((rows, self.thin.shape[1]))
        return Sums(np.zeros((rows, b.stop - b.start)), thin)

    def add(self, a: slice, b: slice, part: Sums) -> None:
        self.gram[a, b] += part.gram
        if self.thin is not None and part.thin is not None:
            self.thin[a] += part.thin


def _add_products(panel: Panel, sums: Sums, threads: int | None) -> None:
    """Add panel' diag(w) panel, tiles on and above the diagonal, and panel' R."""
    M, n = panel.rows.n_inputs, panel.rows.n
    columns = cut(0, M, max(1, M) if M <= WHOLE else TILE_COLUMNS)
    pairs = [(a, b) for i, a in enumerate(columns) for b in columns[i:]]
    most = min(TASKS // max(1, len(pairs)), PARTIAL_BYTES // max(1, sums.gram.nbytes))
    grain = TILE_ROWS * max(1, 4 * M // TILE_ROWS)  # rows whose product outweighs a merge
    chunks = row_chunks(n, max(1, most), grain)
    todo = [(a, b, chunk) for chunk in chunks for a, b in pairs]

    def task(item: tuple[slice, slice, slice]) -> Sums | None:
        a, b, _ = item
        if len(chunks) == 1:  # nobody else adds to this tile
            _product(panel, *item, sums, (a.start, b.start))
            return None
        part = sums.fresh(a, b)
        _product(panel, *item, part, (0, 0))
        return part

    for (a, b, _), part in zip(todo, pool.run(task, todo, threads), strict=True):
        if part is not None:
            sums.add(a, b, part)


def _product(
    panel: Panel, a: slice, b: slice, chunk: slice, sums: Sums, corner: tuple[int, int]
) -> None:
    """Add the products of two tiles of columns to ``sums``, from ``corner`` on."""
    from .kernels import add_at

    left, right, thin = panel.left, panel.right, panel.thin
    product = np.empty((a.stop - a.start, b.stop - b.start), panel.rows.dtype)
    for at in cut(chunk.start, chunk.stop, TILE_ROWS):
        tile = panel.rows.dense(at)
        A = tile[:, a] if left is None else tile[:, a] * left[at]
        B = A if a == b and left is right else tile[:, b]
        if B is not A and right is not None:
            B = B * right[at]
        np.matmul(A.T, B, out=product)  # half the work where B is A: BLAS sees the symmetry
        add_at(sums.gram, *corner, product)
        if thin is not None and sums.thin is not None and a == b:
            _add_thin(sums.thin[corner[0] :], thin[:, at], tile[:, a])


def _add_thin(total: FloatArray, R: FloatArray, tile: FloatArray) -> None:
    """total[:width] += tile' R' by matrix-vector products: each reads the tile from cache once."""
    for column, r in zip(total[: tile.shape[1]].T, R, strict=True):
        column += r @ tile


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
