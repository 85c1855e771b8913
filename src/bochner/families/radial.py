"""Spectral measures as scale mixtures of Gaussians, and the ways of drawing from them.

By Bochner's theorem a kernel k(x - x') with k(0) = 1 is the characteristic function of a
probability measure over frequencies. For every kernel here a frequency in units of the bandwidth is

    w = sqrt(tau) g,    g ~ N(0, I_d),   tau > 0 independent of g

with one tau a frequency (isotropic kernels) or one a coordinate (product kernels). So one recipe
for g serves all: independent (iid), orthogonal blocks (Yu et al. 2016), Hadamard-diagonal products
(the same paper, section 4), or a scrambled Sobol sequence (Yang et al. 2014).

1. Orthogonal and structured draws go one step further than the paper: what is left of an atom once
   its direction is known (its length, tau, phase) is stratified over the atoms. Each atom keeps its
   law, so nothing becomes biased; without it the luck of tau would hide what orthogonality gains
   for heavy tails, and for d = 1 there would be nothing to gain at all.
2. Structured rows are padded to 128 columns at least. A direction of the product has Gaussian
   coordinates only up to lattice effects: an error of 0.7 / p^2 in the kernel of rows less than
   some five bandwidths apart; and a coordinate is exactly zero with probability 2.7 / p, which is
   what remains of the kernel of rows far apart that differ in one column only. At p = 2, where
   directions are signed axes or diagonals, the features would belong to quite another kernel.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import qmc

from ..ops import single_threaded_blas
from ..ops.projection import Dense, FloatArray, Structured

Uniforms: TypeAlias = NDArray[np.float64]

DRAWS = ("iid", "orthogonal", "structured", "sobol")

MIN_PADDED = 128
_SOBOL_BITS = 30


def iid(n_atoms: int, d: int, rng: np.random.Generator) -> FloatArray:
    """g, F x d, independent standard normal."""
    return rng.standard_normal((n_atoms, d))


def orthogonal(n_atoms: int, d: int, rng: np.random.Generator) -> FloatArray:
    """g, F x d: in each block of d the directions are orthogonal, each row still N(0, I)."""
    blocks, rest = divmod(n_atoms, d)
    directions = [_frames(blocks, d, d, rng)] if blocks else []
    if rest:
        directions.append(_frames(1, d, rest, rng))  # in few atoms of wide rows, no d x d matrix
    return np.concatenate(directions) * _chi(d, n_atoms, rng)[:, None]


def _frames(blocks: int, d: int, k: int, rng: np.random.Generator) -> FloatArray:
    """k orthonormal directions of R^d, ``blocks`` times anew, uniform (Haar): rows by d."""
    with single_threaded_blas():  # its workers would keep spinning long after such small matrices
        q, r = np.linalg.qr(rng.standard_normal((blocks, d, k)))
    signs = np.sign(np.diagonal(r, axis1=1, axis2=2))  # QR alone is not Haar: it fixes them
    return np.asarray((q * signs[:, None, :]).transpose(0, 2, 1).reshape(-1, d))


def structured(n_atoms: int, d: int, rng: np.random.Generator, scale: FloatArray) -> Structured:
    """g * scale as Hadamard-diagonal products: ``scale`` (F,) is sqrt(tau) over the bandwidth.

    Rows are padded to a power of two p >= d. A direction of R^p times a chi_p radius is close to
    N(0, I_p), whose first d coordinates are N(0, I_d): so the radial law is that of p, not of d.
    """
    p = 1 << (max(d, MIN_PADDED) - 1).bit_length()
    blocks = -(-n_atoms // p)
    signs = rng.integers(0, 2, size=(blocks, 3, p), dtype=np.int8) * np.int8(2) - np.int8(1)
    radii = np.zeros(blocks * p)
    radii[:n_atoms] = _chi(p, n_atoms, rng) * scale
    forms = None if blocks * p == n_atoms else np.arange(n_atoms, dtype=np.intp)
    return Structured(d, signs, radii, forms)


def stratified(n: int, rng: np.random.Generator) -> Uniforms:
    """n uniforms in random order, exactly one in each n-th of the unit interval."""
    return np.asarray((rng.permutation(n) + rng.random(n)) / n)


def sobol_uniforms(n_atoms: int, dimensions: int, rng: np.random.Generator) -> Uniforms:
    """Scrambled Sobol points strictly inside the unit cube, F x dimensions."""
    if dimensions > qmc.Sobol.MAXDIM:
        raise ValueError(
            f"sampling='sobol' needs {dimensions} dimensions, but Sobol points exist up to "
            f"{qmc.Sobol.MAXDIM}; use sampling='orthogonal' (or 'iid' for product forms)."
        )
    engine = qmc.Sobol(dimensions, scramble=True, bits=_SOBOL_BITS, rng=rng)
    points = engine.random_base2((n_atoms - 1).bit_length())[:n_atoms]
    return np.asarray(points + 0.5**_SOBOL_BITS / 2)  # the middle of each cell: never 0, never 1


def normal_quantile(u: Uniforms) -> FloatArray:
    """The standard normal quantiles of uniforms."""
    return np.asarray(special.ndtri(u))


def dense(g: FloatArray, scale: FloatArray) -> Dense:
    """Frequencies g times a scale that broadcasts against F x d."""
    return Dense(np.ascontiguousarray(g * scale))


def _chi(df: int, n: int, rng: np.random.Generator) -> Uniforms:
    """n lengths of standard normal vectors in df dimensions, stratified."""
    return np.asarray(np.sqrt(2.0 * special.gammaincinv(df / 2.0, stratified(n, rng))))
