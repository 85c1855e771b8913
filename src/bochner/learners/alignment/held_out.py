"""``radius="auto"``: the radius whose features predict best on rows held out by hash.

Scores come from the other rows alone, in the same pass; the path gives a selection for each radius;
each is judged by ridge regression on a sample that is small enough for all of them together to cost
less than half of the pass: by squared error, or by ``scoring=`` of the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import linalg, sparse

from ...feature_map import FeatureMap
from ...ops import FloatArray, pool
from ...rows import Block, RowSample
from ..held_out import unmarked
from ..label_kernel import Target

if TYPE_CHECKING:
    from ..scoring import Scoring

#: The radii tried, and the penalties of each ridge regression.
N_RADII = 8
PENALTIES = (1e-6, 1e-4, 1e-2)
LEAST_ROWS, MOST_ROWS = 1000, 10_000
#: Taken for the rows of a stream that does not say how many it has.
UNKNOWN = 100_000
#: Multiplications that are no trouble: rare columns need more rows to be seen.
FREE = 1e9

#: From raw scores of the held-out rows to how wrong they are.
Error: TypeAlias = Callable[[FloatArray], float]


def grid(N: int, D: int, order: float) -> FloatArray:
    """Radii as shares of N^(k-1) - 1: effective numbers of atoms from N down to D / 8."""
    effective = np.geomspace(N, max(1.0, min(D / 8.0, N / 2.0)), N_RADII)
    k1 = (order - 1.0) * np.log(N)
    if k1 == 0.0:
        return np.zeros(1)
    grown = (order - 1.0) * np.log(N / effective)
    return np.asarray(np.expm1(grown) / np.expm1(k1))


def sample_rows(n: int | None, N: int, D: int, d: int, columns: bool = False) -> int:
    """How many rows the judging may look at; ``columns`` of X cost nothing to make."""
    n = UNKNOWN if n is None else n
    if columns:
        affordable = (n * d + FREE) / (4.0 * N_RADII * D * D)
    else:
        affordable = n * (N / D) * (d + 8.0) / (4.0 * N_RADII * (d + D + 8.0))
    return int(min(MOST_ROWS, max(LEAST_ROWS, affordable)))


def choose(
    sample: RowSample,
    target: Target,
    n_targets: int | None,
    maps: Sequence[Callable[[], FeatureMap]],
    scoring: Scoring | None = None,
) -> tuple[int, FloatArray]:
    """The index of the best map, and the held-out error of each; the first where none differ.

    ``sample`` has targets with the marks of `MarkHeld`. With ``scoring`` the targets themselves are
    fitted, and an error is minus a score.
    """
    y, held = unmarked(sample.y, n_targets)
    if held.all() or not held.any():
        return 0, np.full(len(maps), np.nan)
    error = held_error(scoring, y, sample.weight, held)
    target = target if scoring is None else Target(scoring.task, None, False)
    R = target(Block(sample.X, y))

    def judge(make: Callable[[], FeatureMap]) -> float:
        return least_error(_features(make(), sample.X), R, sample.weight, held, error)

    # side by side, as factorisations this small would waste threads; a caller's function is not
    errors = pool.run(judge, maps) if scoring is None else [judge(make) for make in maps]
    return int(np.argmin(errors)), np.array(errors)


def _features(fm: FeatureMap, X: Any) -> Any:
    """phi(X), sparse where it can be: a wide sparse family would not fit otherwise."""
    sparse_features = fm.sparse(X)
    return fm(X) if sparse_features is None else sparse_features


def held_error(scoring: Scoring | None, y: Any, w: FloatArray, held: Any) -> Error | None:
    """Minus the score of raw scores of the held-out rows; None for the squared error."""
    if scoring is None:
        return None
    return lambda raw: scoring.error(raw, y[held], w[held])


def least_error(
    phi: Any, R: FloatArray, w: FloatArray, held: Any, error: Error | None = None
) -> float:
    """The least over the penalties: squared error relative to that of the mean, or ``error``."""
    learn = ~held
    share, weight = w[learn] / w[learn].sum(), w[held, None]
    centre = share @ R[learn]
    target = R[held] - centre
    base = float((weight * target**2).sum()) or 1.0
    found = ridge(phi[learn], phi[held], R[learn] - centre, share)
    if error is not None:
        return min(error(centre + f) for f in found)
    return min(float((weight * (target - f) ** 2).sum()) / base for f in found)


def ridge(P: Any, Q: Any, Y: FloatArray, share: FloatArray) -> Iterator[FloatArray]:
    """Predictions for rows Q from rows P, of weights ``share`` that sum to one, by penalty.

    The smaller of the two systems is solved: with as many columns as a wide sparse family has, the
    other one would not fit into memory.
    """
    mean = share.astype(P.dtype) @ P
    root = np.sqrt(share)[:, None].astype(P.dtype)
    if P.shape[1] > P.shape[0]:
        A, map_back = products(P, P, mean) * root * root.T, products(Q, P, mean) * root.T
        b = Y * root
    else:
        F = (_dense(P) - mean) * root
        A, map_back = F.T @ F, _dense(Q) - mean
        b = F.T @ (Y * root).astype(P.dtype)
    A, b = A.astype(np.float64), b.astype(np.float64)
    scale = max(float(np.trace(A)), 1e-300)
    for penalty in PENALTIES:
        factor = linalg.cho_factor(A + penalty * scale * np.eye(len(A)), check_finite=False)
        yield map_back @ linalg.cho_solve(factor, b, check_finite=False)


def products(A: Any, B: Any, mean: FloatArray) -> FloatArray:
    """(A - mean)(B - mean)', without centred copies of sparse rows."""
    if not sparse.issparse(A):
        return np.asarray((A - mean) @ (B - mean).T)
    m = mean.astype(np.float64)
    inner = (A @ B.T).toarray().astype(np.float64)
    return np.asarray(inner - (A @ m)[:, None] - (B @ m)[None, :] + m @ m)


def _dense(phi: Any) -> FloatArray:
    return np.asarray(phi.toarray() if sparse.issparse(phi) else phi)
