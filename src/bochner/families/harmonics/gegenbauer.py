"""Gegenbauer polynomials of the sphere S^(d-1), and kernels expanded in them.

P_l is the polynomial of degree l orthogonal on [-1, 1] under (1 - t^2)^((d-3)/2), P_l(1) = 1:
Chebyshev's at d = 2, Legendre's at d = 3. By the addition theorem, for orthonormal harmonics,

    P_l(x.x') = |S^(d-1)| / N(d, l)  sum_m Y_lm(x) Y_lm(x').                          (addition)

A kernel k(x.x') = sum_l a_l N(d, l) P_l(x.x') has by Funk and Hecke

    a_l = |S^(d-2)| / |S^(d-1)|  int_0^pi k(cos theta) P_l(cos theta) sin(theta)^(d-2) dtheta,

which are the eigenvalues of the kernel under the uniform distribution on the sphere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ...ops.projection import FloatArray
from ..arc_cosine import ArcCosine
from ..base import Family
from ..cauchy import Cauchy
from ..gaussian import Gaussian
from ..laplace import Laplace
from ..matern import Matern
from .indices import Indices, count
from .sphere import inner_products_on_sphere

#: Nodes of the quadrature: the first try, and where it gives up.
FIRST, LAST = 64, 2**14
#: Two quadratures have to agree to this, relative to k(1).
AGREEMENT = 1e-12


def polynomials(t: FloatArray, d: int, max_degree: int) -> FloatArray:
    """P_l(t) of degree l = 0 .. max_degree, stacked.

    (l + d - 2) P_{l+1} = (2l + d - 2) t P_l - l P_{l-1}.
    """
    P = np.ones((max_degree + 1, *np.shape(t)))
    for degree in range(max_degree):
        before = P[degree - 1] if degree else 0.0
        rise = t if degree == 0 else (2 * degree + d - 2) / (degree + d - 2) * t * P[degree]
        P[degree + 1] = rise - degree / max(degree + d - 2, 1) * before
    return P


def series(coefficients: FloatArray, d: int, t: FloatArray) -> FloatArray:
    """sum_l c_l P_l(t), without all P_l in memory."""
    total = np.full(np.shape(t), float(coefficients[0]))
    before, P = np.zeros(np.shape(t)), np.ones(np.shape(t))
    for degree in range(len(coefficients) - 1):
        slope = 1.0 if degree == 0 else (2 * degree + d - 2) / (degree + d - 2)
        before, P = P, slope * t * P - degree / max(degree + d - 2, 1) * before
        total += coefficients[degree + 1] * P
    return total


@dataclass(frozen=True, eq=False)
class Expansion:
    """A kernel on S^(d-1) by its first coefficients a_0 .. a_L, and what is left out.

    ``truncation`` bounds |k(t) - sum_{l <= L} a_l N(d, l) P_l(t)| for every t: all a_l are
    nonnegative and |P_l| <= P_l(1) = 1, so it is the rest of the sum at t = 1, where the bound is
    attained. The error of the quadrature, ``quadrature`` for each a_l, comes on top.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Gaussian
    >>> from bochner.families.harmonics import expand
    >>> expansion = expand(Gaussian(1.0), max_degree=6, d=3)
    >>> x = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> expansion.exact_kernel(x).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    >>> expansion.truncation < 1e-5
    True
    """

    d: int
    coefficients: FloatArray
    truncation: float
    quadrature: float

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """The truncated kernel between rows on the sphere."""
        t = inner_products_on_sphere(X, Y, normalise=False)
        return series(self.coefficients * _counts(self.d, len(self.coefficients)), self.d, t)

    def column_weights(self, indices: Indices) -> FloatArray:
        """s_m = sqrt(a_l) of columns sqrt |S| Y_m: all of them together have this kernel."""
        return np.sqrt(np.maximum(self.coefficients, 0.0))[indices.degree]


def expand(family: Family, max_degree: int, d: int) -> Expansion:
    """A rotation-invariant kernel on S^(d-1): Gaussian, ArcCosine, or another isotropic family."""
    kernel = profile(family)
    nodes = FIRST + 2 * (max_degree + d)
    a = coefficients(kernel, max_degree, d, nodes)
    while True:
        nodes *= 2
        better = coefficients(kernel, max_degree, d, nodes)
        weights = _counts(d, max_degree + 1)
        top = float(kernel(np.zeros(1))[0])
        error = float(np.abs(better - a).max())
        if float(np.abs(better - a) @ weights) <= AGREEMENT * top * (max_degree + 1):
            break
        if nodes > LAST:
            raise ValueError(
                f"the kernel of {family!r} is too narrow for {nodes} nodes: use a larger bandwidth."
            )
        a = better
    return Expansion(d, better, max(0.0, top - float(better @ weights)), error)


def coefficients(
    kernel: Callable[[FloatArray], FloatArray], max_degree: int, d: int, nodes: int
) -> FloatArray:
    """a_l of k(cos theta) by Gauss-Legendre in theta: exponential for kernels smooth in the angle.

    An arc-cosine has a root at cos theta = 1 but is analytic in theta; hence no Gauss-Gegenbauer.
    """
    points, weights = special.roots_legendre(nodes)
    theta = (points + 1.0) * (np.pi / 2)
    ratio = np.exp(special.gammaln(d / 2) - special.gammaln((d - 1) / 2)) / np.sqrt(np.pi)
    density = ratio * (np.pi / 2) * weights * np.sin(theta) ** (d - 2)
    return polynomials(np.cos(theta), d, max_degree) @ (density * kernel(theta))


def profile(family: Family) -> Callable[[FloatArray], FloatArray]:
    """k(cos theta) as a function of theta, read off two rows of a plane."""
    isotropic = isinstance(family, (Gaussian, Laplace, Cauchy, Matern, ArcCosine))
    resolved = not family.needs_sample and np.ndim(getattr(family, "bandwidth", 1.0)) == 0
    if not isotropic or not resolved or getattr(family, "norm", "l2") != "l2":
        raise ValueError(
            f"{family!r} has no kernel of x.x' alone on the sphere: use Gaussian, Laplace, Cauchy "
            "or Matern with a number as bandwidth (and norm='l2'), or ArcCosine."
        )
    family.check(2)

    def of_angle(theta: FloatArray) -> FloatArray:
        rows = np.stack([np.cos(theta), np.sin(theta)], axis=1)
        return np.asarray(family.exact_kernel(np.array([[1.0, 0.0]]), rows)[0])

    return of_angle


def _counts(d: int, n: int) -> FloatArray:
    return np.array([float(count(d, degree)) for degree in range(n)])
