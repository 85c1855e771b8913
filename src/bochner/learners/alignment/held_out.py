"""``radius="auto"``: the radius whose features predict best on rows held out by hash.

Scores come from the other rows alone, in the same pass; the path gives a selection for each radius;
each is judged by ridge regression on a sample that is small enough for all of them together to cost
less than half of the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ...feature_map import FeatureMap
from ...ops import FloatArray, pool
from ...rows import Block, RowSample
from ..held_out import unmarked
from ..label_kernel import Target

#: The radii tried, and the penalties of each ridge regression.
N_RADII = 8
PENALTIES = (1e-6, 1e-4, 1e-2)
LEAST_ROWS, MOST_ROWS = 1000, 10_000


def grid(N: int, D: int, order: float) -> FloatArray:
    """Radii as shares of N^(k-1) - 1: effective numbers of atoms from N down to D / 8."""
    effective = np.geomspace(N, max(1.0, min(D / 8.0, N / 2.0)), N_RADII)
    k1 = (order - 1.0) * np.log(N)
    if k1 == 0.0:
        return np.zeros(1)
    grown = (order - 1.0) * np.log(N / effective)
    return np.asarray(np.expm1(grown) / np.expm1(k1))


def sample_rows(n: int | None, N: int, D: int, d: int) -> int:
    """How many rows the judging may look at."""
    if n is None:
        return MOST_ROWS
    affordable = n * (N / D) * (d + 8.0) / (4.0 * N_RADII * (d + D + 8.0))
    return int(min(MOST_ROWS, max(LEAST_ROWS, affordable)))


def choose(
    sample: RowSample,
    target: Target,
    n_targets: int | None,
    maps: Sequence[Callable[[], FeatureMap]],
) -> tuple[int, FloatArray]:
    """The index of the best map, and the held-out error of each; the first where none differ.

    ``sample`` has targets with the marks of `MarkHeld`.
    """
    y, held = unmarked(sample.y, n_targets)
    if held.all() or not held.any():
        return 0, np.full(len(maps), np.nan)
    R = target(Block(sample.X, y))

    def judge(make: Callable[[], FeatureMap]) -> float:
        return _error(make()(sample.X), R, sample.weight, held)

    errors = np.array(pool.run(judge, maps))  # factorisations this small would waste threads
    return int(np.argmin(errors)), errors


def _error(phi: Any, R: FloatArray, w: FloatArray, held: FloatArray) -> float:
    """The least held-out squared error over the penalties, relative to that of the mean."""
    phi = phi.toarray() if sparse.issparse(phi) else np.asarray(phi)
    return _least_error(phi, R, w, held)


def _least_error(phi: FloatArray, R: FloatArray, w: FloatArray, held: FloatArray) -> float:
    learn = ~held
    share = w[learn] / w[learn].sum()
    mean, centre = (share.astype(phi.dtype) @ phi[learn]), share @ R[learn]
    root = np.sqrt(share)[:, None].astype(phi.dtype)
    F, Y = (phi[learn] - mean) * root, ((R[learn] - centre) * root).astype(phi.dtype)
    G, b = (F.T @ F).astype(np.float64), (F.T @ Y).astype(np.float64)
    scale = max(float(np.trace(G)), 1e-300)
    G0, weight = phi[held] - mean, w[held, None]
    base = float((weight * (R[held] - centre) ** 2).sum()) or 1.0
    errors = []
    for penalty in PENALTIES:
        factor = linalg.cho_factor(G + penalty * scale * np.eye(len(G)), check_finite=False)
        residual = R[held] - centre - G0 @ linalg.cho_solve(factor, b, check_finite=False)
        errors.append(float((weight * residual**2).sum()) / base)
    return min(errors)
