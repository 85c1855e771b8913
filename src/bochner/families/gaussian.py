"""The Gaussian family, whose docstring explains the parameters that all Fourier families share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..ops.projection import FloatArray
from . import radial
from .fourier import FORMS, FourierFamily


class Gaussian(FourierFamily):
    """The Gaussian (RBF) kernel exp(-|x - x'|^2 / (2 bandwidth^2)).

    Its frequencies are normal with standard deviation 1 / bandwidth.

    Parameters
    ----------
    bandwidth : float, array of d floats, "median", "neighbours" or "scale"
        The length scale, see `bochner.families.bandwidth`; scikit-learn's ``gamma`` is
        ``1 / (2 bandwidth^2)``.
    form : "phase" or "pair"
        cos(w.x + b), one column a frequency; or (cos w.x, sin w.x), two columns a frequency.
    sampling : "iid", "orthogonal", "structured" or "sobol"
        How frequencies are drawn: independently; in orthogonal blocks (less error at equal
        count); as Hadamard-diagonal products (less error and a fast transform); as a scrambled
        Sobol sequence (least error in up to about ten columns).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Gaussian
    >>> Gaussian(bandwidth=1.0).exact_kernel(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    typical: ClassVar = {
        "bandwidth": (1.0, 0.5, 3.0),
        "form": FORMS,
        "sampling": radial.DRAWS,
    }

    def __init__(
        self, bandwidth: Any = "median", *, form: str = "phase", sampling: str = "iid"
    ) -> None:
        self.bandwidth = bandwidth
        self.form = form
        self.sampling = sampling

    def _mixing(self, u: FloatArray) -> FloatArray:
        return np.ones_like(u)

    def _profile(self, distance: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * distance**2))
