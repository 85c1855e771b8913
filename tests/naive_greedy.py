"""Greedy selection the slow way: least squares from scratch at every step, gradients row by row."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy import special


def units(X, learner):
    """Columns in the units of the fit: less their means, divided by their deviations."""
    Z = X - X.mean(axis=0) if learner.fit_intercept else X
    return Z / np.sqrt(np.mean(Z**2, axis=0)) if learner.normalise else Z


def pursuit(X, y, M, learner):
    """Orthogonal matching pursuit by least squares on all columns so far."""
    Z, n, S = units(X, learner), len(X), []
    mean = y.mean(axis=0) if learner.fit_intercept else 0.0
    alpha = 0.0 if learner.alpha == "auto" else learner.alpha
    residual = y - mean
    while len(S) < M:
        g = Z.T @ residual.reshape(n, -1)
        scores = np.sqrt((g**2).sum(axis=1))
        scores[S] = -np.inf
        S += np.argsort(-scores, kind="stable")[: min(learner.per_step, M - len(S))].tolist()
        A = Z[:, S].T @ Z[:, S] / n + 0.5 * alpha * np.eye(len(S))
        theta = np.linalg.solve(A, Z[:, S].T @ (y - mean) / n)
        residual = y - mean - Z[:, S] @ theta
    return SimpleNamespace(columns=S, predicted=y - residual)


def slopes(Z, y, kind, delta=None):
    """dl/dz, n x C."""
    if kind == "regression":
        e = Z - y.reshape(len(Z), -1)
        return 2.0 * (e if delta is None else np.clip(e, -delta, delta))
    if Z.shape[1] == 1:
        return (special.expit(Z[:, 0]) - (y > 0))[:, None]
    return special.softmax(Z, axis=1) - np.eye(Z.shape[1])[y]


def row_losses(Z, y, kind):
    if kind == "regression":
        return ((Z - y.reshape(len(Z), -1)) ** 2).sum(axis=1)
    if Z.shape[1] == 1:
        return np.log1p(np.exp(-(2 * y - 1) * Z[:, 0]))
    return special.logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]


def _at(model, X, y, i):
    """Columns in units, the scores of the i-th model, its coefficients in units, and dl/dz."""
    learner, path = model.learner, model.selection_.path
    S, size = model.selection_.stats["columns"], int(path.sizes[i])
    fm = model.feature_map_.truncate(size)
    Z = fm(X) @ path.coefs[i].T + path.intercepts[i]
    theta = path.coefs[i] / np.sqrt(len(S))
    delta = None
    if learner.loss == "huber":
        Y = y.reshape(len(X), -1)
        delta = 1.345 / 0.6745 * np.median(np.abs(Y - np.median(Y, axis=0)), axis=0)
    return theta, slopes(Z, y, model.task, delta)


def gradient(model, X, y, i):
    """Of the penalised mean risk by coefficients (in units) and intercept, C x (size + 1)."""
    learner = model.learner
    theta, R = _at(model, X, y, i)
    S = model.selection_.stats["columns"][: theta.shape[1]]
    scale = X.std(axis=0) if learner.fit_intercept else np.sqrt(np.mean(X**2, axis=0))
    alpha = 1e-4 * (model.task == "classification") if learner.alpha == "auto" else learner.alpha
    g = R.T @ (X / scale)[:, S] / len(X)
    g = g + alpha * (np.tanh(theta) if learner.penalty == "log_cosh" else theta)
    edge = R.mean(axis=0)[:, None] if learner.fit_intercept else np.zeros((len(g), 1))
    return np.concatenate([g, edge], axis=1)


def scores(model, X, y, i):
    """What the candidates after the i-th model are ranked by."""
    _, R = _at(model, X, y, i)
    scale = X.std(axis=0) if model.learner.fit_intercept else np.sqrt(np.mean(X**2, axis=0))
    g = R.T @ (X / scale) / len(X)
    return np.sqrt((g**2).sum(axis=0))
