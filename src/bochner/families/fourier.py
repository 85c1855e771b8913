"""What all translation-invariant families share: Gaussian, Laplace, Cauchy, Matern.

With s = |x - x'| / bandwidth, Euclidean:

    family    exact kernel                                   tau of the spectral mixture
    Gaussian  exp(-s^2 / 2)                                  1
    Laplace   exp(-s)                                        1 / chi^2_1      (multivariate Cauchy)
    Matern    2^(1-nu)/Gamma(nu) (sqrt(2nu) s)^nu K_nu(.)    2 nu / chi^2_2nu (multivariate t)
    Cauchy    1 / (1 + s^2)                                  2 Exp(1)

A product form multiplies the kernels of the single columns; see `radial` for tau and the draws.
Against scikit-learn's gamma: Gaussian(bandwidth) is ``rbf_kernel(gamma=1 / (2 bandwidth^2))``;
Laplace(bandwidth, norm="l1") is ``laplacian_kernel(gamma=1 / bandwidth)``;
Matern(nu, bandwidth) is ``gaussian_process.kernels.Matern(length_scale=bandwidth, nu=nu)``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import special

from ..ops.projection import FloatArray, Operator, Projection
from ..rows.sample import RowSample
from . import radial
from .bandwidth import check_bandwidth, resolve_bandwidth
from .base import Family, check_option
from .distances import as_rows, distances, divide_columns

FORMS = ("phase", "pair")

#: Frequencies end at a million per bandwidth times |g|. What lies beyond (a share of 1e-6 of
#: Laplace's) tells apart only rows closer than a millionth of the bandwidth, and its arguments
#: would have no digits left in float32.
MAX_TAU = 1e12


class FourierFamily(Family):
    """phi(x) = sqrt(2) cos(w.x + b), or the pair sqrt(2) (cos w.x, sin w.x)."""

    bandwidth: Any
    form: str
    sampling: str

    @abstractmethod
    def _mixing(self, u: FloatArray) -> FloatArray:
        """Tau as a function of uniforms, elementwise."""

    @abstractmethod
    def _profile(self, distance: FloatArray) -> FloatArray:
        """The kernel of distances in units of the bandwidth."""

    @property
    def _product(self) -> bool:
        return False

    @property
    def metric(self) -> str:
        """The distance in which a bandwidth is read off the rows."""
        return "manhattan" if self._product else "euclidean"

    @property
    def needs_sample(self) -> bool:
        return isinstance(self.bandwidth, str)

    @property
    def columns_per_atom(self) -> int:
        return 2 if self.form == "pair" else 1

    @property
    def bound(self) -> float:
        return float(np.sqrt(2.0))

    def check(self, n_features: int) -> None:
        name = type(self).__name__
        check_option(name, "form", self.form, FORMS)
        check_option(name, "sampling", self.sampling, radial.DRAWS)
        check_bandwidth(self.bandwidth, n_features)
        if self._product and self.sampling in ("orthogonal", "structured"):
            raise ValueError(
                f"{name}(norm='l1', sampling={self.sampling!r}): the product form is not "
                "isotropic, so orthogonal directions would change its kernel. Use "
                "sampling='iid' or sampling='sobol', or norm='l2'."
            )
        if self.sampling == "structured" and np.ndim(self.bandwidth):
            raise ValueError(
                f"{name}(sampling='structured') needs one bandwidth for all columns, got an "
                f"array of {n_features}: divide the columns of X by it instead, or use "
                "sampling='orthogonal'."
            )

    def resolve(self, sample: RowSample | None) -> Family:
        resolved = super().resolve(sample)
        if self.needs_sample:
            if sample is None:
                raise ValueError(f"bandwidth={self.bandwidth!r} needs a sample of the rows.")
            self.check(sample.X.shape[1])
            length = resolve_bandwidth(self.bandwidth, sample, self.metric)
            resolved.set_params(bandwidth=length)
        return resolved

    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> Projection:
        self.check(n_features)
        n_atoms = self._check_count(n_columns)
        if self.sampling == "sobol":
            operator, phases = self._draw_sobol(n_atoms, n_features, rng)
        else:
            operator = self._draw_random(n_atoms, n_features, rng)
            phases = self._uniforms(n_atoms, rng)
        if self.form == "pair":
            return Projection(operator, "pair", self.bound)
        return Projection(operator, "cos", self.bound, 2.0 * np.pi * phases)

    def _draw_random(self, n_atoms: int, d: int, rng: np.random.Generator) -> Operator:
        lengths = self._lengths()
        if self._product:
            g = radial.iid(n_atoms, d, rng)
            return radial.dense(g, self._scale(rng.random((n_atoms, d))) / lengths)
        if self.sampling == "structured":
            scale = self._scale(self._uniforms(n_atoms, rng)) / lengths
            return radial.structured(n_atoms, d, rng, scale)
        gaussians = radial.iid if self.sampling == "iid" else radial.orthogonal
        g = gaussians(n_atoms, d, rng)
        return radial.dense(g, self._scale(self._uniforms(n_atoms, rng))[:, None] / lengths)

    def _draw_sobol(
        self, n_atoms: int, d: int, rng: np.random.Generator
    ) -> tuple[Operator, FloatArray]:
        n_taus = d if self._product else 1
        u = radial.sobol_uniforms(n_atoms, d + 1 + n_taus, rng)
        g = radial.normal_quantile(u[:, :d])
        return radial.dense(g, self._scale(u[:, d + 1 :]) / self._lengths()), u[:, d]

    def _scale(self, u: FloatArray) -> FloatArray:
        return np.sqrt(np.minimum(self._mixing(u), MAX_TAU))

    def _uniforms(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.random(n) if self.sampling == "iid" else radial.stratified(n, rng)

    def _lengths(self) -> FloatArray:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} has to be resolved on a sample of the rows first; "
                "LearnedFeatures does so. To use a family by itself, give a number."
            )
        return np.asarray(self.bandwidth, dtype=np.float64)

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        X, Y = self._in_bandwidths(X), None if Y is None else self._in_bandwidths(Y)
        return self._profile(distances(X, Y, self.metric))

    def _in_bandwidths(self, X: Any) -> Any:
        X = as_rows(X)
        self.check(X.shape[1])
        return divide_columns(X, self._lengths())


class NormedFamily(FourierFamily):
    """A family that has an isotropic form, ``norm="l2"``, and a product form, ``norm="l1"``."""

    typical: ClassVar = {
        "bandwidth": (1.0, 0.5, 3.0),
        "norm": ("l2", "l1"),
        "form": FORMS,
        "sampling": radial.DRAWS,
    }

    def __init__(
        self,
        bandwidth: Any = "median",
        *,
        norm: str = "l2",
        form: str = "phase",
        sampling: str = "iid",
    ) -> None:
        self.bandwidth = bandwidth
        self.norm = norm
        self.form = form
        self.sampling = sampling

    @property
    def _product(self) -> bool:
        return self.norm == "l1"

    def check(self, n_features: int) -> None:
        check_option(type(self).__name__, "norm", self.norm, ("l2", "l1"))
        super().check(n_features)


def inverse_chi_square(u: FloatArray, df: float) -> FloatArray:
    """1 / chi^2 with ``df`` degrees of freedom, as a function of uniforms."""
    chi_square = 2.0 * special.gammaincinv(df / 2.0, u)
    return np.asarray(1.0 / np.maximum(chi_square, np.finfo(np.float64).tiny))
