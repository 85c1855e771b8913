"""Slow truths: what the library computes, by loops, quadrature and formulas of others.

Nothing here shares code with what it checks, but for `bochner.ops.reference`, the definition of
the four operations. The rooms import this module; it holds nothing that needs pytest.
"""

from __future__ import annotations

import numpy as np
from scipy import integrate, sparse, stats

from bochner.ops import Dense, Projection, reference


def dense(X):
    """Rows as a float64 array, whatever they came as."""
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


# The four operations of a feature map, in float64 and with the features in memory.


def features(fm, X):
    return reference.features(dense(X), fm.projection) * fm.weights


def project(fm, X, R):
    return features(fm, X).T @ R


def gram(fm, X, weights=None):
    phi = features(fm, X)
    return phi.T @ (phi if weights is None else weights[:, None] * phi)


def map_rows(fm, X, T):
    return features(fm, X) @ T


def moved(p: Projection, dW=0.0, db=0.0) -> Projection:
    """The projection with its frequencies and offsets moved."""
    offsets = np.zeros(p.n_forms) if p.offsets is None else p.offsets
    return Projection(Dense(p.operator.to_matrix() + dW), p.activation, p.scale, offsets + db)


def derivative(fm, X, h=1e-6):
    """d phi_m(x_i) / d z by central differences, n x M: moving an offset moves z."""
    up, down = (reference.features(dense(X), moved(fm.projection, db=s)) for s in (h, -h))
    return fm.weights * (up - down) / (2 * h)


def pull(fm, X, R, T, h=1e-6):
    """The gradient of sum_im (R T')_im s_m phi_m(x_i), an atom's parameter at a time."""
    p, X, C = fm.projection, dense(X), R @ (fm.weights[:, None] * T).T
    W = p.operator.to_matrix()

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


#: The law of one coordinate of a frequency in units of the bandwidth.
COORDINATE = {
    "Gaussian": lambda family: stats.norm(),
    "Laplace": lambda family: stats.cauchy(),
    "Cauchy": lambda family: stats.laplace(),
    "Matern": lambda family: stats.t(2 * family.nu),
}


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
