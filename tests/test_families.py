"""Every family keeps the contract; and what is special to each of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process import kernels
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import naive
from bochner.families import ArcCosine, Cauchy, Gaussian, Laplace, Linear, Matern, as_family
from bochner.ops import Columns, Structured
from contract import FamilyContract
from make import LAYOUTS, draw, rng, rows, thinned

LENGTHS = np.array([0.5, 1.0, 2.0, 4.0])


class Fourier(FamilyContract):
    def slow_kernel(self, family, x, y):
        law = naive.law_of_coordinate(type(family).__name__, getattr(family, "nu", None))
        step = (x - y) / family.bandwidth
        if getattr(family, "norm", "l2") == "l1":
            return np.prod([naive.bochner(law, abs(s)) for s in step])
        return naive.bochner(law, np.linalg.norm(step))


class TestGaussian(Fourier):
    family = Gaussian


class TestLaplace(Fourier):
    family = Laplace


class TestCauchy(Fourier):
    family = Cauchy


class TestMatern(Fourier):
    family = Matern


class TestArcCosine(FamilyContract):
    family = ArcCosine

    def slow_kernel(self, family, x, y):
        return naive.arc_cosine(family.order, x, y)


class TestLinear(FamilyContract):
    family = Linear

    def slow_kernel(self, family, x, y):
        return np.mean(x * y)


del Fourier, FamilyContract  # pytest would collect what it can import


# --- against scikit-learn ---


@pytest.mark.parametrize("bandwidth", [0.7, 3.0, LENGTHS])
@pytest.mark.parametrize("kind", ["C", "CSR"])
def test_kernels_are_those_of_scikit_learn(bandwidth, kind):
    A, B = thinned(9, 4), thinned(5, 4, seed=2)
    a, b = A / bandwidth, B / bandwidth
    X, Y = LAYOUTS[kind](A), LAYOUTS[kind](B)
    assert_allclose(Gaussian(bandwidth).exact_kernel(X, Y), rbf_kernel(a, b, gamma=0.5))
    l1 = Laplace(bandwidth, norm="l1").exact_kernel(X, Y)
    assert_allclose(l1, laplacian_kernel(a, b, gamma=1.0))
    for nu in (0.5, 0.8, 1.5, 2.5, 7.0):
        truth = kernels.Matern(length_scale=bandwidth, nu=nu)(A, B)
        assert_allclose(Matern(nu, bandwidth).exact_kernel(X, Y), truth, atol=1e-7)


def test_gamma_of_the_documentation():
    X, h = rows(6, 3), 1.7
    assert_allclose(Gaussian(h).exact_kernel(X), rbf_kernel(X, gamma=1 / (2 * h**2)))
    l1 = Laplace(h, norm="l1").exact_kernel(X)
    assert_allclose(l1, laplacian_kernel(X, gamma=1 / h), atol=1e-12)
    rational = kernels.RationalQuadratic(length_scale=h / np.sqrt(2), alpha=1.0)(X)
    assert_allclose(Cauchy(h).exact_kernel(X), rational, atol=1e-12)


def test_matern_is_laplace_at_one_half_and_gaussian_at_infinity():
    X = rows(20, 3)
    assert_allclose(Matern(0.5, 1.3).exact_kernel(X), Laplace(1.3).exact_kernel(X))
    for nu in (400, 1e4, 1e6):  # K_nu itself overflows
        near = Gaussian(1.3).exact_kernel(X)
        assert_allclose(Matern(nu, 1.3).exact_kernel(X), near, atol=0.3 / nu)
    small, large = Matern(49.99, 1.3), Matern(50.01, 1.3)
    assert_allclose(small.exact_kernel(X), large.exact_kernel(X), atol=2e-6)
    wide = np.array([[0.0], [1e-200], [1e-3], [1e4]])  # Bessel's K overflows, and underflows
    kernel = Matern(30.0, 1.0).exact_kernel(wide)
    assert np.all(np.isfinite(kernel))
    assert_allclose(kernel[0], [1.0, 1.0, 1.0, 0.0], atol=1e-5)


def test_exact_kernels_bear_a_large_offset():
    X = rows(8, 3)
    for family in (Gaussian(1.0), Laplace(1.0), Cauchy(1.0, norm="l1")):
        assert_allclose(family.exact_kernel(X + 1e6, X + 1e6), family.exact_kernel(X), atol=1e-7)


# --- bandwidths and settings that a family refuses ---


@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "sobol"])
@pytest.mark.parametrize("family", [Gaussian, Laplace, Cauchy, Matern])
def test_a_length_for_each_column_divides_that_column(family, sampling):
    X, one = rows(5, 4), family(bandwidth=1.0, sampling=sampling)
    each = family(bandwidth=LENGTHS, sampling=sampling)
    assert_allclose(each.exact_kernel(X), one.exact_kernel(X / LENGTHS))
    a, b = draw(each, 32, 4), draw(one, 32, 4)
    assert_allclose(a.atoms["frequencies"], b.atoms["frequencies"] / LENGTHS)
    assert_array_equal(each.bandwidth, [0.5, 1.0, 2.0, 4.0])


@pytest.mark.parametrize("family", [Laplace, Cauchy])
@pytest.mark.parametrize("sampling", ["orthogonal", "structured"])
def test_product_forms_refuse_orthogonal_directions(family, sampling):
    refused = family(1.0, norm="l1", sampling=sampling)
    for use in (lambda: refused.check(3), lambda: refused.draw(4, 3, rng())):
        with pytest.raises(ValueError, match="not isotropic.*sampling='sobol'.*norm='l2'"):
            use()


def test_structured_draws_refuse_a_length_for_each_column():
    with pytest.raises(ValueError, match="one bandwidth for all columns.*'orthogonal'"):
        Gaussian(LENGTHS, sampling="structured").check(4)


@pytest.mark.parametrize("nu", [0, -1.0, np.inf, np.nan, "1.5", True, None])
def test_matern_refuses_nu(nu):
    with pytest.raises(ValueError, match="nu must be a positive finite number"):
        Matern(nu=nu, bandwidth=1.0).check(3)


@pytest.mark.parametrize("order", [3, -1, 1.0, True, "1", None])
def test_arc_cosine_refuses_orders(order):
    with pytest.raises(ValueError, match="must be 0, 1 or 2"):
        ArcCosine(order=order).check(3)


def test_as_family():
    family = Gaussian(2.0)
    assert as_family(family) is family
    assert isinstance(as_family("arc_cosine"), ArcCosine)
    with pytest.raises(ValueError, match="'gausian'.*Did you mean 'gaussian'"):
        as_family("gausian")
    with pytest.raises(TypeError, match=r"give an instance: Gaussian\(\)"):
        as_family(Gaussian)
    with pytest.raises(TypeError, match="got int"):
        as_family(3)


# --- Linear, names, documentation ---


def test_linear_takes_columns_and_never_makes_sparse_rows_dense():
    d = 10**6
    X = sparse.random_array((50, d), density=1e-5, format="csr", rng=rng())
    fm = draw(Linear(), d, d)
    assert isinstance(fm.projection.operator, Columns)
    R, T = rows(50, 1), np.ones((d, 1))
    assert_allclose(fm.project(X, R), X.T @ R / np.sqrt(d), atol=1e-15)
    assert_allclose(fm.map_rows(X, T), X @ T / np.sqrt(d), atol=1e-12)
    assert_allclose(Linear().exact_kernel(X), (X @ X.T).toarray() / d)


def test_linear_asked_for_all_is_the_rows_themselves():
    X = rows(7, 5)
    assert_allclose(draw(Linear(), 5, 5)(X) * np.sqrt(5), X)
    some = Linear().draw(3, 5, rng(1)).operator.index
    assert np.all(np.diff(some) > 0)
    counts = np.bincount(
        np.concatenate([Linear().draw(2, 5, rng(s)).operator.index for s in range(500)])
    )
    assert np.all(np.abs(counts - 200) < 60)  # every column as likely as another


def test_names():
    assert draw(Gaussian(1.0), 2, 3).names == ("cos(w0)", "cos(w1)")
    assert draw(Gaussian(1.0, form="pair"), 4, 3).names[2:] == ("cos(w1)", "sin(w1)")
    assert draw(ArcCosine(0), 1, 3).names == ("step(w0)",)
    assert draw(ArcCosine(1), 1, 3).names == ("relu(w0)",)
    assert draw(Linear(), 9, 9).take(np.array([7, 5])).names == ("x7", "x5")


def test_structured_stays_structured():
    fm = draw(Gaussian(1.0, sampling="structured"), 100, 100)
    assert isinstance(fm.projection.operator, Structured)
