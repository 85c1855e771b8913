"""The Laplace family."""

from __future__ import annotations

import numpy as np

from ..ops.projection import FloatArray
from .fourier import NormedFamily, inverse_chi_square


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

    def _mixing(self, u: FloatArray) -> FloatArray:
        return inverse_chi_square(u, 1.0)

    def _profile(self, distance: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-distance))
