"""The hash of rows: the same for the same content, uniform for all else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse, stats

from bochner.rows.hashing import hash_rows
from make import LAYOUTS, thinned


@pytest.mark.parametrize("seed", [0, 1, -5, 2**63 + 11])
def test_equal_rows_have_equal_hashes(seed):
    X = thinned(50, 7).astype(np.float32).astype(np.float64)
    X[0] = -0.0
    expected = hash_rows(X, seed)
    for layout in LAYOUTS.values():
        assert_array_equal(hash_rows(layout(X), seed), expected)
    assert_array_equal(hash_rows(np.abs(X[:1]), seed), expected[:1])  # zero has no sign
    assert_array_equal(hash_rows(np.hstack([X, np.zeros((50, 3))]), seed), expected)


def test_explicit_zeros_and_split_entries_are_no_difference():
    X = thinned(20, 4)
    plain = sparse.csr_array(X)
    odd = sparse.csr_array((np.tile(plain.data / 2, 2), np.tile(plain.nonzero(), 2)), shape=X.shape)
    halves = sparse.coo_array((np.repeat(plain.data / 2, 2), np.repeat(plain.nonzero(), 2, axis=1)))
    unsummed = sparse.csr_array((halves.data, halves.coords[1], 2 * plain.indptr), shape=X.shape)
    assert not unsummed.has_canonical_format
    before = unsummed.data.copy()
    zeros = plain.copy()
    zeros.data[:3] = 0.0
    assert_array_equal(hash_rows(odd, 1), hash_rows(X, 1))
    assert_array_equal(hash_rows(unsummed, 1), hash_rows(X, 1))
    assert_array_equal(hash_rows(zeros, 1), hash_rows(zeros.toarray(), 1))
    assert_array_equal(unsummed.data, before)


def test_other_rows_columns_seeds_and_targets_have_other_hashes():
    X = np.round(thinned(300, 3), 1)
    distinct = len(np.unique(X, axis=0))
    assert len(np.unique(hash_rows(X, 0))) == distinct
    assert len(np.unique(hash_rows(X[:, ::-1], 0))) == distinct
    swapped = np.any(X[:, ::-1] != X, axis=1)
    assert not np.any((hash_rows(X, 0) == hash_rows(X[:, ::-1], 0))[swapped])
    assert not np.any(hash_rows(X, 0) == hash_rows(X, 1))
    y = np.arange(300) % 2.0
    assert not np.any(hash_rows(X, 0, y) == hash_rows(X, 0, 1 - y))
    assert_array_equal(hash_rows(X, 0, y), hash_rows(X, 0, y[:, None]))


@pytest.mark.parametrize("values", [np.arange(20_000.0), 2.0 ** np.arange(-500, 500)])
def test_hashes_are_uniform(values):
    X = np.column_stack([values, np.ones_like(values)])
    for dtype in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            kept = X.astype(dtype)
        kept = kept[np.isfinite(kept[:, 0]) & (kept[:, 0] > 0)]
        u = hash_rows(kept, 7) / 2.0**64
        assert stats.kstest(u, "uniform").pvalue > 1e-3
        low = (hash_rows(kept, 7) & np.uint64(0xFFFF)) / 2.0**16
        assert stats.kstest(low, "uniform").pvalue > 1e-3
