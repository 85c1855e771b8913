"""Slow truths of the margin game: projections by alternation and potentials row by row."""

from __future__ import annotations

import numpy as np


def dykstra(alpha, y, C, w, rounds=20_000):
    """The projection onto {0 <= a <= C, sum w y a = 0} in the w-norm, by Dykstra's algorithm."""
    a, p = np.array(alpha, dtype=np.float64), 0.0
    for _ in range(rounds):
        a = a - y * (w @ (y * a)) / w.sum()
        b = np.clip(a + p, 0.0, C)
        p = a + p - b
        a = b
    return a


def potential(X, r, w):
    """|sum_i r_i exp(i w.x_i)|^2."""
    return abs(sum(ri * np.exp(1j * (x @ w)) for x, ri in zip(X, r, strict=True))) ** 2


def slope(f, w, h=1e-5):
    """The gradient of f at w by central differences."""
    steps = h * np.eye(len(w))
    return np.array([(f(w + e) - f(w - e)) / (2 * h) for e in steps])
