"""The Laplace family."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..ops.projection import FloatArray
from . import radial
from .fourier import FORMS, NormedFamily, inverse_chi_square


class Laplace(NormedFamily):
    """The Laplace kernel exp(-|x - x'| / bandwidth).

    Its frequencies are Cauchy: jointly for the Euclidean norm, column by column for l1.

    Parameters
    ----------
    bandwidth : float, array of d floats, "median", "neighbours" or "scale"
        The length scale, see `bochner.families.bandwidth`.
    norm : "l2" or "l1"
        The Euclidean norm; or the sum over columns, which is scikit-learn's
        ``laplacian_kernel`` with ``gamma = 1 / bandwidth``.
    form : "phase" or "pair"
        As in `Gaussian`.
    sampling : "iid", "orthogonal", "structured" or "sobol"
        As in `Gaussian`; with ``norm="l1"`` only "iid" and "sobol".

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Laplace
    >>> Laplace(bandwidth=1.0).exact_kernel(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

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

    def _mixing(self, u: FloatArray) -> FloatArray:
        return inverse_chi_square(u, 1.0)

    def _profile(self, distance: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-distance))
