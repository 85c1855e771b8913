"""Algorithm 1: known peaks, units, best over the way, polish, and what is not finite."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import statistics
from bochner.learners.margin.peaks import Climb, climb, polish
from bochner.rows import MemorySource
from bochner.statistics import Potential
from make import rng, rows

TRUE = np.array([1.5, -0.7, 0.4])


class Coefficients:
    def __call__(self, block):
        return block.y[:, None]


def surface(X, r):
    source = MemorySource(X, r)
    return lambda W: statistics.potential(source, W, Coefficients())


def planted(n=400, seed=0, scale=1.0):
    """Rows whose coefficients are a wave of frequency TRUE."""
    X = rows(n, 3, seed)
    return scale * X, np.cos(X @ TRUE + 0.3)


HOW = Climb("momentum", 60, 1.0, 0.0, np.inf)


def found(X, r, how=HOW, chains=16, seed=0, L=2.45, scale=1.0):
    W = rng(seed).standard_normal((chains, 3)) / scale
    return climb(surface(X, r), W, scale * L, np.abs(r).sum(), how, rng(1))


def distance(W):
    return min(np.linalg.norm(s * W - TRUE) for s in (1, -1))


@pytest.mark.parametrize(
    ("method", "steps", "step"), [("momentum", 60, 1.0), ("langevin", 150, 8.0)]
)
@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_a_planted_wave_is_found(method, steps, step, temperature):
    X, r = planted()
    peaks = found(X, r, Climb(method, steps, step, temperature, np.inf))
    best = int(np.argmax(peaks.value))
    assert distance(peaks.frequencies[best]) < 0.15
    at = surface(X, r)(peaks.frequencies)
    assert_allclose(at.value, peaks.value, rtol=1e-12)


def test_units_cancel():
    X, r = planted()
    one, other = found(X, r), found(1e3 * X, 7.0 * r, scale=1e3)
    assert_allclose(other.frequencies, one.frequencies / 1e3, rtol=1e-6)
    twice = found(np.repeat(X, 2, axis=0), np.repeat(r, 2))
    assert_allclose(twice.frequencies, one.frequencies, rtol=1e-6)


def test_more_steps_never_end_lower():
    X, r = planted()
    values = [found(X, r, Climb("langevin", k, 8.0, 1.0, np.inf)).value for k in (0, 5, 20, 60)]
    assert np.all(np.diff(values, axis=0) >= 0)


def test_polish_goes_up_to_a_stationary_point():
    X, r = planted()
    start = found(X, r, Climb("momentum", 15, 1.0, 0.0, np.inf))
    f = surface(X, r)
    before = np.linalg.norm(f(start.frequencies).gradient, axis=1)
    peaks = polish(f, start.frequencies, 2.45, 40, np.inf)
    assert np.all(peaks.value >= start.value)
    after = np.linalg.norm(f(peaks.frequencies).gradient, axis=1)
    assert np.median(after / before) < 1e-4
    assert np.all(
        np.diff([polish(f, start.frequencies, 2.45, k, np.inf).value.sum() for k in (0, 3, 9)]) > 0
    )


def test_the_band_limit_holds():
    X, r = planted()
    peaks = found(X, r, Climb("momentum", 60, 1.0, 0.1, 1.0))
    assert np.linalg.norm(peaks.frequencies, axis=1).max() <= 1.0 + 1e-9
    peaks = polish(surface(X, r), peaks.frequencies, 2.45, 5, 1.0)
    assert np.linalg.norm(peaks.frequencies, axis=1).max() <= 1.0 + 1e-9


def test_what_is_not_finite_is_stepped_back_from():
    X, r = planted()
    inner = surface(X, r)

    def broken(W):
        found = inner(W)
        far = np.linalg.norm(W, axis=1) > 1.2
        return Potential(np.where(far, np.nan, found.value), found.gradient)

    W = 0.2 * rng(0).standard_normal((8, 3))
    peaks = climb(broken, W, 2.45, np.abs(r).sum(), HOW, rng(1))
    assert peaks.reduced > 0
    assert np.isfinite(peaks.value).all()
    assert np.isfinite(peaks.frequencies).all()
    with pytest.raises(ValueError, match="not finite even where the search begins"):
        climb(broken, 100 * W, 2.45, 1.0, HOW, rng(1))
