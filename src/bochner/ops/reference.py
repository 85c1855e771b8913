"""The definition of the four operations, in plain NumPy: slow, float64, and right.

The fast paths must agree with this file up to rounding; nothing else defines what they compute.
Shapes: X n x d (dense or CSR), R n x C, T M x C, w n; see ``projection`` for the other symbols.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .column_set import AnyColumns, ColumnSet
from .projection import DIFFERENTIABLE, Columns, FloatArray, Projection


def _forms(X: Any, p: Projection) -> FloatArray:
    """z_f(x_i) = w_f . x_i + b_f, n x F in float64."""
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    dense = dense.astype(np.float64)
    if isinstance(p.operator, Columns):
        z = dense[:, p.operator.index]
    else:
        z = dense @ np.asarray(p.operator.to_matrix(), dtype=np.float64).T
    return z if p.offsets is None else z + np.asarray(p.offsets, dtype=np.float64)


def _activate(z: FloatArray, p: Projection) -> FloatArray:
    match p.activation:
        case "cos":
            return p.scale * np.cos(z)
        case "pair":
            return p.scale * np.stack([np.cos(z), np.sin(z)], axis=2).reshape(
                len(z), 2 * z.shape[1]
            )
        case "step":
            return p.scale * (z > 0).astype(np.float64)
        case "relu":
            return p.scale * np.maximum(z, 0.0)
        case "relu2":
            return p.scale * np.maximum(z, 0.0) ** 2
        case "identity":
            return p.scale * z


def _derivative(z: FloatArray, p: Projection) -> FloatArray:
    """d phi_m / d z at every row, n x M."""
    match p.activation:
        case "cos":
            return -p.scale * np.sin(z)
        case "pair":
            return p.scale * np.stack([-np.sin(z), np.cos(z)], axis=2).reshape(
                len(z), 2 * z.shape[1]
            )
        case "step":
            raise ValueError(
                "a step has no useful derivative: `pull` and `derivative=True` need an activation "
                f"among {sorted(DIFFERENTIABLE)}; use ArcCosine(order=1) instead of order=0"
            )
        case "relu":
            return p.scale * (z > 0).astype(np.float64)
        case "relu2":
            return p.scale * 2.0 * np.maximum(z, 0.0)
        case "identity":
            return np.full_like(z, p.scale)


def features(X: Any, p: AnyColumns) -> FloatArray:
    """phi_m(x_i), n x M."""
    if isinstance(p, ColumnSet):
        return p.define((X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64))
    return _activate(_forms(X, p), p)


def project(X: Any, p: Projection, R: FloatArray) -> FloatArray:
    """sum_i phi_m(x_i) R_ic, M x C."""
    return features(X, p).T @ np.asarray(R, dtype=np.float64)


def gram(
    X: Any, p: Projection, w: FloatArray | None = None, derivative: bool = False
) -> FloatArray:
    """sum_i w_i phi_m(x_i) phi_l(x_i), M x M; of d phi / dz instead when ``derivative``."""
    z = _forms(X, p)
    phi = _derivative(z, p) if derivative else _activate(z, p)
    weighted = phi if w is None else phi * np.asarray(w, dtype=np.float64)[:, None]
    return weighted.T @ phi


def pull(X: Any, p: Projection, R: FloatArray, T: FloatArray) -> dict[str, FloatArray]:
    """sum_i (R T')_im d phi_m(x_i) / d atom_m.

    Returns ``{"frequencies": F x d, "offsets": F}``: in pair form both columns of a frequency
    contribute to its gradient.
    """
    s = _derivative(_forms(X, p), p) * (np.asarray(R, np.float64) @ np.asarray(T, np.float64).T)
    if p.activation == "pair":
        s = s[:, 0::2] + s[:, 1::2]
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return {"frequencies": s.T @ dense.astype(np.float64), "offsets": s.sum(axis=0)}


def map_rows(X: Any, p: Projection, T: FloatArray) -> FloatArray:
    """phi(x_i) T, n x C."""
    return features(X, p) @ np.asarray(T, dtype=np.float64)
