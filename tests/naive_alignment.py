"""Slow truths of alignment: the problem as printed, its dual bound, and label kernels row by row.

Nothing here shares code with `bochner.learners.alignment`. Everything is in long double.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

L = np.longdouble


def divergence(q, k):
    """mean((N q)^k) - 1."""
    return np.mean((len(q) * np.asarray(q, L)) ** L(k)) - 1


def depth(q, v):
    """max v - q'v, without rounding max v away."""
    v = np.asarray(v, L)
    return np.asarray(q, L) @ (v.max() - v)


def best_depth(v, rho, k):
    """max v minus the dual bound at its best eta: no feasible q has less depth than this."""
    v, k, rho = np.asarray(v, L), L(k), L(rho)
    x, N, p = v.max() - v, L(len(v)), 1 / (k - 1)

    def rho_at(h):
        a = np.maximum(h - x, 0) / h
        return N ** (k - 1) * np.sum(a ** (p + 1)) / np.sum(a**p) ** k - 1

    low, high = x.max() * L(10) ** -40, x.max() * L(10) ** 8
    for _ in range(130):
        h = np.sqrt(low * high)
        low, high = (h, high) if rho_at(h) > rho else (low, h)
    conjugate = k / (k - 1)
    a = np.maximum(high - x, 0) / high
    return high * (1 - (1 + rho) ** (1 / k) * np.mean(a**conjugate) ** (1 / conjugate))


def dual_depth(v, rho, k, eta):
    """max v minus the dual bound at eta."""
    v, k = np.asarray(v, L), L(k)
    a, conjugate = np.maximum(v - L(eta), 0), k / (k - 1)
    largest = a.max()
    mean = np.mean((a / largest) ** conjugate) ** (1 / conjugate)
    return v.max() - L(eta) - (1 + L(rho)) ** (1 / k) * largest * mean


def searched_weights(v, rho, k):
    """The weights by a general solver, from the uniform ones."""
    N = len(v)
    scaled = (v - v.max()) / np.ptp(v)
    found = minimize(
        lambda q: -q @ scaled,
        np.full(N, 1 / N),
        jac=lambda q: -scaled,
        bounds=[(0, 1)] * N,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: rho + 1 - np.mean(np.abs(N * q) ** k)},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def class_kernel(y):
    """S_ij = 1 in the same class, -1 otherwise."""
    return np.array([[1.0 if a == b else -1.0 for a in y] for b in y])


def amount_kernel(Y, centred):
    """The mean over targets of products, each target scaled to [-1, 1]."""
    S = np.zeros((len(Y), len(Y)))
    for t in Y.reshape(len(Y), -1).T:
        t = t - t.mean() if centred else t
        t = t / np.abs(t).max()
        S += np.outer(t, t)
    return S / Y.reshape(len(Y), -1).shape[1]


def centred(S):
    """H S H, H = I - 1 1' / n."""
    H = np.eye(len(S)) - 1 / len(S)
    return H @ S @ H


def scores(phi, S):
    """v_m = sum_ij S_ij phi_m(x_i) phi_m(x_j), a feature at a time."""
    return np.array([column @ S @ column for column in phi.T])
