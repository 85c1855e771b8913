"""Column treatment: laws of the sums, and what each kind of column becomes."""

import numpy as np
import pytest

from bochner.rows import Block, Frame, MemorySource, Schema
from bochner.search.columns import MAX_CATEGORIES, ColumnSums, learn_treatment
from make import rng


def treated(source):
    treatment = learn_treatment(source)
    mapped = source.mapped(treatment, treatment.output)
    return np.concatenate([b.X for b in mapped.blocks(0)]), treatment


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 5.0, 1e3, 0.0]
    X[:, 3] = 7.0  # constant
    X[rng.random(400) < 0.2, 1] = np.nan
    return X


def test_numbers_are_standardised_and_gaps_marked(numbers):
    Z, treatment = treated(MemorySource(numbers))
    assert treatment.output.names == ("x0", "x1", "x2", "x3", "x1 missing")
    # mean and scale are kept to a millionth of the scale, see `_coarse`
    np.testing.assert_allclose(Z[:, :3].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(Z[:, [0, 2]].std(axis=0), 1, rtol=1e-6)
    there = ~np.isnan(numbers[:, 1])
    np.testing.assert_allclose(Z[there, 1].std(), 1, rtol=1e-6)
    assert not Z[~there, 1].any()
    np.testing.assert_array_equal(Z[:, 4] == 1, ~there)
    assert not Z[:, 3].any()


def test_blocks_order_and_repetition_do_not_matter(numbers):
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, size=len(numbers)).astype(float)
    rows = rng.permutation(np.repeat(np.arange(len(numbers)), times.astype(int)))
    weighted = learn_treatment(MemorySource(numbers, None, times, block_bytes=500))
    repeated = learn_treatment(MemorySource(numbers[rows], block_bytes=3000))
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)


def test_merging_is_folding(numbers):
    row_sum = ColumnSums(MemorySource(numbers).schema)
    whole = row_sum.update(row_sum.start(), Block(numbers))
    parts = [row_sum.update(row_sum.start(), Block(p)) for p in np.array_split(numbers, 5)]
    tree = row_sum.merge(
        row_sum.merge(parts[0], parts[1]), row_sum.merge(parts[2], row_sum.merge(*parts[3:]))
    )
    np.testing.assert_allclose(tree.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(tree.squares, whole.squares, rtol=1e-9)


def frame(**columns):
    kinds = tuple("category" if c.dtype == object else "number" for c in columns.values())
    source = MemorySource(
        Frame(tuple(columns), tuple(columns.values())), names=tuple(columns), kinds=kinds
    )
    return source


def test_categories_become_a_column_each():
    age = np.array([1.0, 2.0, 3.0, np.nan])
    city = np.array(["b", None, "a", "b"], dtype=object)
    Z, treatment = treated(frame(age=age, city=city))
    assert treatment.output.names == ("age", "city=a", "city=b", "city=None", "age missing")
    np.testing.assert_array_equal(Z[:, 1:4], [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
    unseen = Block(Frame(("age", "city"), (age[:1], np.array(["new"], dtype=object))))
    assert not treatment(unseen).X[0, 1:4].any()


def test_a_category_of_rows_without_weight_is_not_seen():
    city = np.array(["a", "b"], dtype=object)
    source = MemorySource(
        Frame(("city",), (city,)), None, np.array([1.0, 0.0]), names=("city",), kinds=("category",)
    )
    assert learn_treatment(source).categories == (("a",),)


def test_identifiers_dates_and_text_are_refused_by_name():
    ids = np.array([f"user {i}" for i in range(MAX_CATEGORIES + 1)], dtype=object)
    with pytest.raises(ValueError, match="'user' has more than 1000 different values"):
        learn_treatment(frame(user=ids))
    source = frame(when=np.zeros(3))
    for kind, held in (("date", "a date"), ("text", "text")):
        source.schema = Schema(1, np.dtype(float), ("when",), (kind,))
        with pytest.raises(ValueError, match=f"column 'when' holds {held}, which"):
            learn_treatment(source)


def test_infinity_is_refused_by_name(numbers):
    X = numbers.copy()
    X[5, 2] = -np.inf
    with pytest.raises(ValueError, match="infinity .* column 'x2'"):
        learn_treatment(MemorySource(X))
    treatment = learn_treatment(MemorySource(numbers))
    with pytest.raises(ValueError, match="infinity .* column 'x2'"):
        treatment(Block(X))


def test_rounding_of_sums_never_reaches_a_treated_number(numbers):
    rng = np.random.default_rng(2)
    whole = learn_treatment(MemorySource(numbers))
    for _ in range(20):
        other = learn_treatment(MemorySource(rng.permutation(numbers), block_bytes=1000))
        np.testing.assert_array_equal(other(Block(numbers)).X, whole(Block(numbers)).X)


@pytest.mark.parametrize("seed", range(5))
def test_fractional_weights_make_no_gaps(seed):
    """The weights of all rows less those of all rows are zero, whatever their sums round to."""
    X, weight = rng(seed).standard_normal((300, 6)), rng(seed + 10).random(300)
    X[7, 2] = np.nan
    for block_bytes in (2**20, 500):
        treatment = learn_treatment(MemorySource(X, weight=weight, block_bytes=block_bytes))
        assert treatment.output.names == ("x0", "x1", "x2", "x3", "x4", "x5", "x2 missing")
