"""Compiled inner loops; this module imports numba, so only the drivers import it, at first use.

Symbols: Z is a tile of linear forms, rows x width, in *turns* (z / 2 pi) for cosines and pairs, in
plain units otherwise; b its offsets in the same unit; r one coefficient per row.

Range reduction in turns is exact: t - rint(t) lies in [-1/2, 1/2]. With s = 1/4 - |t - rint(t)|
in [-1/4, 1/4] and u = s^2,

    cos(2 pi t)   = sin(2 pi s) = s S(u)
    |sin(2 pi t)| = cos(2 pi s) = C(u)          with the sign of t - rint(t)

S and C interpolate at the Chebyshev nodes of u in [0, 1/16]: the absolute error is below 2e-7 in
float32 and 5e-16 in float64, and there is no call to a mathematics library, so LLVM vectorises.
Loops run along rows of Z and accumulate column-wise: nothing has to be reassociated. Only the
contraction a * b + c -> fma is allowed. Everything is in one file because numba's cache notices
changes of the file that holds a kernel, not of those it uses.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.extending import overload

from .projection import FloatArray

F = TypeVar("F", bound=Callable[..., Any])

#: What a kernel does to a linear form; passed as a number, branched on outside the loops.
KINDS = {"cos": 0, "pair": 1, "step": 2, "relu": 3, "relu2": 4, "identity": 5}
COS, PAIR, STEP, RELU, RELU2, IDENTITY = KINDS.values()


def compiled(function: F) -> F:
    """Compile without the GIL at the first call; cache on disk where a place for it exists."""
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.NumbaWarning)
            return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # "cannot cache function: no locator available": a read-only install
        return cast(F, numba.njit(**options)(function))


def _polynomial(coefficients: tuple[Any, ...]) -> Any:
    """Horner's rule, lowest coefficient first, unrolled; constants keep the dtype they have."""
    last = coefficients[-1]
    if len(coefficients) == 1:
        return numba.njit(lambda u: last)
    head, rest = coefficients[0], _polynomial(coefficients[1:])
    return numba.njit(lambda u: head + u * rest(u), fastmath={"contract"})


# fmt: off
_S64 = (6.283185307179585, -41.34170224039829, 81.60524927558095, -76.70585968971056,
        42.05868995668288, -15.09450618721894, 3.8173660151660442, -0.6925078630447388)
_C64 = (1.0, -19.739208802178705, 64.93939402266386, -85.45681720597283, 60.24464131279951,
        -26.426254056885632, 7.903462331949009, -1.7132169405619304, 0.2719400193956163)
_S32 = tuple(np.float32(c) for c in (
    6.283185482025, -41.341682434082, 81.602478027344, -76.581169128418, 39.759826660156))
_C32 = tuple(np.float32(c) for c in (
    1.0, -19.739171981812, 64.9345703125, -85.239868164062, 56.238700866699))
# fmt: on

_WAVES = {
    numba.float32: (_polynomial(_S32), _polynomial(_C32), np.float32(0.25)),
    numba.float64: (_polynomial(_S64), _polynomial(_C64), 0.25),
}


def _inlined(name: Callable[..., Any]) -> Callable[[F], F]:
    """What ``name`` means in compiled code; numba's own decorator is untyped."""
    return cast(Callable[[F], F], overload(name, jit_options={"fastmath": {"contract"}}))


def cosine(t: Any) -> Any:
    """cos(2 pi t), in compiled code."""
    raise NotImplementedError


def wave(t: Any) -> Any:
    """(cos(2 pi t), sin(2 pi t)), in compiled code."""
    raise NotImplementedError


@_inlined(cosine)
def _cosine(t: Any) -> Any:
    S, _, quarter = _WAVES[t]

    def body(t: Any) -> Any:
        s = quarter - abs(t - np.rint(t))
        return s * S(s * s)

    return body


@_inlined(wave)
def _wave(t: Any) -> Any:
    S, C, quarter = _WAVES[t]

    def body(t: Any) -> Any:
        signed = t - np.rint(t)
        s = quarter - abs(signed)
        u = s * s
        return s * S(u), np.copysign(C(u), signed)

    return body


@compiled
def activate(kind: int, Z: FloatArray, b: FloatArray) -> None:
    """Z_ij <- activation(Z_ij + b_j), in place; every kind but a pair."""
    n, width = Z.shape
    zero, one = Z.dtype.type(0), Z.dtype.type(1)
    for i in range(n):
        if kind == COS:
            for j in range(width):
                Z[i, j] = cosine(Z[i, j] + b[j])
        elif kind == STEP:
            for j in range(width):
                Z[i, j] = one if Z[i, j] + b[j] > zero else zero
        elif kind == RELU:
            for j in range(width):
                Z[i, j] = max(Z[i, j] + b[j], zero)
        elif kind == RELU2:
            for j in range(width):
                z = max(Z[i, j] + b[j], zero)
                Z[i, j] = z * z
        else:
            for j in range(width):
                Z[i, j] += b[j]


