"""The ways of drawing frequencies: the right law, whatever the way; and less error than iid."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import naive
from bochner.families import ArcCosine, Cauchy, Gaussian, Laplace, Matern, radial
from bochner.ops import Projection, features
from make import draw, rng, rows

DRAWS = ("iid", "orthogonal", "structured", "sobol")
ISOTROPIC = {
    "Gaussian": Gaussian(1.0, form="pair"),
    "Laplace": Laplace(1.0, form="pair"),
    "Cauchy": Cauchy(1.0, form="pair"),
    "Matern": Matern(1.5, 1.0, form="pair"),
    "ArcCosine": ArcCosine(1),
}


def frequencies(family, F, d, seed=0):
    operator = draw(family, F * family.columns_per_atom, d, seed).projection.operator
    return features(np.eye(d), Projection(operator, "identity")).T


def length_cdf(name, d, r):
    """P(|w| <= r) for frequencies w = sqrt(tau) g in units of the bandwidth."""
    match name:
        case "Laplace":
            return stats.f.cdf(r**2 / d, d, 1)
        case "Matern":
            return stats.f.cdf(r**2 / d, d, 3)
        case "Cauchy":
            u = (np.arange(100) + 0.5) / 100
            return stats.chi.cdf(r[:, None] / np.sqrt(-2 * np.log(u)), d).mean(axis=1)
        case _:
            return stats.chi.cdf(r, d)


# --- laws ---


@pytest.mark.parametrize("sampling", DRAWS)
@pytest.mark.parametrize("name", ISOTROPIC)
@pytest.mark.parametrize("d", [1, 5, 40])
def test_frequencies_have_their_law(name, sampling, d):
    family = ISOTROPIC[name]
    W = frequencies(family.set_params(sampling=sampling), 8192, d)
    law = naive.law_of_coordinate("Gaussian" if name == "ArcCosine" else name, 1.5)
    # a lattice point in 128 is what a structured coordinate deviates by
    slack = 0.02 + (0.015 if sampling == "structured" else 0)
    assert stats.kstest(W[:, 0], law.cdf).statistic < slack
    assert stats.kstest(W[:, -1] / 1.0, law.cdf).statistic < slack
    along = rng(1).standard_normal(d)  # isotropic: any direction has the law of a coordinate
    assert stats.kstest(W @ along / np.linalg.norm(along), law.cdf).statistic < slack
    lengths = np.linalg.norm(W, axis=1)
    assert stats.kstest(lengths, lambda r: length_cdf(name, d, r)).statistic < slack


@pytest.mark.parametrize("sampling", ["iid", "sobol"])
@pytest.mark.parametrize("family", [Laplace, Cauchy])
def test_product_forms_have_independent_coordinates(family, sampling):
    W = frequencies(family(1.0, norm="l1", sampling=sampling), 8192, 3)
    law = naive.law_of_coordinate(family.__name__)
    assert all(stats.kstest(w, law.cdf).statistic < 0.02 for w in W.T)
    assert abs(np.corrcoef(np.log(np.abs(W[:, :2])).T)[0, 1]) < 0.05
    joint = frequencies(family(1.0, sampling=sampling), 8192, 3)
    assert np.corrcoef(np.log(np.abs(joint[:, :2])).T)[0, 1] > 0.1


@pytest.mark.parametrize("sampling", DRAWS)
def test_phases_are_uniform_and_apart_from_frequencies(sampling):
    atoms = draw(Gaussian(1.0, sampling=sampling), 4096, 3).atoms
    turns = atoms["offsets"] / (2 * np.pi)
    assert stats.kstest(turns, "uniform").statistic < 0.03
    both = np.column_stack([turns, atoms["frequencies"]])
    assert np.abs(np.corrcoef(both.T)[0, 1:]).max() < 0.05


def test_phase_and_pair_form_share_their_frequencies():
    for sampling in DRAWS:
        phase = frequencies(Gaussian(1.0, sampling=sampling), 40, 5)
        assert_array_equal(phase, frequencies(Gaussian(1.0, form="pair", sampling=sampling), 40, 5))


@pytest.mark.parametrize("sampling", DRAWS)
def test_rough_kernels_have_finite_frequencies(sampling):
    W = frequencies(Matern(0.01, 1.0, sampling=sampling), 500, 3)
    assert np.all(np.isfinite(W))
    assert np.abs(W).max() < 1e7


# --- errors ---


def error(family, sampling, d, F=256, seeds=40):
    """Root mean square error of the kernel on pairs of rows, over seeds."""
    family.set_params(sampling=sampling)
    X = rows(20, d) * np.sqrt(2 / d)
    above = np.triu_indices(len(X), k=1)
    exact, squares = family.exact_kernel(X)[above], []
    for seed in range(seeds):
        phi = features(X, family.draw(F * family.columns_per_atom, d, rng(seed)))
        squares.append(np.mean(((phi @ phi.T)[above] / phi.shape[1] - exact) ** 2))
    return np.sqrt(np.mean(squares))


@pytest.mark.parametrize("name", ISOTROPIC)
@pytest.mark.parametrize("d", [1, 3, 10, 100])
def test_structure_pays(name, d):
    family = ISOTROPIC[name]
    iid = error(family, "iid", d)
    orthogonal, structured = error(family, "orthogonal", d), error(family, "structured", d)
    assert orthogonal < 0.96 * iid
    assert structured < 0.98 * iid
    if d >= 10:
        assert structured < 1.05 * orthogonal
    if d <= 10:
        assert error(family, "sobol", d) < 0.93 * iid


def test_structure_pays_with_random_phases_too():
    family = Gaussian(1.0)
    iid = error(family, "iid", 10)
    assert error(family, "orthogonal", 10) < 0.96 * iid
    assert error(family, "structured", 10) < 0.96 * iid
    assert error(family, "sobol", 10) < 0.96 * iid


# --- the draws themselves ---


def test_orthogonal_blocks():
    g = radial.orthogonal(25, 10, rng())
    for start in (0, 10, 20):
        block = g[start : start + 10]
        inner = block @ block.T
        assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-12)
    assert radial.orthogonal(3, 50_000, rng()).shape == (3, 50_000)  # no d x d matrix


@pytest.mark.parametrize(("n_atoms", "d"), [(1, 1), (5, 3), (128, 128), (256, 100), (300, 130)])
def test_structured_blocks(n_atoms, d):
    p = 128 if d <= 128 else 256
    operator = radial.structured(n_atoms, d, rng(), np.full(n_atoms, 3.0))
    assert (operator.n_forms, operator.n_inputs, operator.padded) == (n_atoms, d, p)
    assert (operator.forms is None) == (n_atoms % p == 0)
    whole = radial.Structured(p, operator.signs, operator.radii, operator.forms).to_matrix()
    assert_allclose(operator.to_matrix(), whole[:, :d], atol=1e-12)
    lengths = np.linalg.norm(whole, axis=1)
    assert_allclose(lengths, operator.radii[:n_atoms], rtol=1e-12)
    assert np.all(np.abs(lengths / 3 / np.sqrt(p) - 1) < 0.35)  # chi_p times the scale
    inner = whole[:p] @ whole[:p].T
    assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_stratified_uniforms(n):
    u = radial.stratified(n, rng())
    assert_array_equal(np.sort(np.floor(u * n)), np.arange(n))


@pytest.mark.parametrize("n", [1, 2, 3, 100, 1024])
def test_sobol_points_lie_inside_the_cube(n):
    u = radial.sobol_uniforms(n, 4, rng())
    assert u.shape == (n, 4)
    assert np.all((u > 0) & (u < 1))
    assert np.all(u * 2**30 % 1 == 0.5)  # in the middle of their cells
    assert np.all(np.isfinite(radial.normal_quantile(u)))


def test_sobol_refuses_very_wide_rows():
    with pytest.raises(ValueError, match="sampling='sobol' needs 30002 dimensions.*'orthogonal'"):
        Gaussian(1.0, sampling="sobol").draw(4, 30_000, rng())
