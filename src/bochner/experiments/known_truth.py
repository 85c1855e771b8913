"""A distribution whose alignment losses are known exactly, and the worst that a bound can meet.

Class c has chance pi_c and normal rows N(mean_c, sd_c^2 I), so that with
phi_c(w) = E [y = c] exp(i w.x) = pi_c exp(i w.mean_c - sd_c^2 |w|^2 / 2)

    E lambda cos(w.(x - x')) = 2 sum_c |phi_c|^2 - |sum_c phi_c|^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from ..ops import FloatArray


@dataclass(frozen=True, eq=False)
class Mixture:
    """chances (C,), means (C, d), deviations (C,)."""

    chances: FloatArray
    means: FloatArray
    deviations: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """X, n x d, and class indices."""
        y = rng.choice(len(self.chances), n, p=self.chances)
        noise = rng.standard_normal((n, self.means.shape[1]))
        return self.means[y] + self.deviations[y][:, None] * noise, y

    def waves(self, W: FloatArray) -> FloatArray:
        """phi_c(w), N x C."""
        shrunk = np.exp(-0.5 * np.square(W).sum(axis=1)[:, None] * np.square(self.deviations))
        return np.asarray(self.chances * np.exp(1j * (W @ self.means.T)) * shrunk)

    def losses(self, W: FloatArray) -> FloatArray:
        """The alignment loss of each frequency over independent pairs."""
        S = self.waves(W)
        alignment = 2.0 * np.square(np.abs(S)).sum(axis=1) - np.square(np.abs(S.sum(axis=1)))
        return np.asarray(0.5 - 0.5 * alignment)

    def losses_at(self, W: FloatArray, x: FloatArray, label: int) -> FloatArray:
        """The alignment loss of each frequency over pairs with one fixed row."""
        signs = np.where(np.arange(len(self.chances)) == label, 1.0, -1.0)
        turned = np.exp(-1j * (W @ x)) * (self.waves(W) @ signs)
        return np.asarray(0.5 - 0.5 * turned.real)

    def error(self, w: FloatArray, b: float) -> float:
        """P(y is not [w.x + b > 0]) for two classes."""
        score = (self.means @ w + b) / (self.deviations * np.linalg.norm(w))
        return float(self.chances @ special.ndtr(np.array([1.0, -1.0]) * score))


def worst_kl(truth: FloatArray, seen: FloatArray, t: float) -> FloatArray:
    """sup over Q of t (L(Q) - L^(Q)) - KL(Q | uniform), Donsker and Varadhan: one for each draw."""
    return np.asarray(special.logsumexp(t * (truth - seen), axis=-1) - np.log(seen.shape[-1]))


def worst_power(truth: FloatArray, seen: FloatArray, mu: float) -> FloatArray:
    """sup over Q of (L(Q) - L^(Q)) / (D_mu(Q) + 1)^(1/mu), Hoelder: one for each draw."""
    conjugate = mu / (mu - 1.0)
    over = np.maximum(truth - seen, 0.0) ** conjugate
    return np.asarray(over.mean(axis=-1) ** (1.0 / conjugate))
