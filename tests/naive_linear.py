"""Slow truths of linear heads: objectives, optima and leave-one-out, by definition.

Nothing here shares code with `bochner.linear`. Shapes: phi n x M, Y n x k, coef C x M, w (n,).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp


def ridge_objective(phi, Y, w, alpha, coef, intercept):
    residual = Y - phi @ coef.T - intercept
    return np.sum(w[:, None] * residual**2) + np.sum(np.atleast_1d(alpha) @ coef**2)


def ridge(phi, Y, w, alpha, *, fit_intercept=True):
    """(coef, intercept): least squares on [sqrt(w) phi; sqrt(alpha) I] in long double.

    Modified Gram-Schmidt with the targets as further columns is backward stable.
    """
    phi, Y, w = (np.asarray(a, dtype=np.longdouble) for a in (phi, Y, w))
    mean_x = w @ phi / w.sum() if fit_intercept else np.zeros(phi.shape[1])
    mean_y = w @ Y / w.sum() if fit_intercept else np.zeros(Y.shape[1])
    root = np.sqrt(w)[:, None]
    A = np.concatenate(
        [root * (phi - mean_x), np.sqrt(np.longdouble(alpha)) * np.eye(phi.shape[1])]
    )
    B = np.concatenate([root * (Y - mean_y), np.zeros((phi.shape[1], Y.shape[1]))])
    M = A.shape[1]
    R, Z = np.zeros((M, M), np.longdouble), np.zeros((M, B.shape[1]), np.longdouble)
    for j in range(M):
        R[j, j] = np.sqrt(A[:, j] @ A[:, j])
        q = A[:, j] / R[j, j]
        R[j, j + 1 :] = q @ A[:, j + 1 :]
        A[:, j + 1 :] -= np.outer(q, R[j, j + 1 :])
        Z[j] = q @ B
        B -= np.outer(q, Z[j])
    theta = np.zeros_like(Z)
    for j in reversed(range(M)):
        theta[j] = (Z[j] - R[j, j + 1 :] @ theta[j + 1 :]) / R[j, j]
    coef = theta.T
    return coef.astype(float), (mean_y - coef @ mean_x).astype(float)


def leave_one_out(phi, y, copies, alpha, *, fit_intercept=True):
    """Mean squared error of predicting each copy of each row from all other copies."""
    phi, y = np.repeat(phi, copies, axis=0), np.repeat(y, copies)
    errors = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        ones = np.ones(rest.sum())
        coef, b = ridge(phi[rest], y[rest, None], ones, alpha, fit_intercept=fit_intercept)
        errors.append(y[i] - phi[i] @ coef[0] - b[0])
    return np.mean(np.square(errors))


def signs(y, C):
    """s_ic of a row's class against the rest, n x C."""
    return np.where(y[:, None] == (np.array([1]) if C == 1 else np.arange(C)), 1.0, -1.0)


def logistic_loss(Z, y):
    if Z.shape[1] == 1:
        return np.logaddexp(0.0, -signs(y, 1)[:, 0] * Z[:, 0])
    return logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]


def hinge_loss(Z, y):
    return np.sum(np.maximum(0.0, 1.0 - signs(y, Z.shape[1]) * Z) ** 2, axis=1)


def risk(loss, phi, y, w, alpha, coef, intercept):
    """sum_i w_i l_i + alpha / 2 |theta|^2, by definition."""
    phi = np.asarray(phi, dtype=np.float64)
    return w @ loss(phi @ coef.T + intercept, y) + 0.5 * alpha * np.sum(coef**2)


def slopes(loss, phi, y, w, alpha, coef, intercept, h=1e-6):
    """The gradient of the risk by central differences, C x (M + 1)."""
    T = np.column_stack([coef, intercept])
    found = np.zeros_like(T)
    for at in np.ndindex(*T.shape):
        ends = []
        for sign in (1, -1):
            moved = T.copy()
            moved[at] += sign * h
            ends.append(risk(loss, phi, y, w, alpha, moved[:, :-1], moved[:, -1]))
        found[at] = (ends[0] - ends[1]) / (2 * h)
    return found


def best_risk(loss, phi, y, w, alpha, start):
    """The least risk that BFGS finds from a point; it needs no gradient of ours."""
    shape = start.shape

    def value(flat):
        T = flat.reshape(shape)
        return risk(loss, phi, y, w, alpha, T[:, :-1], T[:, -1])

    found = minimize(value, start.ravel(), method="BFGS", options={"gtol": 1e-9, "maxiter": 500})
    return min(value(start.ravel()), found.fun)
