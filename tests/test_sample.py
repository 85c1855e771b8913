"""The sample by hash, the moments that come with it, and minibatches."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from bochner.rows import MemorySource, draw_sample
from bochner.rows.batches import batches
from bochner.rows.hashing import hash_rows
from bochner.rows.moments import Moments
from bochner.rows.sample import SampleRows
from bochner.rows.source import MappedSource
from make import LAYOUTS, rng, rows, thinned


def same(a, b):
    assert_array_equal(as_dense(a.X), as_dense(b.X))
    assert (a.y is None) == (b.y is None)
    if a.y is not None:
        assert_array_equal(a.y, b.y)
    assert_allclose(a.weight, b.weight)
    assert_allclose([a.total_weight, a.variance], [b.total_weight, b.variance], rtol=1e-10)


def as_dense(X):
    return X.toarray() if sparse.issparse(X) else X


def duplicated(n=200, d=5):
    """Rows of which many are equal, with weights of which many are zero."""
    X = thinned(n, d)[rng(1).integers(0, n // 3, n)]
    return X, rng(2).integers(0, 2, n).astype(np.float64), rng(3).integers(0, 4, n) * 1.0


# --- the sample ---


@pytest.mark.parametrize("targets", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_order_blocks_and_layout_change_nothing(size, targets):
    X, y, w = duplicated()
    X = X.astype(np.float32).astype(np.float64)
    expected = draw_sample(MemorySource(X, y, w), size, 5, targets=targets)
    for seed in range(3):
        p = rng(seed).permutation(len(X))
        for block_bytes in (40, 700, 2**20):
            source = MemorySource(X[p], y[p], w[p], block_bytes=block_bytes)
            same(draw_sample(source, size, 5, targets=targets), expected)
    for layout in LAYOUTS.values():
        source = MemorySource(layout(X), y, w, block_bytes=300)
        same(draw_sample(source, size, 5, targets=targets), expected)


def test_merging_is_associative():
    X, y, w = duplicated()
    row_sum = SampleRows(20, 5, targets=True)

    def part(a, b):
        source, state = MemorySource(X[a:b], y[a:b], w[a:b]), row_sum.start()
        for block in source.blocks():
            state = row_sum.update(state, block)
        return state

    def cuts():
        return [part(a, a + 50) for a in range(0, 200, 50)] + [row_sum.start()]

    a, b, c, d, nothing = cuts()
    left = row_sum.merge(row_sum.merge(row_sum.merge(row_sum.merge(a, b), c), d), nothing)
    a, b, c, d, nothing = cuts()
    tree = row_sum.merge(row_sum.merge(nothing, row_sum.merge(d, c)), row_sum.merge(b, a))
    same(row_sum.finalise(left), row_sum.finalise(tree))
    same(row_sum.finalise(left), row_sum.finalise(part(0, 200)))


def test_equal_rows_join_their_weights():
    X, y, w = duplicated()
    sample = draw_sample(MemorySource(X, y, w), 1000, 5)
    truth = {tuple(x): w[np.all(x == X, axis=1)].sum() for x in X}
    truth = {x: weight for x, weight in truth.items() if weight > 0}  # weight 0: not there
    assert {tuple(x): weight for x, weight in zip(sample.X, sample.weight, strict=True)} == truth
    assert sample.total_weight == w.sum()
    assert sample.n_rows == np.count_nonzero(w)
    some = draw_sample(MemorySource(X, y, w), 6, 5)
    same(sample.head(6), some)  # a prefix is a smaller sample, its weights still complete


def test_targets_tell_rows_apart():
    X, y, _ = duplicated()
    sample = draw_sample(MemorySource(X, y), 1000, 5, targets=True)
    assert len(sample) == len(np.unique(np.column_stack([X, y]), axis=0))
    assert sample.weight.sum() == len(X)
    assert draw_sample(MemorySource(X, y), 1000, 5).y is None


def test_a_row_of_weight_zero_is_no_row():
    X, y, w = duplicated()
    there = w > 0
    a = draw_sample(MemorySource(X, y, w), 30, 5)
    b = draw_sample(MemorySource(X[there], y[there], w[there]), 30, 5)
    same(a, b)
    assert a.n_rows == b.n_rows
    for nothing in (MemorySource(X, y, 0 * w), MemorySource(X[:0])):
        with pytest.raises(ValueError, match="no rows with a positive weight"):
            draw_sample(nothing, 30, 5)
    with pytest.raises(ValueError, match="at least one row, got size=0"):
        draw_sample(MemorySource(X), 0, 5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_bytes_bound_the_sample_whatever_the_blocks(kind):
    X = thinned(400, 30) * (rng(4).random((400, 1)) < 0.5)
    X[:, 0] = np.arange(400)
    sizes = []
    for budget in (1, 3000, 20_000, 10**9):
        samples = [
            draw_sample(MemorySource(kind(X[p]), block_bytes=b), 10**6, 5, max_bytes=budget)
            for b in (100, 2000, 10**9)
            for p in (np.arange(400), rng(b).permutation(400))
        ]
        for sample in samples[1:]:
            same(sample, samples[0])
        held = samples[0].X
        held = held.data.nbytes if sparse.issparse(held) else held.nbytes
        assert held <= max(budget, 30 * 8)
        sizes.append(len(samples[0]))
    assert sizes[0] == 1
    assert sizes[1] < sizes[2] < sizes[3] == 400


def test_a_row_too_long_ends_the_sample_however_it_is_cut():
    """No shorter row behind it may slip in, or the sample would depend on who saw it first."""
    X = np.zeros((60, 40))
    X[:, 0] = np.arange(1, 61)
    X[rng(0).random(60) < 0.3, :] += 1.0  # some rows forty times as long as the others
    X = sparse.csr_array(X)
    for budget in range(300, 3000, 300):
        row_sum = SampleRows(10**6, 5, max_bytes=budget)
        whole = draw_sample(MemorySource(X), 10**6, 5, max_bytes=budget)
        keys = np.argsort(hash_rows(X, 5))
        ends = np.cumsum([12 * n + 4 for n in np.diff(X.indptr)[keys]])
        assert len(whole) == max(1, np.count_nonzero(ends <= budget))
        for seed in range(5):
            states = [
                row_sum.update(None, next(MemorySource(X[part]).blocks()))
                for part in np.array_split(rng(seed).permutation(60), 8)
            ]
            while len(states) > 1:
                states = [
                    row_sum.merge(a, b) for a, b in zip(states[::2], states[1::2], strict=True)
                ]
            same(row_sum.finalise(states[0]), whole)


def test_every_row_is_as_likely_as_another():
    X = np.arange(50.0)[:, None]
    drawn = [draw_sample(MemorySource(X), 10, seed).X[:, 0] for seed in range(400)]
    counts = np.bincount(np.concatenate(drawn).astype(int), minlength=50)
    assert stats.chisquare(counts).pvalue > 1e-3


# --- moments ---


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_variance_is_that_of_all_entries(kind, offset):
    X, w = thinned(61, 7) + offset, rng(2).integers(0, 4, 61)
    truth = np.repeat(X, w, axis=0).var()
    for block_bytes in (100, 10**6):
        source = MemorySource(kind(X), weight=w * 1.0, block_bytes=block_bytes)
        assert_allclose(draw_sample(source, 5, 0).variance, truth, rtol=1e-6)
    assert Moments.of(kind(np.full((9, 3), 0.1)), np.full(9, 0.3)).variance == 0.0
    assert Moments.of(kind(X), np.zeros(61)).variance == 0.0


# --- minibatches ---


@pytest.mark.parametrize("size", [1, 6, 23, 100])
@pytest.mark.parametrize("kind", ["C", "CSR", "read-only", "float32"])
def test_every_row_comes_once_an_epoch(size, kind):
    X, y, w = LAYOUTS[kind](rows(23, 3)), np.arange(23.0), rng(1).random(23)
    blocks = list(batches(MemorySource(X, y, w), size, rng(0), epochs=2))
    assert [b.n_rows for b in blocks] == 2 * ([size] * (23 // size) + [23 % size] * (23 % size > 0))
    seen = np.concatenate([b.y for b in blocks]).astype(int)
    for epoch in (seen[:23], seen[23:]):
        assert_array_equal(np.sort(epoch), np.arange(23))
    assert not np.array_equal(seen[:23], seen[23:]) or size >= 23
    for b in blocks:
        assert_array_equal(as_dense(b.X), as_dense(X)[b.y.astype(int)])
        assert_array_equal(b.weight, w[b.y.astype(int)])


def test_minibatches_are_seeded_and_not_in_order():
    source = MemorySource(rows(100, 2), np.arange(100.0))
    a, b, c = (
        np.concatenate([block.y for block in batches(source, 10, rng(seed))]) for seed in (0, 0, 1)
    )
    assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    assert abs(np.corrcoef(a, np.arange(100))[0, 1]) < 0.3


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_other_sources_are_sampled(kind):
    X, y, w = duplicated()
    memory = MemorySource(kind(X), y, w, block_bytes=500)
    source = MappedSource(memory, lambda block: block, memory.schema)
    everything = list(batches(source, 7, rng(0)))
    assert sum(b.weight.sum() for b in everything) == w.sum()
    assert all(b.n_rows <= 7 for b in everything)
    few = sum(b.n_rows for b in batches(source, 7, rng(0), max_bytes=800))
    assert 0 < few < sum(b.n_rows for b in everything)


def test_empty_minibatches_are_refused_at_once():
    with pytest.raises(ValueError, match="at least one row, got size=0"):
        batches(MemorySource(rows(3, 2)), 0, rng(0))
