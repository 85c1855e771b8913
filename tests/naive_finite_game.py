"""Slow truths of the game over finitely many columns: linear programs, and bisection."""

from __future__ import annotations

import numpy as np
from scipy import optimize


def hinge_of_norm(phi, y, w, C, tau):
    """min over |u|_1 <= tau and b of C sum_i w_i [1 - y_i (phi_i'u + b)]_+: a linear program."""
    n, N = phi.shape
    # variables: u+, u-, b+, b-, xi
    cost = np.concatenate([np.zeros(2 * N + 2), C * w])
    signed = y[:, None] * phi
    margins = np.hstack([-signed, signed, -y[:, None], y[:, None], -np.eye(n)])
    norm = np.concatenate([np.ones(2 * N), np.zeros(2 + n)])
    A, b = np.vstack([margins, norm]), np.concatenate([-np.ones(n), [tau]])
    return optimize.linprog(cost, A_ub=A, b_ub=b, method="highs").fun


def hinge_game(phi, y, w, C):
    """min over q, max over a of the normalised game of the l1-SVM, columns for themselves."""

    def at(log_tau):
        tau = np.exp(log_tau)
        return 0.5 * tau**2 + hinge_of_norm(phi, y, w, C, tau)

    grid = np.linspace(-5, 4, 19)
    best = grid[int(np.argmin([at(t) for t in grid]))]
    found = optimize.minimize_scalar(
        at, bounds=(best - 0.6, best + 0.6), method="bounded", options={"xatol": 1e-7}
    )
    return found.fun


def prox(z, group, size, tau, rounds=20000):
    """argmin of tau/2 (sum_g sqrt(n_g) |u_g|)^2 + |u - z|^2 / 2 by its fixed point in s = |u|."""
    low, high = (
        0.0,
        float(sum(np.sqrt(size[g]) * np.linalg.norm(z[group == g]) for g in set(group))),
    )

    def shrunk(s):
        u = np.zeros_like(z)
        for g in set(group):
            length = np.linalg.norm(z[group == g])
            if length > tau * np.sqrt(size[g]) * s:
                u[group == g] = z[group == g] * (1 - tau * np.sqrt(size[g]) * s / length)
        return u

    def norm(u):
        return sum(np.sqrt(size[g]) * np.linalg.norm(u[group == g]) for g in set(group))

    for _ in range(200):
        s = (low + high) / 2
        low, high = (s, high) if norm(shrunk(s)) > s else (low, s)
    return shrunk((low + high) / 2)
