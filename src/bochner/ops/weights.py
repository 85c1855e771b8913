"""The forms of one tile, prepared once and multiplied with many tiles of rows.

Cosines are computed in turns, so 1 / (2 pi) is folded into the weights; that rounds them within
the eps |x| |w| that every product of them has anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .projection import Columns, Dense, FloatArray, Projection, Structured
from .tiles import FormTile, Rows, kept_forms


class Weights:
    """One tile's forms, ready to multiply: scaled to the unit of the activation, in one dtype."""

    def __init__(self, p: Projection, tile: FormTile, rows: Rows) -> None:
        self.rows, self.width = rows, tile.width
        self.unit = 0.5 / np.pi if p.activation in ("cos", "pair") else 1.0
        self.offsets = np.zeros(tile.width, rows.dtype)
        if p.offsets is not None:
            offsets = np.asarray(p.offsets)[tile.positions].astype(np.float64)
            self.offsets[:] = offsets * self.unit
        self._prepare(p.operator, tile)

    def _prepare(self, operator: Any, tile: FormTile) -> None:
        raise NotImplementedError

    def fill(self, rows: slice, Z: FloatArray) -> None:
        """Z <- the forms of these rows, without offsets."""
        raise NotImplementedError


class DenseWeights(Weights):
    """A matrix of weights; its tile is multiplied by BLAS, or row by row where X is sparse."""

    def _prepare(self, operator: Dense, tile: FormTile) -> None:
        W = np.asarray(operator.matrix)[tile.positions]
        scaled = W * W.dtype.type(self.unit) if self.unit != 1.0 else W
        by_form = np.ascontiguousarray(scaled, dtype=self.rows.dtype)
        self.Wt = np.ascontiguousarray(by_form.T) if self.rows.sparse else by_form.T

    def fill(self, rows: slice, Z: FloatArray) -> None:
        if not self.rows.sparse:
            np.matmul(self.rows.dense(rows), self.Wt, out=Z)
            return
        from .kernels import sparse_forms

        sparse_forms(*self.rows.csr(), rows.start, self.Wt, Z)


class ColumnsWeights(Weights):
    """Columns of X: gathered, not multiplied."""

    def _prepare(self, operator: Columns, tile: FormTile) -> None:
        self.index = operator.index[tile.positions]

    def fill(self, rows: slice, Z: FloatArray) -> None:
        if self.rows.sparse:
            Z[:] = self.rows.X[rows][:, self.index].toarray()
        else:
            tile = np.asarray(self.rows.X[rows], self.rows.dtype)
            np.take(tile, self.index, axis=1, out=Z, mode="clip")  # "raise" would buffer ``out``
        if self.unit != 1.0:
            Z *= Z.dtype.type(self.unit)


class StructuredWeights(Weights):
    """Hadamard blocks: the fast transform makes the forms that are kept."""

    def _prepare(self, operator: Structured, tile: FormTile) -> None:
        assert tile.blocks is not None
        p, first = operator.padded, tile.blocks.start
        self.signs = np.ascontiguousarray(operator.signs[tile.blocks])
        kept = kept_forms(operator)[tile.positions]
        self.source = (kept % p).astype(np.int64)
        block_of = kept // p - first
        self.ends = np.searchsorted(block_of, np.arange(len(self.signs)), side="right")
        radii = np.asarray(operator.radii)[kept].astype(np.float64)
        self.radii = (radii * (self.unit / p**1.5)).astype(self.rows.dtype)

    def fill(self, rows: slice, Z: FloatArray) -> None:
        from .hadamard import structured_forms

        tile = np.ascontiguousarray(self.rows.dense(rows))
        structured_forms(tile, self.signs, self.ends, self.source, self.radii, Z)


def weights(p: Projection, tile: FormTile, rows: Rows) -> Weights:
    match p.operator:
        case Dense():
            return DenseWeights(p, tile, rows)
        case Columns():
            return ColumnsWeights(p, tile, rows)
        case Structured():
            return StructuredWeights(p, tile, rows)
