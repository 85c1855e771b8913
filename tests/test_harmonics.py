"""Spherical harmonics: an orthonormal basis, the addition theorem, kernels on the sphere."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, sparse, special

import naive_harmonics as slow
from bochner import FeatureMap, LearnedFeatures
from bochner.families import ArcCosine, Gaussian, Harmonics, Laplace, Linear, as_family
from bochner.families.harmonics import (
    HarmonicColumns,
    area,
    count,
    count_up_to,
    evaluate,
    expand,
    numbered,
    polynomials,
)
from bochner.families.harmonics.indices import neighbours
from contract import FamilyContract
from make import draw, rng, rows, thinned


def sphere(n, d, seed=0):
    X = rows(n, d, seed)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def basis(d, max_degree):
    return numbered(d, max_degree, np.arange(count_up_to(d, max_degree)))


class TestHarmonics(FamilyContract):
    family = Harmonics

    def slow_kernel(self, family, x, y):
        return slow.kernel(family.max_degree, x, y)

    def thinned(self, n, d, seed=0):
        X = thinned(n, d, seed)
        X[:, 0] += np.all(X == 0, axis=1)  # a row of zeros has no direction
        return X


del FamilyContract


# --- the basis ---


def test_orthonormal_on_the_two_sphere_to_degree_30():
    X, w = slow.quadrature(60)
    Y = evaluate(X, basis(3, 30))
    assert_allclose((Y.T * w) @ Y, np.eye(31**2), atol=1e-10)


@pytest.mark.parametrize("k", [3, 4, 5, 7, 10])
def test_orthonormal_factor_by_factor(k):
    # harmonics that are equal below k differ by their factor at k alone; integrating over the
    # other coordinates leaves the measure (1 - t^2)^((k-3)/2) dt
    degree = 6 if k < 10 else 4
    indices = basis(k, degree)
    chains = np.array([indices.chain(row) for row in range(len(indices))])
    for below in range(degree + 1):
        same = np.flatnonzero(np.all(chains[:, 1:] == below, axis=1))
        assert len(same) == degree + 1 - below
        t, w = special.roots_jacobi(degree + 1, (k - 3) / 2, (k - 3) / 2)
        x = np.zeros((len(t), k))  # theta = 0 on the circle of x_1, x_2: all other factors constant
        x[:, 0], x[:, -1] = np.sqrt(1 - t**2), t
        Y = evaluate(x, indices.take(same))
        other = basis(k - 1, degree)
        alone = [below] * max(k - 2, 2)
        row = [r for r in range(len(other)) if other.chain(r) == alone]
        lower = evaluate(np.eye(k - 1)[:1], other.take(np.array(row)))[0, 0]
        assert_allclose((Y.T * w) @ Y / lower**2, np.eye(len(same)), atol=1e-10)


@pytest.mark.parametrize(("d", "max_degree"), [(2, 12), (3, 12), (4, 7), (6, 4), (10, 3)])
def test_the_textbook_formula(d, max_degree):
    X, indices = sphere(4, d), basis(d, max_degree)
    some = rng(1).permutation(len(indices))[:300]
    chains = [indices.chain(row) for row in some]
    truth = [[slow.harmonic(chain, x) for chain in chains] for x in X]
    assert_allclose(evaluate(X, indices.take(some)), truth, atol=1e-12)


def test_scipy_has_the_same_harmonics():
    X, indices = sphere(20, 3), basis(3, 20)
    theta, phi = np.arccos(X[:, 2]), np.arctan2(X[:, 1], X[:, 0])
    for row, Y in enumerate(evaluate(X, indices).T):
        degree, m = indices.chain(row)
        value = special.sph_harm_y(degree, abs(m), theta, phi) * (-1.0) ** m  # its sign convention
        part = value.real if m >= 0 else value.imag
        assert_allclose(Y, part * (np.sqrt(2) if m else 1), atol=1e-12)


@pytest.mark.parametrize(("d", "max_degree"), [(2, 30), (3, 30), (4, 12), (10, 6), (40, 3)])
def test_addition_theorem(d, max_degree):
    X = np.concatenate([sphere(20, d), np.eye(d)[:3], -np.eye(d)[-2:]])
    indices, t = basis(d, max_degree), np.clip(X @ X.T, -1, 1)
    Y = evaluate(X, indices)
    for degree, P in enumerate(polynomials(t, d, max_degree)):
        of_degree = Y[:, indices.degree == degree]
        ratio = area(d) / count(d, degree)
        assert_allclose(ratio * of_degree @ of_degree.T, P, atol=1e-8)
        assert_allclose(P, slow.polynomial(degree, d, t), atol=1e-11)
        assert np.all(of_degree**2 <= count(d, degree) / area(d) * (1 + 1e-9))


@pytest.mark.parametrize("d", [3, 5])
def test_the_largest_value_is_attained_by_the_zonal_harmonic(d):
    pole = np.eye(d)[-1:]
    for degree in range(8):
        zonal = numbered(d, degree, np.array([count_up_to(d, degree) - 1]))
        assert zonal.chain(0) == [degree] + [0] * (d - 2)
        assert_allclose(evaluate(pole, zonal) ** 2 * area(d), count(d, degree))
    assert_allclose(Harmonics(7).bound_on(d) ** 2, count(d, 7))


def test_no_digits_are_lost_near_a_pole():
    # Y_l,m ~ sin(theta)^m there: the relative error must not grow as the angle goes to zero
    for theta in (1e-3, 1e-8, 1e-14):
        x = np.array([[np.sin(theta) * 0.6, np.sin(theta) * 0.8, np.cos(theta)]])
        indices = basis(3, 12)
        Y = evaluate(x, indices)[0]
        for row in range(len(indices)):
            degree, m = indices.chain(row)
            k = abs(m)
            log = special.gammaln(degree + k + 1) - special.gammaln(degree - k + 1)
            slope = np.exp(0.5 * log - special.gammaln(k + 1)) / 2.0**k
            near = np.sqrt((2 * degree + 1) / (4 * np.pi)) * slope * np.sin(theta) ** k
            phi = np.arctan2(0.8, 0.6)
            near *= 1 if m == 0 else np.sqrt(2) * (np.cos(k * phi) if m > 0 else np.sin(k * phi))
            assert_allclose(Y[row], near, rtol=200 * theta**2 + 1e-12)
    assert np.all(np.isfinite(evaluate(np.array([[0.0, 0.0, 1.0]]), basis(3, 60))))


def test_high_degrees_stay_orthonormal():
    X, w = slow.quadrature(240)
    some = basis(3, 120).take(rng().permutation(121**2)[:60])
    Y = evaluate(X, some)
    assert_allclose((Y.T * w) @ Y, np.eye(60), atol=1e-10)


# --- indices ---


@pytest.mark.parametrize("d", [2, 3, 4, 7, 12])
def test_counts_numbers_and_names(d):
    top = 6 if d < 7 else 3
    indices = basis(d, top)
    counts = [slow.count(d, degree) for degree in range(top + 1)]
    assert [count(d, degree) for degree in range(top + 1)] == counts
    assert_array_equal(np.bincount(indices.degree), counts)
    assert np.all(np.diff(indices.degree) >= 0)
    assert len(set(indices.names())) == len(indices) == count_up_to(d, top)
    for row in range(len(indices)):
        chain = indices.chain(row)
        falling = [*chain[:-1], abs(chain[-1])]
        assert falling == sorted(falling, reverse=True)
    some = np.sort(rng(3).permutation(len(indices))[:9])
    assert_array_equal(numbered(d, top, some).units, indices.units[some])
    assert_array_equal(numbered(d, top, some).order, indices.order[some])


def test_names_are_readable():
    assert basis(2, 2).names() == ("Y[0;0]", "Y[1;1]", "Y[1;-1]", "Y[2;2]", "Y[2;-2]")
    assert basis(3, 1).names() == ("Y[0;0]", "Y[1;1]", "Y[1;-1]", "Y[1;0]")
    assert "Y[3;2,1,-1]" in basis(5, 3).names()


def test_steps_leave_the_uniform_distribution_alone():
    d, top = 4, 2
    indices = basis(d, top)
    place = {name: row for row, name in enumerate(indices.names())}
    transitions = np.zeros((len(indices), len(indices)))
    repeats, generator = 2000, rng(5)
    for row in range(len(indices)):
        start = indices.take(np.full(repeats, row))
        step, ratio = neighbours(start, top, generator)
        accept = generator.random(repeats) < ratio
        for name, kept in zip(step.names(), accept, strict=True):
            transitions[row, place[name] if kept else row] += 1 / repeats
    noise = 6 * np.sqrt(0.25 / repeats)
    assert np.abs(transitions - transitions.T).max() < noise  # detailed balance
    reached = np.linalg.matrix_power(transitions, 60)
    assert np.all(reached > 0)


def test_a_draw_takes_part_of_an_index_set_too_large_to_list():
    d, family = 784, Harmonics(8)
    assert family.n_available(d) > 10**17
    columns = family.draw(50, d, rng())
    assert columns.n_columns == 50
    assert columns.indices.degree.max() == 8
    assert np.all(np.isfinite(FeatureMap(family, columns, np.ones(50))(sphere(3, d))))


# --- the family ---


def test_all_columns_with_equal_weights_are_the_exact_kernel():
    for d, degree in ((2, 5), (3, 9), (5, 3)):
        X, family = sphere(9, d), Harmonics(degree)
        fm = draw(family, family.n_available(d), d)
        assert_allclose(fm.kernel(X), family.exact_kernel(X), atol=1e-12)
        assert_allclose(np.diag(fm.kernel(X)), 1.0)
        assert_allclose(np.mean(fm(sphere(40000, d)) ** 2) * fm.n_features, 1.0, atol=1e-9)


def test_normalising_is_explicit():
    X = 3.0 * sphere(5, 3)
    strict, lenient = (draw(Harmonics(4, normalise=flag), 25, 3) for flag in (False, True))
    assert_allclose(lenient(X), strict(X / 3.0))
    for refused in (X, X / 2, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="length 3|length 1.5.*normalise=True"):
            strict(refused)
        with pytest.raises(ValueError, match="expected 1.*normalise=True"):
            Harmonics(4).exact_kernel(refused)
    for use in (lenient, Harmonics(4, normalise=True).exact_kernel):
        with pytest.raises(ValueError, match="all zeros and has no direction"):
            use(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    single = sphere(50, 3).astype(np.float32)
    assert strict(single).dtype == np.float32
    assert_allclose(strict(single), strict(single.astype(np.float64)), atol=1e-6)
    given = 2 * X
    lenient(given)
    assert_array_equal(given, 2 * X)


@pytest.mark.parametrize("degree", [-1, 1.5, 2.0, True, "3", None])
def test_degrees_that_are_refused(degree):
    with pytest.raises(ValueError, match="whole number, 0 or more"):
        Harmonics(degree).check(3)


def test_what_does_not_fit_is_refused_with_its_count():
    with pytest.raises(ValueError, match="at least 2 columns, got 1"):
        Harmonics(3).check(1)
    with pytest.raises(ValueError, match=r"has 4\.57e\+54 columns.*lower max_degree \(to \d"):
        Harmonics(30).check(784)
    n = count_up_to(784, 4)
    with pytest.raises(ValueError, match=rf"{n} of the {n} columns.*GB.*\(to 2: 308504 columns\)"):
        Harmonics(4).draw(n, 784, rng())
    with pytest.raises(ValueError, match="use True or False"):
        Harmonics(3, normalise="yes").check(3)


def test_as_an_estimator():
    X = sphere(300, 3)
    y = X[:, 0] * X[:, 1] > 0
    features = LearnedFeatures("harmonics", learner="uniform", n_components=9, random_state=0)
    Z = features.set_params(family=Harmonics(2)).fit(X, y).transform(X)
    assert list(features.get_feature_names_out())[:2] == ["Y[0;0]", "Y[1;1]"]
    assert isinstance(features.feature_map_.projection, HarmonicColumns)
    assert_allclose(Z @ Z.T, Harmonics(2).exact_kernel(X), atol=1e-12)
    assert isinstance(as_family("harmonics"), Harmonics)


# --- kernels expanded in harmonics ---


@pytest.mark.parametrize("d", [2, 3, 5, 10])
@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 3.0])
def test_gaussian_coefficients_are_bessel_functions(d, bandwidth):
    z, degrees = bandwidth**-2, np.arange(21)
    truth = special.gamma(d / 2) * (2 / z) ** (d / 2 - 1) * special.ive(degrees + d / 2 - 1, z)
    found = expand(Gaussian(bandwidth), 20, d)
    assert_allclose(found.coefficients, truth, atol=1e-13)


@pytest.mark.parametrize(
    "family", [Gaussian(0.5), Gaussian(2.0), ArcCosine(0), ArcCosine(1), ArcCosine(2)], ids=repr
)
@pytest.mark.parametrize("d", [2, 3, 10])
def test_expansions_are_the_kernel_up_to_the_stated_error(family, d):
    X = np.concatenate([sphere(25, d), np.eye(d)[:1], -np.eye(d)[:1]])
    truth = family.exact_kernel(X)
    rest = []
    for top in (2, 8, 30):
        found = expand(family, top, d)
        error = np.abs(found.exact_kernel(X) - truth).max()
        assert error <= found.truncation + 1e-9
        assert_allclose(error, found.truncation, atol=1e-9)  # attained on the diagonal
        assert np.all(found.coefficients >= -1e-13)
        rest.append(found.truncation)
    assert rest[0] > rest[1] >= rest[2]


def test_coefficients_are_the_integral_of_funk_and_hecke():
    d, family = 5, ArcCosine(1)
    found = expand(family, 5, d).coefficients
    for degree in range(6):

        def integrand(t, degree=degree):
            x, y = np.array([[1.0, 0.0]]), np.array([[t, np.sqrt(1 - t * t)]])
            kernel = family.exact_kernel(x, y)[0, 0]
            return kernel * slow.polynomial(degree, d, t) * (1 - t * t) ** ((d - 3) / 2)

        value, _ = integrate.quad(integrand, -1, 1, epsabs=1e-12)
        assert_allclose(found[degree], value * area(d - 1) / area(d), atol=1e-9)


def test_columns_with_the_roots_of_the_coefficients_have_the_kernel():
    d, top = 4, 10
    columns = Harmonics(top).draw(count_up_to(d, top), d, rng())
    found, X = expand(Gaussian(1.5), top, d), sphere(12, d)
    fm = FeatureMap(Harmonics(top), columns, found.column_weights(columns.indices))
    assert_allclose(fm.kernel(X), found.exact_kernel(X), atol=1e-12)
    assert_allclose(fm.kernel(X), Gaussian(1.5).exact_kernel(X), atol=1e-8)


def test_kernels_that_do_not_depend_on_the_angle_alone_are_refused():
    for family in (Gaussian("median"), Gaussian([1.0, 2.0]), Laplace(1.0, norm="l1"), Linear()):
        with pytest.raises(ValueError, match=r"no kernel of x\.x' alone"):
            expand(family, 3, 3)


@pytest.mark.parametrize("name", ["family", "gegenbauer"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"bochner.families.harmonics.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0
