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


def printed_f_divergence(D, n, mu, delta):
    """The slack of Theorem 4 as printed, false for mu > 2."""
    base = (1 / (2 * np.sqrt(n))) ** (mu - 1) if mu <= 2 else (1 / (4 * n)) ** (1 - 1 / mu)
    return base * (D + 1) ** (1 / mu) * (1 / delta) ** (1 - 1 / mu)


class PairWorld:
    """Five kinds of rows, C labels with known chances, K hypotheses z_m(x) z_m(x') with |z| <= 1.

    The truth is a finite sum, and a draw of n rows is a draw of counts.
    """

    def __init__(self, K=25, n_classes=2, seed=1, signs=False):
        rng = np.random.default_rng(seed)
        self.z = rng.uniform(-1, 1, (K, 5))
        if signs:
            self.z = np.sign(self.z)
        chances = rng.dirichlet(np.ones(n_classes), 5).T * rng.dirichlet(np.full(5, 3.0))
        self.chances = chances  # C x 5, P(class, kind)
        self.C = n_classes
        self.truth = 0.5 - 0.5 * self._alignment(chances @ self.z.T)

    @staticmethod
    def _alignment(sums):
        """sum over pairs of lambda h from sums by class, ... x C x K."""
        return 2 * (sums**2).sum(axis=-2) - sums.sum(axis=-2) ** 2

    def draw(self, n, draws, rng):
        """Counts, draws x C x 5."""
        flat = rng.multinomial(n, self.chances.ravel(), size=draws)
        return flat.reshape(draws, self.C, 5)

    def losses(self, counts):
        """Eq. (9) for every hypothesis, draws x K."""
        n = counts.sum(axis=(1, 2))[:, None]
        own = counts.sum(axis=1) @ (self.z**2).T
        total = self._alignment(counts @ self.z.T) - own
        return 0.5 - 0.5 * total / (n * (n - 1))

    def own_losses(self, counts, kind, label):
        """Eq. (10) for a fixed row of this kind and class against the rows in the counts."""
        return 0.5 - 0.5 * self._with(counts / counts.sum(axis=(1, 2))[:, None, None], kind, label)

    def own_truth(self, kind, label):
        return 0.5 - 0.5 * self._with(self.chances[None], kind, label)[0]

    def _with(self, shares, kind, label):
        sign = np.where(np.arange(self.C) == label, 1.0, -1.0)
        return np.einsum("rck,c,mk->rm", shares, sign, self.z) * self.z[:, kind]


def worst_kl(truth, seen, t):
    """sup over Q of t (L(Q) - L^(Q)) - KL(Q | uniform): Donsker and Varadhan."""
    return np.log(np.mean(np.exp(t * (truth - seen)), axis=1))


def worst_power(truth, seen, mu):
    """sup over Q of (L(Q) - L^(Q)) / (D_mu(Q) + 1)^(1/mu): Hoelder, attained."""
    conjugate = mu / (mu - 1)
    return np.mean(np.maximum(truth - seen, 0) ** conjugate, axis=1) ** (1 / conjugate)
