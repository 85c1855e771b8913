"""Slow truths of problem (9): one convex program over (q, u, b, xi), and sums over all pairs."""

from __future__ import annotations

import numpy as np
from scipy import optimize


def joint_value(phi, Y, w, C, rho, k):
    """min over q in the ball of the sum of the SVM values of the columns of Y (n x K, -1 and +1).

        sum_m |u_m|^2 / (2 q_m) + sum_c sum_i C_i w_i xi_ic,   xi_ic >= 1 - Y_ic (phi_i'u_c + b_c)

    As a program for a general solver; q stays above 1e-9.
    """
    n, N = phi.shape
    K = Y.shape[1]
    cost = np.repeat((C * w)[:, None], K, axis=1).ravel()

    def parts(x):
        q, u, b = x[:N], x[N : N + N * K].reshape(N, K), x[N + N * K : N + N * K + K]
        return q, u, b, x[N + N * K + K :]

    def value(x):
        q, u, _, xi = parts(x)
        return np.sum(u**2 / (2 * q[:, None])) + cost @ xi

    def gradient(x):
        q, u, b, _ = parts(x)
        of_q = -np.sum(u**2, axis=1) / (2 * q**2)
        return np.concatenate([of_q, (u / q[:, None]).ravel(), np.zeros(len(b)), cost])

    margins = np.zeros((n * K, N + N * K + K + n * K))
    for i in range(n):
        for c in range(K):
            row = i * K + c
            margins[row, N + np.arange(N) * K + c] = Y[i, c] * phi[i]
            margins[row, N + N * K + c] = Y[i, c]
            margins[row, N + N * K + K + row] = 1.0
    total = np.concatenate([np.ones(N), np.zeros(margins.shape[1] - N)])
    constraints = [
        {"type": "ineq", "fun": lambda x: margins @ x - 1, "jac": lambda x: margins},
        {"type": "eq", "fun": lambda x: total @ x - 1, "jac": lambda x: total},
        {"type": "ineq", "fun": lambda x: 1 + rho - np.mean((N * parts(x)[0]) ** k)},
    ]
    start = np.concatenate([np.full(N, 1 / N), np.zeros(N * K + K), np.ones(n * K)])
    bounds = [(1e-9, 1)] * N + [(None, None)] * (N * K + K) + [(0, None)] * (n * K)
    found = optimize.minimize(
        value, start, jac=gradient, bounds=bounds, constraints=constraints, method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-13},
    )  # fmt: skip
    return found.fun


def dual_value(phi, Y, w, a, best):
    """sum_ic w_i a_ic - 1/2 max over q of sum_ij sum_c ... q_m phi_m(i) phi_m(j), pair by pair."""
    n, N = phi.shape
    v = np.zeros(N)
    for c in range(Y.shape[1]):
        r = w * Y[:, c] * a[:, c]
        for i in range(n):
            for j in range(n):
                v += r[i] * r[j] * phi[i] * phi[j]
    return float(np.sum(w[:, None] * a) - 0.5 * best(v))


def svm_value(phi, y, w, C, q):
    """The value of the soft-margin SVM of one kernel, from scikit-learn's own dual weights."""
    from sklearn.svm import SVC

    G = (phi * q) @ phi.T
    model = SVC(C=C, kernel="precomputed", tol=1e-9).fit(G, y, sample_weight=w)
    r = np.zeros(len(y))
    r[model.support_] = model.dual_coef_[0]
    return float(np.abs(r).sum() - 0.5 * r @ G @ r)
