"""Slow truths of the pseudo-posterior: losses pair by pair, as printed; bounds as printed."""

from __future__ import annotations

import itertools

import numpy as np

L = np.longdouble


def class_similarity(y):
    """1 within a class, -1 between."""
    return np.where(np.equal.outer(y, y), 1.0, -1.0)


def amount_similarity(y):
    """The cosine of the angle between two targets, averaged over targets."""
    y = np.asarray(y, float).reshape(len(y), -1)
    theta = np.arctan((y - y.mean(axis=0)) / y.std(axis=0))
    return np.cos(theta[:, None] - theta[None]).mean(axis=2)


def second_order(X, similarity, w):
    """Eq. (9): the mean loss over all ordered pairs of different rows."""
    n, total = len(X), L(0)
    for i, j in itertools.permutations(range(n), 2):
        total += (1 - L(similarity[i, j]) * np.cos(L(w @ (X[i] - X[j])))) / 2
    return float(total / (n * (n - 1)))


def first_order(X, similarity, w, i):
    """Eq. (10): the mean loss over the pairs of row i with the others."""
    others = [j for j in range(len(X)) if j != i]
    terms = [(1 - similarity[i, j] * np.cos(w @ (X[i] - X[j]))) / 2 for j in others]
    return float(np.mean(terms))


def posterior(losses, n, beta):
    """Eq. (19) in long double."""
    x = np.asarray(losses, L)
    Q = np.exp(-L(beta) * np.sqrt(L(n)) * (x - x.min()))
    return (Q / Q.sum()).astype(float)
