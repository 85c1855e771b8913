"""The part of the families' contract about sums over rows: `FeatureMap` and `statistics`.

Each operation against the naive truth, for awkward shapes and every layout of the rows; a whole
pass = a chunked one = merged halves; a row of weight 2 = the row twice; `pull` and
``derivative=True`` against finite differences.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import naive
from bochner import statistics
from bochner.ops import Projection
from bochner.rows import MemorySource
from make import LAYOUTS, draw, rng, rows, thinned

#: Rows, columns, features: one of anything, no multiples of a tile, wider than a block.
SHAPES = [(1, 1, 2), (19, 1, 34), (33, 7, 10), (40, 66, 130)]


def slack(fm, X, phi):
    """Norm-wise: an argument w.x carries an error of eps |x| |w|, and so does its cosine."""
    eps = np.finfo(np.float32 if X.dtype == np.float32 else np.float64).eps
    if not isinstance(fm.projection, Projection):
        return 20 * eps * (1 + np.abs(phi).max())
    W = fm.projection.operator.to_matrix()
    size = np.linalg.norm(naive.dense(X), axis=1).max() * np.linalg.norm(W, axis=1).max()
    return 20 * eps * (1 + size) * (1 + np.abs(phi).max())


def close(found, truth, atol):
    assert_allclose(found, truth, rtol=0, atol=max(atol, atol * np.abs(truth).max(initial=0)))


def is_valid(family, d=3):
    try:
        family.check(d)
    except ValueError:
        return False
    return True


def differentiable(fm):
    return fm.family.differentiable


class OperationsContract:
    def thinned(self, n, d, seed=0):
        """Rows with zeros among their entries; a family that refuses some rows gives others."""
        return thinned(n, d, seed)

    def test_operations_are_the_naive_truth(self, build):
        for n, d, M in SHAPES:
            if not is_valid(build(), d):
                continue
            fm = draw(build(), M, d, seed=n)
            X = self.thinned(n, d, seed=d).astype(np.float32).astype(np.float64)  # exact in both
            R, T = rows(n, 3, seed=1), rows(fm.n_features, 2, seed=2)
            phi, w = naive.features(fm, X), rng(3).random(n)
            truths = phi, phi.T @ R, phi.T @ phi, phi.T @ (w[:, None] * phi), phi @ T
            for layout in LAYOUTS.values():
                given = layout(X)
                found = fm(given), fm.project(given, R), fm.gram(given), fm.gram(given, w)
                found += (fm.map_rows(given, T),)
                assert found[0].dtype == found[-1].dtype == given.dtype
                atol = slack(fm, given, phi) * np.array([1, n, n, n, fm.n_features])
                for each, truth, error in zip(found, truths, atol, strict=True):
                    close(naive.dense(each), truth, error)
                assert_array_equal(naive.dense(given), X)
            close(naive.dense(fm.kernel(X)), phi @ phi.T, atol[-1])

    def test_derivatives_are_finite_differences(self, build):
        fm, X = draw(build(), 10, 3, seed=2), rows(9, 3)  # no zeros: a relu has a kink there
        R, T = rows(9, 2, seed=1), rows(fm.n_features, 2, seed=2)
        if not differentiable(fm):
            with pytest.raises(ValueError, match="derivative"):
                fm.pull(X, R, T)
            with pytest.raises(ValueError, match="derivative"):
                fm.gram(X, derivative=True)
            return
        slope, gradient = naive.derivative(fm, X), naive.pull(fm, X, R, T)
        steep = 1 + np.abs(fm.atoms["frequencies"]).max()
        for kind in (np.asarray, sparse.csr_array):
            close(fm.gram(kind(X), derivative=True), slope.T @ slope, 1e-8 * steep)
            found = fm.pull(kind(X), R, T)
            assert set(found) == set(fm.atoms)
            for name, part in found.items():
                close(part, gradient[name], 1e-7 * steep)

    @pytest.mark.parametrize("kind", ["C", "CSR"])
    def test_whole_is_chunked_is_merged(self, build, kind):
        fm, X = draw(build(), 12, 5, seed=3), LAYOUTS[kind](self.thinned(23, 5))
        y, w, T = rows(23, 2), rng(4).random(23), rows(fm.n_features, 2, seed=2)
        whole, halves = (
            MemorySource(X, y, w),
            [MemorySource(X[part], y[part], w[part]) for part in (slice(0, 9), slice(9, None))],
        )
        chunked = MemorySource(X, y, w, block_bytes=60)
        assert len(list(chunked.blocks())) > 3
        sums = [
            statistics.ProjectSum(fm, statistics.targets),
            statistics.GramSum(fm, None, derivative=False),
        ]
        if differentiable(fm):
            sums.append(statistics.PullSum(fm, statistics.targets, T))
            sums.append(statistics.GramSum(fm, None, derivative=True))
        for row_sum in sums:
            expected = whole.reduce(row_sum)
            same(chunked.reduce(row_sum), expected)
            states = [fold(half, row_sum) for half in halves]
            same(row_sum.finalise(row_sum.merge(*states)), expected)
            empty = row_sum.merge(row_sum.start(), fold(whole, row_sum))
            same(row_sum.finalise(empty), expected)
        same(statistics.map_rows(chunked, fm, T), statistics.map_rows(whole, fm, T))

    def test_weight_two_is_the_row_twice(self, build):
        fm, X, w = draw(build(), 8, 4, seed=5), rows(11, 4), rng(6).integers(0, 4, 11)
        y = rows(11, 2)
        weighted = MemorySource(X, y, w.astype(np.float64))
        twice = MemorySource(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
        same(statistics.project(weighted, fm), statistics.project(twice, fm))
        same(statistics.gram(weighted, fm), statistics.gram(twice, fm))
        if differentiable(fm):
            T = rows(fm.n_features, 2)
            a, b = (statistics.pull(s, fm, statistics.targets, T) for s in (weighted, twice))
            same(a, b)

    def test_take_and_truncate_are_columns(self, build):
        family, X = build(), rows(6, 9)
        fm = draw(family, 20, 9, seed=7)
        phi, M = naive.features(fm, X), fm.n_features
        shuffled = rng(8).permutation(M)
        for columns in (shuffled, shuffled[: M // 2], np.array([M - 1]), np.array([1, 1, 0]) % M):
            taken = fm.take(columns)
            assert taken.n_features == len(taken.names) == len(columns)
            close(naive.features(taken, X), phi[:, columns], 1e-9)
            close(naive.dense(taken(X)), phi[:, columns], 1e-9)
        for size in {1, 2, M}:
            close(naive.features(fm.truncate(size), X), phi[:, :size], 1e-9)
        for size in (0, M + 1):
            with pytest.raises(ValueError, match="between 1"):
                fm.truncate(size)

    def test_pairs_taken_whole_stay_pairs(self, build):
        fm = draw(build(), 12, 3)
        if getattr(fm.projection, "activation", None) != "pair":
            pytest.skip("one column an atom")
        assert fm.take(np.array([4, 5, 0, 1])).projection.activation == "pair"
        for partly in ([0], [0, 1, 2], [1, 0], [1, 2], [0, 2], [0, 1, 3, 2]):
            assert fm.take(np.array(partly)).projection.activation == "cos"
        assert fm.names[:3] == ("cos(w0)", "sin(w0)", "cos(w1)")

    def test_maps_survive_pickling(self, build):
        fm, X = draw(build(), 12, 3), rows(4, 3)
        again = pickle.loads(pickle.dumps(fm))
        assert again.names == fm.names
        assert again.family.get_params() == fm.family.get_params()
        assert_array_equal(naive.dense(again(X)), naive.dense(fm(X)))


def fold(source, row_sum):
    state = row_sum.start()
    for block in source.blocks():
        state = row_sum.update(state, block)
    return state


def same(found, expected):
    """Equal to rounding: arrays, or dicts of them."""
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for name in expected:
            same(found[name], expected[name])
    else:
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max()))
