"""Chunks: what may be iterated again, what may not, and what may not change."""

import numpy as np
import pytest
from scipy import sparse

from bochner.rows.scan import scan
from row_sums import Moments, moments

pd = pytest.importorskip("pandas")

X = np.random.default_rng(0).standard_normal((30, 3))
Y = np.arange(30.0)
PAIRS = [(X[i : i + 10], Y[i : i + 10]) for i in (0, 10, 20)]


def refused(error, *words):
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*(?:{w}))" for w in words))


class SameIterator:
    """Looks repeatable, hands out one and the same iterator."""

    def __init__(self):
        self.iterator = iter(PAIRS)

    def __iter__(self):
        return self.iterator


@pytest.mark.parametrize(
    "chunks", [iter(PAIRS), (c for c in PAIRS), map(tuple, PAIRS), SameIterator()], ids=repr
)
def test_what_can_be_read_once_is_refused_with_advice(chunks):
    with refused(ValueError, type(chunks).__name__, "only once", r"scan\(lambda", "passes=1"):
        scan(chunks)


def test_one_pass_is_granted_where_one_was_asked_for():
    source = scan((c for c in PAIRS), passes=1)
    np.testing.assert_allclose(source.reduce(Moments()), moments(X, Y))
    with refused(ValueError, "passes=1", "pass 2", r"scan\(lambda"):
        source.reduce(Moments())
    with refused(ValueError, "passes is 0"):
        scan(PAIRS, passes=0)


def test_a_function_that_returns_one_iterator_is_found_out():
    iterator = iter(PAIRS)
    source_of = lambda: iterator  # noqa: E731
    with refused(ValueError, "Chunk 0", "no rows|10 rows", "fresh iterator"):
        source = scan(source_of)
        source.reduce(Moments())
        source.reduce(Moments())


def test_functions_that_give_nothing_useful():
    with refused(ValueError, "no chunk at all", "at least one"):
        scan([])
    with refused(TypeError, "returned an object of type int"):
        scan(lambda: 3)
    with refused(ValueError, "tuple of 4 parts", r"\(X, y, weight\)"):
        scan([(X, Y, Y, Y)])
    with refused(ValueError, "X of chunk 0", "Expected 2D", r"\(X, y\)"):
        scan([Y, Y])
    with refused(ValueError, "target=", "DataFrame chunks", r"\(X, y\)"):
        scan(PAIRS, "label")


def _with_third(chunk):
    return scan([*PAIRS[:2], chunk, PAIRS[2]])


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        ((X[:, :2], Y), ["2 columns", "3"]),
        ((X,), ["1 parts", "2"]),
        (X, ["1 parts"]),
        ((sparse.csr_matrix(X), Y), ["sparse matrix", "dense"]),
        ((pd.DataFrame(X), Y), ["DataFrame", "array"]),
        ((X, np.stack([Y, Y], 1)), [r"y of shape \(30, 2\)"]),
        ((X, Y[:7]), ["inconsistent numbers of samples"]),
        ((X.astype(complex), Y), ["Complex"]),
        ((X.astype(str), Y), ["expected numbers"]),
        ((np.where(X > 0, "a", X.astype(object)), Y), ["not a number"]),
        ((X[:, 0], Y), ["Expected 2D"]),
    ],
)
def test_a_chunk_that_changes_is_named(chunk, words):
    with refused(ValueError, "chunk 2", *words):
        _with_third(chunk).reduce(Moments())


def test_a_chunk_that_needs_a_wider_dtype():
    chunks = [X.astype(np.float32), X]
    with refused(ValueError, "chunk 1", "float64", "dtype='float64'"):
        scan(chunks).reduce(Moments())
    for dtype in ("float32", "float64"):
        source = scan(chunks, dtype=dtype)
        assert {b.X.dtype for b in source.blocks(0)} == {np.dtype(dtype)}
    ints = [np.arange(30).reshape(10, 3), X]  # whole numbers work in float64: nothing is lost
    assert scan(ints).reduce(Moments())[0] == 40


@pytest.mark.parametrize("second", [PAIRS[:2], [*PAIRS, PAIRS[0]], [PAIRS[0], PAIRS[1], (X, Y)]])
def test_another_number_of_rows_or_chunks_in_a_later_pass(second):
    passes = [PAIRS, PAIRS, second]
    source = scan(lambda: iter(passes.pop(0)))
    source.reduce(Moments())
    with refused(ValueError, "Chunk [23]", "earlier", "same chunks"):
        source.reduce(Moments())


def test_frames_that_change():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=Y)
    with refused(ValueError, "'c' is not a column of chunk 1"):
        scan([frame, frame.drop(columns="c")], "label").reduce(Moments())
    with refused(ValueError, "chunk 1", "extra columns", "'d'"):
        scan([frame, frame.assign(d=1.0)], "label").reduce(Moments())
    with refused(ValueError, "chunk 1", "column 'a' of kind category", "number"):
        scan([frame, frame.assign(a="x")], "label").reduce(Moments())
    with refused(ValueError, "chunk 1", "a ndarray", "DataFrame"):
        scan([frame, X], "label").reduce(Moments())
    chosen = scan([frame, frame.assign(d=1.0)], "label", columns=["c", "a"])
    np.testing.assert_allclose(
        chosen.reduce(Moments()), moments(np.tile(X[:, [2, 0]], (2, 1)), np.tile(Y, 2))
    )
    gone = frame.assign(a=pd.Series([None] * 30, dtype=object))  # nothing known fits any kind
    assert np.isnan(list(scan([frame, gone], "label").blocks(0))[1].X[:, 0]).all()


def test_a_target_given_twice():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with refused(ValueError, "given twice"):
        scan([(frame, Y)], "a")


def test_rows_are_known_for_a_list_and_after_a_pass():
    assert scan(PAIRS).n_rows == 30
    source = scan(lambda: iter(PAIRS))
    assert source.n_rows is None
    source.reduce(Moments())
    assert source.n_rows == 30


def test_an_error_in_the_iterable_comes_through():
    def chunks():
        yield PAIRS[0]
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        scan(chunks).reduce(Moments())
