"""Slow truths: what the library computes, by loops, quadrature and formulas of others.

Nothing here shares code with what it checks, but for `bochner.ops.reference`, the definition of
the four operations. The rooms import this module; it holds nothing that needs pytest.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import integrate, sparse, stats

from bochner.ops import Dense, Projection, reference


def dense(X):
    """Rows as a float64 array, whatever they came as."""
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


# A feature map in float64 with its features in memory, so that project(X, R) is phi.T @ R,
# gram(X, w) is phi.T @ (w[:, None] * phi) and map_rows(X, T) is phi @ T.


def features(fm, X):
    return reference.features(dense(X), fm.projection) * fm.weights


def spelled_out(p: Projection) -> Projection:
    """The projection with every frequency and offset written down."""
    offsets = np.zeros(p.n_forms) if p.offsets is None else p.offsets
    return Projection(Dense(p.operator.to_matrix()), p.activation, p.scale, offsets)


def moved(p: Projection, dW=0.0, db=0.0) -> Projection:
    return Projection(Dense(p.operator.matrix + dW), p.activation, p.scale, p.offsets + db)


def derivative(fm, X, h=1e-6):
    """d phi_m(x_i) / d z by central differences, n x M: moving an offset moves z."""
    p = spelled_out(fm.projection)
    up, down = (reference.features(dense(X), moved(p, db=s)) for s in (h, -h))
    return fm.weights * (up - down) / (2 * h)


def pull(fm, X, R, T, h=1e-6):
    """The gradient of sum_im (R T')_im s_m phi_m(x_i), an atom's parameter at a time."""
    p, X, C = spelled_out(fm.projection), dense(X), R @ (fm.weights[:, None] * T).T
    W = p.operator.matrix

    def slope(dW, db):
        values = [np.sum(C * reference.features(X, moved(p, s * dW, s * db))) for s in (h, -h)]
        return (values[0] - values[1]) / (2 * h)

    gradient = {"frequencies": np.zeros(W.shape), "offsets": np.zeros(len(W))}
    for f in range(len(W)):
        one = np.eye(len(W))[f]
        gradient["offsets"][f] = slope(0.0 * W, one)
        for j in range(W.shape[1]):
            gradient["frequencies"][f, j] = slope(np.outer(one, np.eye(W.shape[1])[j]), 0.0 * one)
    return gradient


# Exact kernels of two rows.


@cache
def bochner(law, distance):
    """The characteristic function of a symmetric law on the line: Bochner's theorem by quadrature.

    Along any line a kernel on R^d is the characteristic function of the marginal law of w.
    """
    if distance == 0:
        return 1.0
    value, _ = integrate.quad(lambda t: 2 * law.pdf(t), 0, np.inf, weight="cos", wvar=distance)
    return value


def arc_cosine(order, x, y):
    """2 E (w.x)_+^n (w.y)_+^n in the plane of x and y: polar coordinates, then quadrature."""
    a, b = np.linalg.norm(x), np.linalg.norm(y)
    if a == 0 or b == 0:
        return 0.0
    theta = np.arccos(np.clip(x @ y / (a * b), -1, 1))
    radial = (a * b) ** order * 2.0**order * [1, 1, 2][order]  # int r^(2n+1) exp(-r^2/2) dr
    angular, _ = integrate.quad(
        lambda t: np.cos(t) ** order * np.cos(t - theta) ** order, theta - np.pi / 2, np.pi / 2
    )
    return radial * angular / np.pi


def pairwise(kernel, X, Y=None):
    """A kernel of two rows on all pairs of rows."""
    return np.array([[kernel(x, y) for y in dense(X if Y is None else Y)] for x in dense(X)])


@cache
def law_of_coordinate(name, nu=None):
    """The law of one coordinate of a frequency in units of the bandwidth, by class of family."""
    match name:
        case "Gaussian":
            return stats.norm()
        case "Laplace":
            return stats.cauchy()
        case "Cauchy":
            return stats.laplace()
        case "Matern":
            return stats.t(2 * nu)


# Length scales, with weights as repeated rows.


def repeated(X, weight):
    """Rows repeated by their whole-numbered weights."""
    return np.repeat(dense(X), np.asarray(weight).astype(int), axis=0)


def norm(x, metric):
    return np.abs(x).sum() if metric == "manhattan" else np.sqrt(np.sum(x**2))


def median_distance(X, metric="euclidean"):
    """The median distance of all pairs of rows that differ."""
    rows = dense(X)
    pairs = [norm(rows[i] - rows[j], metric) for i in range(len(rows)) for j in range(i)]
    return np.median([s for s in pairs if s > 0])


def neighbour_distance(X, k=50, metric="euclidean"):
    """The mean distance to the k-th nearest other row (to the farthest where there are fewer)."""
    rows = dense(X)
    found = []
    for i, x in enumerate(rows):
        others = sorted(norm(x - y, metric) for j, y in enumerate(rows) if j != i)
        found.append(others[min(k, len(others)) - 1])
    return np.mean(found)
