"""What every family has to keep. A newcomer subclasses `FamilyContract` and supplies

* ``family``: the class, whose ``typical`` lists the settings worth trying;
* ``slow_kernel(family, x, y)``: the kernel of two rows, independent of the implementation;

and inherits all tests. Each runs on every combination of the settings that are strings, and on
every other typical value by itself; `Family.check` says which of them make sense.
"""

from __future__ import annotations

import itertools
import pickle

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone

import naive
from bochner import families
from make import LAYOUTS, draw, rng, rows
from operations import OperationsContract, is_valid


def cases(family):
    """The settings that the contract runs on."""
    typical = family.typical
    first = {name: values[0] for name, values in typical.items()}
    words = [name for name, values in typical.items() if isinstance(values[0], str)]
    found = [
        first | dict(zip(words, chosen, strict=True))
        for chosen in itertools.product(*(typical[name] for name in words))
    ]
    for name in typical.keys() - set(words):
        found += [first | {name: value} for value in typical[name][1:]]
    return [settings for settings in found if is_valid(family(**settings))]


def label(settings):
    return "-".join(str(value) for value in settings.values()) or "plain"


def estimate(fm, X):
    """The kernel as the features have it."""
    return naive.dense(fm.kernel(X))


class FamilyContract(OperationsContract):
    family: type

    def pytest_generate_tests(self, metafunc):
        if "settings" in metafunc.fixturenames:
            metafunc.parametrize("settings", cases(self.family), ids=label)

    def slow_kernel(self, family, x, y):
        raise NotImplementedError

    @pytest.fixture
    def build(self, settings):
        """A family with these settings, built anew each time it is called."""
        return lambda: self.family(**settings)

    # --- the kernel ---

    def test_kernel_in_bias_max_and_mean_error(self, build):
        family, X = build(), rows(12, 3)
        fm = draw(family, 2048, 3, seed=1)
        phi = naive.features(fm, X).reshape(len(X), -1, family.columns_per_atom)
        atoms = np.einsum("ifk,jfk->fij", phi, phi) * phi.shape[1]
        error = atoms.mean(axis=0) - family.exact_kernel(X)
        noise = atoms.std(axis=0) / np.sqrt(len(atoms)) + 1e-9
        if fm.n_features == family.n_available(3):
            noise[:] = 1e-9  # all there is was drawn: nothing is left to chance
        assert abs(error.mean()) <= 3 * noise.mean()
        assert np.abs(error).mean() <= 2 * noise.mean()
        assert np.all(np.abs(error) <= 5 * noise)

    @pytest.mark.parametrize("d", [1, 2, 3, 5, 100])
    def test_unbiased_over_seeds(self, build, d):
        family, X = build(), rows(4, d)
        if not is_valid(family, d):
            pytest.skip("refused in this dimension")
        runs = np.array([estimate(draw(family, 96, d, seed), X) for seed in range(32)])
        deviation = runs.mean(axis=0) - family.exact_kernel(X)
        noise = runs.std(axis=0) / np.sqrt(len(runs)) + 1e-9
        # ten entries in each of some 350 such tests, and a spread known from 32 runs only: a
        # Student quantile at which one false alarm in all of them has a chance of one in 1,000
        assert np.abs(deviation / noise).max() < stats.t.isf(1e-3 / 3500 / 2, len(runs) - 1)

    def test_exact_kernel_is_the_slow_truth(self, build):
        family, X, Y = build(), rows(3, 3), rows(2, 3, seed=5)
        slow = naive.pairwise(lambda x, y: self.slow_kernel(family, x, y), X, Y)
        assert_allclose(family.exact_kernel(X, Y), slow, atol=2e-7)
        square = naive.pairwise(lambda x, y: self.slow_kernel(family, x, y), X)
        assert_allclose(family.exact_kernel(X), square, atol=2e-7)

    def test_exact_kernel_takes_any_rows(self, build):
        family, X = build(), np.round(3 * rows(9, 4))
        kernel = family.exact_kernel(X)
        assert kernel.dtype == np.float64
        assert_allclose(kernel, kernel.T, atol=1e-12)
        assert np.linalg.eigvalsh(kernel)[0] > -1e-9 * len(X)
        for kind in (*LAYOUTS.values(), np.ndarray.tolist, lambda X: X.astype(np.int8)):
            assert_allclose(family.exact_kernel(kind(X)), kernel, atol=1e-6)
            assert_allclose(family.exact_kernel(kind(X), kind(X[:2])), kernel[:, :2], atol=1e-6)
        with pytest.raises(ValueError, match="reshape"):
            family.exact_kernel(X[0])

    def test_bound_holds_and_is_nearly_attained(self, build):
        family = build()
        fm = draw(family, 400, 3)
        phi = naive.features(fm, rows(100, 3)) / fm.weights
        assert np.abs(phi).max() <= family.bound
        if np.isfinite(family.bound):
            assert np.abs(phi).max() >= 0.99 * family.bound

    # --- settings and draws ---

    def test_settings_go_round(self, build, settings):
        family = build()
        assert family.get_params() == settings
        assert clone(family).get_params() == settings
        assert self.family().set_params(**settings).get_params() == settings
        assert eval(repr(family), vars(families)).get_params() == settings
        assert pickle.loads(pickle.dumps(family)).get_params() == settings

    def test_using_a_family_never_changes_it(self, build, settings):
        family = build()
        names = set(vars(family))
        family.check(3)
        family.draw(family.columns_per_atom, 3, rng())
        family.exact_kernel(rows(2, 3))
        assert family.resolve(None) is not family
        assert family.resolve(None).get_params() == family.get_params() == settings
        assert set(vars(family)) == names

    def test_the_seed_decides(self, build):
        a, b, c = (draw(build(), 64, 7, seed) for seed in (3, 3, 4))
        for name in a.atoms:
            assert_array_equal(a.atoms[name], b.atoms[name])
        all_there_is = a.n_features == a.family.n_available(7)
        first, other = (next(iter(fm.atoms.values())) for fm in (a, c))
        assert all_there_is or not np.array_equal(first, other)

    def test_counts(self, build):
        family = build()
        with pytest.raises(ValueError, match="at least one"):
            family.draw(0, 3, rng())
        if family.columns_per_atom == 2:
            with pytest.raises(ValueError, match='Ask for 2 or 4, or use form="phase"'):
                family.draw(3, 3, rng())
        if (most := family.n_available(3)) is not None:
            with pytest.raises(ValueError, match=f"at most {most}"):
                family.draw(most + 1, 3, rng())

    def test_unknown_words_are_refused_with_advice(self, build, settings):
        for name, value in settings.items():
            if isinstance(value, str):
                with pytest.raises(ValueError, match=rf"{name}=.*use one of .*{value!r}"):
                    build().set_params(**{name: value + "?"}).check(3)

    @hypothesis.settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        suppress_health_check=[hypothesis.HealthCheck.differing_executors],
    )
    @hypothesis.given(data=st.data())
    def test_any_typical_settings_draw_sound_atoms(self, data):
        chosen = {k: data.draw(st.sampled_from(v), k) for k, v in self.family.typical.items()}
        family = self.family(**chosen)
        d = data.draw(st.integers(1, 70), "d")
        hypothesis.assume(is_valid(family, d))
        count = data.draw(st.integers(1, 90), "atoms") * family.columns_per_atom
        fm = draw(family, count, d, data.draw(st.integers(0, 2**32), "seed"))
        phi = naive.features(fm, rows(3, d)) / fm.weights
        assert phi.shape == (3, fm.n_features)
        assert np.all(np.abs(phi) <= family.bound)
        assert len(set(fm.names)) == fm.n_features
        columns = data.draw(st.lists(st.integers(0, fm.n_features - 1), min_size=1), "columns")
        taken = naive.features(fm.take(np.array(columns)), rows(3, d)) / fm.weights[columns]
        operator = getattr(fm.projection, "operator", None)
        steep = 0.0 if operator is None else np.abs(operator.to_matrix()).max()
        assert_allclose(taken, phi[:, columns], atol=1e-9 * (1 + steep))
