"""The Matern family."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import special

from ..ops.projection import FloatArray
from . import radial
from .fourier import FORMS, FourierFamily, inverse_chi_square


class Matern(FourierFamily):
    """The Matern kernel with smoothness nu and length scale ``bandwidth``.

    2^(1 - nu) / Gamma(nu) z^nu K_nu(z), where z = sqrt(2 nu) |x - x'| / bandwidth. Its
    frequencies have the multivariate t distribution with 2 nu degrees of freedom; nu = 1/2 is
    `Laplace`, large nu approaches `Gaussian`.

    Parameters
    ----------
    nu : float
        Smoothness: functions of the kernel's space have about nu derivatives.
    bandwidth : float, array of d floats, "median", "neighbours" or "scale"
        The length scale, see `bochner.families.bandwidth`; scikit-learn's ``length_scale``.
    form : "phase" or "pair"
        As in `Gaussian`.
    sampling : "iid", "orthogonal", "structured" or "sobol"
        As in `Gaussian`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Matern
    >>> Matern(nu=1.5, bandwidth=1.0).exact_kernel(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    typical: ClassVar = {
        "nu": (1.5, 0.5, 2.5, 4.0),
        "bandwidth": (1.0, 0.5, 3.0),
        "form": FORMS,
        "sampling": radial.DRAWS,
    }

    def __init__(
        self,
        nu: float = 1.5,
        bandwidth: Any = "median",
        *,
        form: str = "phase",
        sampling: str = "iid",
    ) -> None:
        self.nu = nu
        self.bandwidth = bandwidth
        self.form = form
        self.sampling = sampling

    def check(self, n_features: int) -> None:
        number = isinstance(self.nu, (int, float, np.number)) and not isinstance(self.nu, bool)
        if not (number and 0 < self.nu < np.inf):
            raise ValueError(
                f"Matern(nu={self.nu!r}): nu must be a positive finite number; for nu = infinity "
                "use Gaussian."
            )
        super().check(n_features)

    def _mixing(self, u: FloatArray) -> FloatArray:
        return 2.0 * self.nu * inverse_chi_square(u, 2.0 * self.nu)

    def _profile(self, distance: FloatArray) -> FloatArray:
        nu, z = self.nu, np.sqrt(2.0 * self.nu) * distance
        if nu == 0.5:
            return np.asarray(np.exp(-z))
        if nu == 1.5:
            return np.asarray((1.0 + z) * np.exp(-z))
        if nu == 2.5:
            return np.asarray((1.0 + z + z**2 / 3.0) * np.exp(-z))
        return _debye(nu, distance) if nu > 50 else _bessel(nu, z)


def _bessel(nu: float, z: FloatArray) -> FloatArray:
    """z^nu K_nu(z) 2^(1-nu) / Gamma(nu), by logarithms."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        logs = (1.0 - nu) * np.log(2.0) - special.gammaln(nu) + nu * np.log(z) - z
        kernel = np.exp(logs + np.log(special.kve(nu, z)))
    at_zero = ~np.isfinite(kernel)  # K_nu is infinite at (almost) zero; the limit of all is one
    return np.minimum(np.where(at_zero, 1.0, kernel), 1.0)


def _debye(nu: float, distance: FloatArray) -> FloatArray:
    """The same where K_nu overflows: Debye's expansion (DLMF 10.41.4), relative error 1e-9."""
    root = np.sqrt(1.0 + 2.0 * distance**2 / nu)
    p = 1.0 / root
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
    logs = (1.0 - nu) * np.log(2.0) - special.gammaln(nu) + nu * np.log(nu)
    logs = logs + 0.5 * np.log(np.pi / (2.0 * nu) * p) + nu * (np.log1p(root) - root)
    return np.exp(logs) * (1.0 - u1 / nu + u2 / nu**2 - u3 / nu**3)
