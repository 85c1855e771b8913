"""Slow truths of the sphere: textbook formulas in angles, and quadrature on the sphere."""

from __future__ import annotations

import numpy as np
from scipy import special


def angles(x):
    """theta_1 of (x_1, x_2), then theta_k with cos(theta_k) = x_k / |(x_1 .. x_k)|."""
    found = [np.arctan2(x[1], x[0])]
    for k in range(3, len(x) + 1):
        found.append(np.arctan2(np.linalg.norm(x[: k - 1]), x[k - 1]))
    return found


def factor(upper, lower, k, theta):
    """sin^lower C_{upper-lower}^(lower + (k-2)/2)(cos), normalised under sin^(k-2) dtheta."""
    n, lam = upper - lower, lower + (k - 2) / 2
    log_norm = np.log(np.pi) + (1 - 2 * lam) * np.log(2) + special.gammaln(n + 2 * lam)
    log_norm -= special.gammaln(n + 1) + np.log(n + lam) + 2 * special.gammaln(lam)
    value = special.eval_gegenbauer(n, lam, np.cos(theta))
    return np.sin(theta) ** lower * value * np.exp(-log_norm / 2)


def harmonic(chain, x):
    """Y of one row; chain is l_{d-1}, ..., l_2, m (on the circle l, m)."""
    m, theta = chain[-1], angles(x)
    wave = np.cos(m * theta[0]) if m >= 0 else np.sin(-m * theta[0])
    value = wave / np.sqrt(2 * np.pi if m == 0 else np.pi)
    degrees = [abs(m), *chain[-2::-1]]  # l_1 = |m|, l_2, ..., l_{d-1}
    for k in range(3, len(x) + 1):
        value *= factor(degrees[k - 2], degrees[k - 3], k, theta[k - 2])
    return value


def polynomial(degree, d, t):
    """Gegenbauer's polynomial of S^(d-1) with P(1) = 1."""
    if d == 2:
        return special.eval_chebyt(degree, t)
    lam = (d - 2) / 2
    return special.eval_gegenbauer(degree, lam, t) / special.eval_gegenbauer(degree, lam, 1.0)


def count(d, degree):
    """Harmonic polynomials of a degree: all of them, less r^2 times those two degrees below."""

    def monomials(n):
        return special.comb(d + n - 1, n, exact=True) if n >= 0 else 0

    return monomials(degree) - monomials(degree - 2)


def quadrature(degree):
    """Points and weights on S^2 that integrate polynomials of this degree."""
    t, w = special.roots_legendre(degree // 2 + 1)
    phi = np.arange(degree + 1) * 2 * np.pi / (degree + 1)
    T, P = (grid.ravel() for grid in np.meshgrid(t, phi, indexing="ij"))
    s = np.sqrt(1 - T**2)
    weights = np.repeat(w, len(phi)) * 2 * np.pi / len(phi)
    return np.stack([s * np.cos(P), s * np.sin(P), T], axis=1), weights


def kernel(max_degree, x, y):
    """The exact kernel of the family: all harmonics with the same weight, one on the diagonal."""
    d, t = len(x), np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1, 1)
    counts = [count(d, degree) for degree in range(max_degree + 1)]
    values = [n * polynomial(degree, d, t) for degree, n in enumerate(counts)]
    return sum(values) / sum(counts)