@compiled
def activate_pair(Z: FloatArray, b: FloatArray, phi: FloatArray) -> None:
    """phi_i,2j <- cos(2 pi (Z_ij + b_j)), phi_i,2j+1 <- sin of the same."""
    n, width = Z.shape
    for i in range(n):
        for j in range(width):
            c, s = wave(Z[i, j] + b[j])
            phi[i, 2 * j] = c
            phi[i, 2 * j + 1] = s


@compiled
def project_one(kind: int, Z: FloatArray, b: FloatArray, r: FloatArray, acc: FloatArray) -> None:
    """acc_0j += sum_i r_i activation(Z_ij + b_j); of a pair the cosines, and sines in acc_1j."""
    n, width = Z.shape
    zero = Z.dtype.type(0)
    first, second = acc[0], acc[1]
    for i in range(n):
        ri = r[i]
        if kind == COS:
            for j in range(width):
                first[j] += ri * cosine(Z[i, j] + b[j])
        elif kind == PAIR:
            for j in range(width):
                c, s = wave(Z[i, j] + b[j])
                first[j] += ri * c
                second[j] += ri * s
        elif kind == STEP:
            for j in range(width):
                first[j] += ri if Z[i, j] + b[j] > zero else zero
        elif kind == RELU:
            for j in range(width):
                first[j] += ri * max(Z[i, j] + b[j], zero)
        elif kind == RELU2:
            for j in range(width):
                z = max(Z[i, j] + b[j], zero)
                first[j] += ri * (z * z)


@compiled
def project_dense(
    kind: int, X: FloatArray, Wt: FloatArray, b: FloatArray, r: FloatArray, Z: FloatArray,
    part: FloatArray,
) -> None:  # fmt: skip
    """part += sum_i r_i activation(X_i Wt + b), a tile Z of rows at a time, without the GIL."""
    n, step = X.shape[0], Z.shape[0]
    acc = np.empty(part.shape, Z.dtype)
    for start in range(0, n, step):
        stop = min(start + step, n)
        tile = Z[: stop - start]
        np.dot(X[start:stop], Wt, tile)
        acc[:] = Z.dtype.type(0)
        project_one(kind, tile, b, r[start:stop], acc)
        part += acc


@compiled
def project_dense_many(
    kind: int, X: FloatArray, Wt: FloatArray, b: FloatArray, R: FloatArray, Z: FloatArray,
    phi: FloatArray, part: FloatArray,
) -> None:  # fmt: skip
    """part += activation(X Wt + b)' R for several columns of R; ``phi`` has room for pairs."""
    n, step = X.shape[0], Z.shape[0]
    for start in range(0, n, step):
        stop = min(start + step, n)
        tile, pairs = Z[: stop - start], phi[: stop - start]
        np.dot(X[start:stop], Wt, tile)
        if kind == PAIR:
            activate_pair(tile, b, pairs)
            part += np.dot(pairs.T, R[start:stop])
        else:
            activate(kind, tile, b)
            part += np.dot(tile.T, R[start:stop])


@compiled
def pull_one(
    kind: int, Z: FloatArray, b: FloatArray, r: FloatArray, t: FloatArray, acc: FloatArray
) -> None:
    """Z_ij <- r_i t_j activation(Z_ij + b_j) and acc_j += sum_i of it."""
    n, width = Z.shape
    zero = Z.dtype.type(0)
    for i in range(n):
        ri = r[i]
        if kind == COS:
            for j in range(width):
                s = ri * (t[j] * cosine(Z[i, j] + b[j]))
                Z[i, j] = s
                acc[j] += s
        elif kind == STEP:
            for j in range(width):
                s = ri * t[j] if Z[i, j] + b[j] > zero else zero
                Z[i, j] = s
                acc[j] += s
        elif kind == RELU:
            for j in range(width):
                s = ri * (t[j] * max(Z[i, j] + b[j], zero))
                Z[i, j] = s
                acc[j] += s


@compiled
def add_at(total: FloatArray, row: int, column: int, part: FloatArray) -> None:
    """Add part to total from (row, column) on: float64 += float32, which NumPy does in buffers."""
    n, width = part.shape
    for i in range(n):
        for j in range(width):
            total[row + i, column + j] += part[i, j]


@compiled
def sparse_forms(
    data: FloatArray, indices: Any, indptr: Any, start: int, Wt: FloatArray, Z: FloatArray
) -> None:
    """Z_i <- row (start + i) of a CSR matrix times Wt (d x width)."""
    n, width = Z.shape
    zero = Z.dtype.type(0)
    for i in range(n):
        for j in range(width):
            Z[i, j] = zero
        for k in range(indptr[start + i], indptr[start + i + 1]):
            value, row = Z.dtype.type(data[k]), indices[k]
            for j in range(width):
                Z[i, j] += value * Wt[row, j]


@compiled
def sparse_pull(
    data: FloatArray, indices: Any, indptr: Any, start: int, S: FloatArray, G: FloatArray
) -> None:
    """G += X_tile' S for CSR rows from ``start`` on; G is d x width in float64."""
    n, width = S.shape
    for i in range(n):
        for k in range(indptr[start + i], indptr[start + i + 1]):
            value, row = np.float64(data[k]), indices[k]
            for j in range(width):
                G[row, j] += value * S[i, j]
