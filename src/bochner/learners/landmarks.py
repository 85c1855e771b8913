"""One learned similarity per landmark (Letarte et al. 2019, section 4.2).

    column l   psi_l(x) = sum_k Q^l_k cos(w_lk.(x - x_l))                    (13)
    weights    Q^l_k = exp(-beta sqrt(n) L^l_k) / Z_l, k = 1 .. K            (12)
    losses     L^l_k = mean over rows j of (1 - lambda_lj cos(w_lk.(x_j - x_l))) / 2   (10)

Every landmark has K frequencies of its own, drawn from the prior; cos(w.(x - x_l)) is a phase-form
cosine with the offset -w.x_l, so the losses are sums over rows of L K such columns, and psi_l is a
group of them mixed down to one. No row ever meets L K numbers at once outside a cache-sized tile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .. import ops
from ..families import Family
from ..families.kernel_columns import KernelColumns
from ..feature_map import FeatureMap
from ..ops import Dense, FloatArray, Mixed, Projection
from ..rows import Block, Hook, RowSource
from .base import Selection
from .label_kernel import Target
from .landmark_choice import Landmarks
from .pseudo_posterior.losses import as_loss, check_rows
from .pseudo_posterior.passes import LossSum, check_classes

#: Numbers of a draw that are held in float64 at a time, and bytes of frequencies at most.
_GROUP, _MOST_BYTES = 2**21, 4 * 2**30


@dataclass(frozen=True, eq=False)
class Learned:
    """What the pass over the rows gave: losses L x K, weights Q, and how many rows."""

    feature_map: FeatureMap
    losses: FloatArray
    Q: FloatArray
    n: float

    @property
    def kl(self) -> FloatArray:
        """KL(Q^l | uniform over K) of each landmark."""
        Q = self.Q
        return np.log(Q.shape[1]) + np.where(Q > 0, Q * np.log(np.where(Q > 0, Q, 1.0)), 0).sum(1)

    @property
    def effective(self) -> FloatArray:
        """1 / sum_k Q^l_k^2 of each landmark."""
        return np.asarray(1.0 / np.square(self.Q).sum(axis=1))

    @property
    def selection(self) -> Selection:
        """Weights over the L K candidates, which sum to one, and the figures of each landmark."""
        L = len(self.Q)
        stats = {
            "losses": self.losses,
            "effective": self.effective,
            "loss": (self.Q * self.losses).sum(axis=1),
            "kl": self.kl,
            "n": self.n,
        }
        scores = (1.0 - 2.0 * self.losses).ravel()
        return Selection("posterior", scores, self.Q.ravel() / L, np.flatnonzero(self.Q), stats)


def learn(
    source: RowSource,
    family: Family,
    landmarks: Landmarks,
    K: int,
    beta: float,
    target: Target,
    rng: np.random.Generator,
    hook: Hook,
) -> Learned:
    """One pass over the rows."""
    hook.at("frequencies")
    base = candidates(family, landmarks, K, source.schema.dtype, rng)
    fm = FeatureMap(family, base, np.ones(base.n_columns))
    hook.at("losses")
    row_sum = LossSum(fm, target, False, source.schema.n_targets)
    s, counts = source.reduce(row_sum, hook=hook)
    n = check_rows(counts[:, 0].sum())
    check_classes(target, counts.sum(axis=0))
    L, assured = len(landmarks), landmarks.factor
    assert assured is not None
    losses = landmark_losses(s.reshape(L, K, -1), assured, n, target.one_hot, landmarks.own)
    Q = posteriors(losses, n, beta)
    return Learned(FeatureMap(family, Mixed(base, Q), np.ones(L)), losses, Q, n)


def loss_of_map(source: RowSource, fm: FeatureMap, landmarks: Landmarks, target: Target) -> Any:
    """Eq. (10) of the mixed columns themselves, L of them, on rows the landmarks are not among.

    Each row with a positive weight counts once: a weight of 10 is not ten independent rows.
    """
    row_sum = _AsideSum(fm, target, False, source.schema.n_targets)
    s, counts = source.mapped(_once, source.schema).reduce(row_sum)
    n, A = float(counts[:, 0].sum()), landmarks.factor
    assert A is not None
    return landmark_losses(s[:, None, :], A, n, target.one_hot, False)[:, 0], int(n)


class _AsideSum(LossSum):
    """Of rows set aside: there may be none."""

    def finalise(self, state: Any) -> Any:
        if state[0] is None or not state[1].any():
            raise ValueError(
                "certify= set no rows aside: give more (distinct) rows, or a larger share."
            )
        return super().finalise(state)


def _once(block: Block) -> Block:
    """Weights 1 and 0, in the order of the rows."""
    return block if block.weight is None else block.replace(weight=(block.weight > 0) * 1.0)


def reweighted(found: Learned, beta: float) -> Learned:
    """The same losses at another beta, O(L K)."""
    Q = posteriors(found.losses, found.n, beta)
    mixed = found.feature_map.projection
    assert isinstance(mixed, Mixed)
    fm = FeatureMap(found.feature_map.family, Mixed(mixed.base, Q), np.ones(len(Q)))
    return replace(found, feature_map=fm, Q=Q)


def exact(family: Family, landmarks: Landmarks) -> FeatureMap:
    """The kernel of the family to each landmark: nothing is learned."""
    return FeatureMap(family, KernelColumns(family, landmarks.X), np.ones(len(landmarks)))


def landmark_losses(
    sums: FloatArray, factor: FloatArray, n: float, one_hot: bool, own: bool
) -> FloatArray:
    """Eq. (10) for every landmark and frequency, L x K.

    sums: sum_j A_jc cos(w_lk.(x_j - x_l)), L x K x r; factor: a_l, L x r; lambda_lj = a_l.a_j, or
    2 a_l.a_j - 1 for one-hot classes. ``own``: the landmark is one of the rows, and leaves itself
    out: there the cosine is 1.
    """
    total, same = np.einsum("lkc,lc->lk", sums, factor), np.square(factor).sum(axis=1)
    if one_hot:
        total, same = 2.0 * total - sums.sum(axis=2), 2.0 * same - 1.0
    if own:
        total, n = total - same[:, None], n - 1.0
    return as_loss(total / n)


def posteriors(losses: FloatArray, n: float, beta: float) -> FloatArray:
    """Eq. (12), one row a landmark."""
    excess = losses - losses.min(axis=1, keepdims=True)
    with np.errstate(over="ignore", under="ignore"):
        Q = np.exp(-(excess * beta) * np.sqrt(n))
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def candidates(
    family: Family, landmarks: Landmarks, K: int, dtype: Any, rng: np.random.Generator
) -> Projection:
    """cos(w_lk.(x - x_l)), K columns a landmark, in groups."""
    L, d = (int(size) for size in landmarks.X.shape)
    phase = clone(family).set_params(form="phase")
    if getattr(phase, "sampling", None) == "structured":
        operator = phase.draw(L * K, d, rng).operator
        return Projection(operator, "cos", 1.0, -_own_forms(operator, landmarks.X, K))
    if L * K * d * np.dtype(dtype).itemsize > _MOST_BYTES:
        raise ValueError(
            f"{L} landmarks x {K} frequencies x {d} columns take more than 4 GiB: ask for fewer, "
            f'or give the family sampling="structured", whose frequencies take almost none.'
        )
    W, offsets = np.empty((L * K, d), dtype), np.empty(L * K)
    step = max(1, _GROUP // (K * d))
    for first in range(0, L, step):
        points = _dense(landmarks.X[first : first + step])
        here = slice(first * K, (first + len(points)) * K)
        W[here] = phase.draw(len(points) * K, d, rng).operator.matrix
        own = W[here].reshape(len(points), K, d) @ points.astype(np.float64)[:, :, None]
        offsets[here] = -own.ravel()
    return Projection(Dense(W), "cos", 1.0, offsets)


def _own_forms(operator: Any, X: Any, K: int) -> FloatArray:
    """w_lk.x_l of an operator that is no matrix, some landmarks at a time."""
    forms, found = Projection(operator, "identity"), []
    for first in range(0, X.shape[0], 32):
        points = _dense(X[first : first + 32]).astype(np.float64)
        Z = ops.features(points, forms).reshape(len(points), -1, K)
        found.append(Z[np.arange(len(points)), first + np.arange(len(points))])
    return np.concatenate(found).ravel()


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
