"""Losses of the scores Z (n x C), their derivatives and curvatures; pure functions of rows.

Symbols: y (n,) class indices (or n x C targets), w (n,) weights, R = w dl/dZ (n x C),
D_ck = w d2l/dZ_c dZ_k (n,), H_b = sum_i D (C x C), the Hessian by the intercepts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..ops import FloatArray
from .model import softmax


class Loss(ABC):
    """A convex, differentiable loss of the scores of a row."""

    #: Do the scores of different columns meet in the loss (off-diagonal curvature)?
    coupled = False

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns

    @abstractmethod
    def evaluate(
        self, Z: FloatArray, y: FloatArray, w: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """sum_i w_i l_i, R, H_b."""

    @abstractmethod
    def curvature(self, Z: FloatArray, y: FloatArray, w: FloatArray, c: int, k: int) -> FloatArray:
        """D_ck, one number a row."""


class BinaryLogistic(Loss):
    """l = log(1 + exp(-s z)), s = +1 for class 1 and -1 for class 0."""

    def __init__(self) -> None:
        super().__init__(1)

    def evaluate(
        self, Z: FloatArray, y: FloatArray, w: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        s = np.where(y > 0, 1.0, -1.0)
        margin = s * Z[:, 0]
        t = np.exp(-np.abs(margin))
        losses = np.log1p(t) - np.minimum(margin, 0.0)
        p = 1.0 / (1.0 + t)
        q = t * p
        wrong = np.where(margin < 0, p, q)  # the probability of the other class
        R = -(w * s * wrong)[:, None]
        H = np.array([[w @ (p * q)]])
        return float(w @ losses), R, H

    def curvature(self, Z: FloatArray, y: FloatArray, w: FloatArray, c: int, k: int) -> FloatArray:
        t = np.exp(-np.abs(Z[:, 0]))
        return np.asarray(w * t / (1.0 + t) ** 2)


class Multinomial(Loss):
    """l = log sum_c exp(z_c) - z_y."""

    coupled = True

    def evaluate(
        self, Z: FloatArray, y: FloatArray, w: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        rows = np.arange(len(y))
        Z = Z - Z.max(axis=1, keepdims=True)
        E = np.exp(Z)
        total = E.sum(axis=1)
        P = E / total[:, None]
        R = w[:, None] * P
        H = np.diag(R.sum(axis=0)) - R.T @ P
        value = float(w @ (np.log(total) - Z[rows, y]))
        R[rows, y] -= w
        return value, R, H

    def curvature(self, Z: FloatArray, y: FloatArray, w: FloatArray, c: int, k: int) -> FloatArray:
        P = softmax(Z)
        return np.asarray(w * P[:, c] * ((c == k) - P[:, k]))


class SquaredHingeLoss(Loss):
    """l = sum_c max(0, 1 - s_c z_c)^2, s_c = +1 for the row's class and -1 for the rest."""

    def evaluate(
        self, Z: FloatArray, y: FloatArray, w: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        S = self._signs(y)
        slack = np.maximum(1.0 - S * Z, 0.0)
        H = np.diag(2.0 * (w @ (slack > 0)))
        value = float(w @ np.einsum("ic,ic->i", slack, slack))
        return value, -2.0 * w[:, None] * S * slack, H

    def curvature(self, Z: FloatArray, y: FloatArray, w: FloatArray, c: int, k: int) -> FloatArray:
        active = self._signs(y)[:, c] * Z[:, c] < 1.0
        return np.asarray(2.0 * w * active)

    def _signs(self, y: FloatArray) -> FloatArray:
        classes = np.array([1]) if self.n_columns == 1 else np.arange(self.n_columns)
        return np.asarray(2.0 * (y[:, None] == classes) - 1.0)


class Squared(Loss):
    """l = sum_c (z_c - y_c)^2: the ridge objective, to check and refine a solution."""

    def evaluate(
        self, Z: FloatArray, y: FloatArray, w: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        E = Z - y.reshape(len(Z), -1)
        R = 2.0 * w[:, None] * E
        return float(w @ np.einsum("ic,ic->i", E, E)), R, 2.0 * w.sum() * np.eye(self.n_columns)

    def curvature(self, Z: FloatArray, y: FloatArray, w: FloatArray, c: int, k: int) -> FloatArray:
        return 2.0 * w
