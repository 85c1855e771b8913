"""k-grams: against a slow truth, in every form that sequences take, in memory and as a stream."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from bochner import KGramEncoder, LearnedFeatures, scan, statistics
from bochner.estimators.kgrams import encoding
from bochner.families import Linear
from bochner.rows import RowSource

DNA = ["GATTACAGATTA", "CCGGTTAACCGG", "TTTTTTTTTTTT", "GATTNCAGATTA"]


def naive(sequences, k_lo, k_hi, alphabet, positional=True, length=None, right=False, fold=True):
    """(dense rows, names): a dictionary from name to column, letter by letter."""
    length = max(map(len, sequences)) if length is None else length
    names = []
    for k in range(k_lo, k_hi + 1):
        grams = ["".join(g) for g in itertools.product(alphabet, repeat=k)]
        shift = -length if right else 0
        if positional:
            names += [f"{g}@{p + shift}" for p in range(length - k + 1) for g in grams]
        else:
            names += grams
    column = {name: j for j, name in enumerate(names)}
    X = np.zeros((len(sequences), len(names)))
    for i, s in enumerate(sequences):
        s = s.upper() if fold else s
        for k in range(k_lo, k_hi + 1):
            for p in range(len(s) - k + 1):
                at = p - len(s) if right else p
                name = f"{s[p : p + k]}@{at}" if positional else s[p : p + k]
                if name in column:
                    X[i, column[name]] += 1
    return X, names


def same(encoder, X, truth, names):
    found = encoder.transform(X)
    assert sparse.issparse(found)
    assert found.format == "csr"
    assert found.has_sorted_indices
    np.testing.assert_array_equal(found.toarray(), truth)
    assert encoder.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("positional", [True, False])
@pytest.mark.parametrize("k", [(1, 3), (2, 2), (3, 4), 1])
def test_against_the_slow_truth(k, positional):
    lo, hi = k if isinstance(k, tuple) else (k, k)
    truth, names = naive(DNA, lo, hi, "ACGT", positional)
    encoder = KGramEncoder(k=k, alphabet="ACGT", positional=positional).fit(DNA)
    same(encoder, DNA, truth, names)
    assert encoder.n_columns_ == len(names)


@given(
    rows=st.lists(st.text("abcé-", min_size=0, max_size=9), min_size=1, max_size=8),
    k_lo=st.integers(1, 3),
    more=st.integers(0, 2),
    kind=st.sampled_from(["left", "right", "counts"]),
    length=st.integers(3, 8),
)
@settings(max_examples=150, deadline=None)
def test_any_sequences(rows, k_lo, more, kind, length):
    alphabet, counts = "baé", kind == "counts"
    truth, names = naive(
        rows, k_lo, k_lo + more, alphabet, not counts, length, kind == "right", False
    )
    if not set("".join(rows)) & set(alphabet) and "".join(rows):
        return
    encoder = KGramEncoder(
        (k_lo, k_lo + more),
        alphabet,
        not counts,
        length=length,
        ignore_case=False,
        unequal="error" if counts else kind,
    ).fit(rows)
    same(encoder, rows, truth, names)


def test_the_count_of_the_paper():
    rows = np.random.default_rng(0).choice(list("ACGT"), (3, 81))
    encoder = KGramEncoder(k=(1, 5), alphabet="ACGT").fit(rows)
    assert encoder.n_columns_ == 105_476
    names = encoder.get_feature_names_out()
    assert len(set(names)) == 105_476
    X = encoder.transform(rows)
    assert X.nnz == 3 * sum(82 - k for k in range(1, 6))
    planted = "".join(rows[0, 60:65])
    assert f"{planted}@60" in names[X[[0]].indices]
    assert encoder.names_of([0, 105_475]).tolist() == ["A@0", "TTTTT@76"]


def forms():
    letters = np.array([list(s) for s in DNA])
    codes = np.array([list(s.encode()) for s in DNA], dtype=np.uint8)
    return {
        "list": DNA,
        "object array": np.array(DNA, dtype=object),
        "str array": np.array(DNA),
        "StringDType": np.array(DNA, dtype=np.dtypes.StringDType()),
        "bytes": [s.encode() for s in DNA],
        "bytes array": np.array([s.encode() for s in DNA]),
        "n x 1": np.array(DNA, dtype=object)[:, None],
        "pandas Series": pd.Series(DNA, index=[4, 3, 2, 1]),
        "pandas category": pd.Series(DNA, dtype="category"),
        "pandas DataFrame": pd.DataFrame({"s": DNA}),
        "polars Series": pl.Series(DNA),
        "polars DataFrame": pl.DataFrame({"s": DNA}),
        "arrow": pl.DataFrame({"s": DNA}).to_arrow(),
        "letters": letters,
        "letters, Fortran": np.asfortranarray(letters),
        "letters, big-endian": letters.astype(">U1"),
        "letters of wide dtype": letters.astype("U3"),
        "objects": letters.astype(object),
        "S1": letters.astype("S1"),
        "lists of letters": [list(s) for s in DNA],
        "DataFrame of letters": pd.DataFrame(letters),
        "uint8": codes,
        "int64": codes.astype(np.int64),
        "float32": codes.astype(np.float32),
        "lower case": [s.lower() for s in DNA],
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_is_the_same_sequence(form):
    truth, names = naive(DNA, 1, 3, "ACGNT")
    encoder = KGramEncoder(k=(1, 3)).fit(forms()[form])
    assert encoder.alphabet_ == tuple("ACGNT")
    same(encoder, forms()[form], truth, names)


def test_case_counts_if_asked():
    encoder = KGramEncoder(k=1, ignore_case=False).fit(["aAb", "BBB"])
    assert encoder.alphabet_ == ("A", "B", "a", "b")
    assert encoder.transform(["aAb"]).indices.tolist() == [2, 4, 11]


def test_unequal_lengths():
    rows = ["GATTACA", "GAT"]
    with pytest.raises(ValueError, match="3 to 7 letters.*unequal='left'"):
        KGramEncoder().fit(rows)
    left = KGramEncoder(k=2, unequal="left").fit(rows)
    assert left.names_of(left.transform(rows)[[1]].indices).tolist() == ["GA@0", "AT@1"]
    right = KGramEncoder(k=2, unequal="right").fit(rows)
    assert right.names_of(right.transform(rows)[[1]].indices).tolist() == ["GA@-3", "AT@-2"]
    longer = left.transform(["GATTACAGATTACA", ""])
    np.testing.assert_array_equal(longer.toarray()[0], left.transform(["GATTACA"]).toarray()[0])
    assert longer[[1]].nnz == 0
    fixed = KGramEncoder(length=7, k=2).fit(["GATTACA"])
    with pytest.raises(ValueError, match="Sequence 1 has 3 letters.*over 7"):
        fixed.transform(rows)
    assert KGramEncoder(positional=False).fit(rows).length_ is None
    for first, second in (rows, rows[::-1]):
        with pytest.raises(ValueError, match="3 to 7 letters"):
            KGramEncoder().fit(lambda a=first, b=second: iter([[a], [b]]))
        with pytest.raises(ValueError, match="3 to 7 letters.*over 7"):
            KGramEncoder(length=7).fit(lambda a=first, b=second: iter([[a], [b]]))


def test_letters_outside_the_alphabet():
    encoder = KGramEncoder(k=(1, 2), alphabet="ACGT").fit(DNA)
    seen = encoder.names_of(encoder.transform(DNA)[[3]].indices)
    assert not [name for name in seen if "N" in name]
    assert "C@5" in seen
    assert "CA@5" in seen
    strict = clone(encoder).set_params(unknown="error").fit(DNA)
    with pytest.raises(ValueError, match="Sequence 3 has the letter 'N'.*unknown='ignore'"):
        strict.transform(DNA)
    assert strict.transform(DNA[:3]).shape[0] == 3
    gaps = np.array([[65, 0, 67]], dtype=np.uint8)
    assert KGramEncoder(k=2, alphabet="AC", unknown="error").fit(gaps).transform(gaps).nnz == 0
    with pytest.raises(ValueError, match="None of the letters.*'acgt'"):
        KGramEncoder(alphabet="ACGT", ignore_case=False).fit(["acgt"])


def chunks():
    return iter([(DNA[:3], np.array([0, 1, 0])), (DNA[3:], np.array([1]))])


def sources(tmp_path):
    pd.DataFrame({"s": DNA, "y": [0, 1, 0, 1]}).to_csv(tmp_path / "s.csv", index=False)
    codes = np.array([list(s.encode()) for s in DNA], dtype=np.uint8)
    return {
        "function": chunks,
        "scan of a frame": scan(pd.DataFrame({"s": DNA, "y": [0, 1, 0, 1]}), target="y"),
        "scan of a file": scan(str(tmp_path / "s.csv"), target="y"),
        "scan of codes": scan([(codes[:1], [0]), (codes[1:], [1, 0, 1])]),
    }


@pytest.mark.parametrize("name", ["function", "scan of a frame", "scan of a file", "scan of codes"])
def test_streams(name, tmp_path):
    X = sources(tmp_path)[name]
    whole = KGramEncoder(k=(1, 3)).fit(DNA)
    encoder = KGramEncoder(k=(1, 3)).fit(X)
    assert encoder.alphabet_ == whole.alphabet_
    assert encoder.length_ == whole.length_
    expected = whole.transform(DNA)
    encoder._longest = 10**6  # pieces of one row or two
    out = encoder.transform(X)
    assert isinstance(out, RowSource)
    for _ in range(2):
        assert (sparse.vstack(list(out)) != expected).nnz == 0
    fm = LearnedFeatures(Linear(), n_components=20, random_state=0).fit(expected).feature_map_
    y = np.array([0.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(statistics.project(out, fm), fm.project(expected, y[:, None]))
    T = np.ones((20, 2))
    rows = statistics.map_rows(out, fm, T)
    rows = rows if isinstance(rows, np.ndarray) else np.concatenate(list(rows))
    np.testing.assert_allclose(rows, fm(expected) @ T, rtol=1e-5, atol=1e-6)


def test_pieces_are_small_and_a_generator_is_read_once():
    rng = np.random.default_rng(0)
    rows = rng.choice(np.frombuffer(b"ACGT", np.uint8), (20_000, 81))
    encoder = KGramEncoder().fit(rows)
    blocks = list(encoder.transform(iter([rows[:15_000], rows[15_000:]])))
    assert sum(b.shape[0] for b in blocks) == 20_000
    assert max(b.data.nbytes + b.indices.nbytes for b in blocks) < 40 * 2**20
    assert (sparse.vstack(blocks) != encoder.transform(rows)).nnz == 0
    with pytest.raises(ValueError, match="only once"):
        KGramEncoder().fit(c for c in [DNA])


def test_an_empty_chunk_is_no_trouble():
    encoder = KGramEncoder(k=1).fit(lambda: iter([DNA[:2], [], DNA[2:]]))
    assert sum(b.shape[0] for b in encoder.transform(lambda: iter([DNA[:2], [], DNA[2:]]))) == 4
    assert encoder.transform([]).shape == (0, encoder.n_columns_)
    fm = LearnedFeatures(Linear(), random_state=0).fit(encoder.transform(DNA)).feature_map_
    blocks = list(statistics.features(encoder.transform(lambda: iter([DNA, []])), fm))
    assert [b.shape[0] for b in blocks] == [4, 0]


def test_dask():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"s": DNA * 3}), npartitions=3)
    encoder = KGramEncoder(k=(1, 2)).fit(frame)
    expected = encoder.transform(DNA * 3)
    fm = LearnedFeatures(Linear(), n_components=9, random_state=0).fit(expected).feature_map_
    out = statistics.map_rows(encoder.transform(frame), fm, np.ones((9, 1)))
    np.testing.assert_allclose(out.compute(), fm(expected).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_pipeline_finds_a_planted_gram(streamed):
    rng = np.random.default_rng(1)
    letters = rng.choice(list("ACGT"), (600, 20))
    y = rng.integers(0, 2, 600)
    letters[y == 1, 9:12] = list("GGT")
    rows = ["".join(row) for row in letters]
    pipe = make_pipeline(
        KGramEncoder(k=3, alphabet="ACGT"), LearnedFeatures(Linear(), n_components=1152)
    )
    if streamed:
        pipe.fit(lambda: iter([(rows[:200], y[:200]), (rows[200:], y[200:])]))
        Z = sparse.vstack(list(pipe.transform(lambda: iter([rows])))).tocsr()
    else:
        Z = pipe.fit_transform(rows, y)
    assert Z.dtype == np.float32
    assert LogisticRegression(C=1e6).fit(Z[:400], y[:400]).score(Z[400:], y[400:]) > 0.95


def test_scikit_learn_conventions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(KGramEncoder())
    encoder = KGramEncoder(k=(2, 3), alphabet="ACGT")
    assert clone(encoder).get_params() == encoder.get_params()
    assert encoder.set_params(k=4).k == 4
    tags = encoder.__sklearn_tags__()
    assert tags.input_tags.string
    assert not hasattr(encoder.fit(DNA), "n_features_in_")
    again = pickle.loads(pickle.dumps(encoder))
    assert (again.transform(DNA) != encoder.transform(DNA)).nnz == 0
    before = encoder.alphabet_
    with pytest.raises(ValueError, match="dtype must be"):
        encoder.set_params(dtype=np.int8).fit(["XXXX"])
    assert encoder.alphabet_ == before
    assert KGramEncoder(k=1, dtype=np.float64).fit_transform(DNA).dtype == np.float64


def test_nothing_huge_is_allocated(monkeypatch):
    with pytest.raises(ValueError, match="1,099,511,627,776 columns; at most 2,147,483,647"):
        KGramEncoder(k=20, alphabet="ACGT", positional=False).fit(["ACGT" * 10])
    with pytest.raises(ValueError, match="make .* columns; at most"):
        KGramEncoder(k=(1, 40)).fit([bytes(range(33, 127))])
    with pytest.raises(ValueError, match="at 1000 positions"):
        KGramEncoder(k=(1, 12), alphabet="ACGT").fit(["ACGT" * 250])
    encoder = KGramEncoder(k=(1, 2)).fit(DNA)
    monkeypatch.setattr(encoding, "physical_memory", lambda: 100.0)
    with pytest.raises(MemoryError, match="stream"):
        encoder.transform(DNA)
    assert len(list(encoder.transform(lambda: iter([DNA])))) == 1
    wide = KGramEncoder(k=13, alphabet="ACGT", positional=False).fit(["ACGT" * 10])
    with pytest.raises(MemoryError, match="names_of"):
        wide.get_feature_names_out()
    assert wide.names_of([4**13 - 1]).tolist() == ["T" * 13]


def test_grams_longer_than_the_sequences_have_no_columns():
    encoder = KGramEncoder(k=(2, 30)).fit(["ACG", "CGT"])
    assert encoder.n_columns_ == 16 * 2 + 64
    assert encoder.transform(["ACG"]).nnz == 3


@pytest.mark.parametrize(
    ("settings", "rows", "words"),
    [
        ({}, "GATTACA", "X is one string"),
        ({}, [], "no sequences"),
        ({}, ["", ""], "no letters"),
        ({}, ["GAT", None], "Row 1 of X is None.*Drop rows"),
        ({}, pd.Series(["GAT", pd.NA], dtype="string"), "Row 1 of X is .*Drop rows"),
        ({}, ["GAT", np.nan], "Row 1 of X is nan.*Drop rows"),
        ({}, ["GAT", b"GAT"], "do not mix"),
        ({}, ["GAT", 3], "Row 1 of X is 3"),
        ({}, np.array([65, 66]), "vector of int64"),
        ({}, np.array([[0, 1], [2, 3]]), r"np.array\(list\('ACGT'\)\)\[X\]"),
        ({}, np.array([[65.5, 66.0]]), "number 65.5 in row 0"),
        ({}, np.array([["GA", "TT"]]), "row 0 holds 'GA'"),
        ({}, [["G", "A"], ["T"]], "Join each"),
        ({}, np.zeros((2, 2, 2)), "has shape"),
        ({}, ["GAT\n", "GAT\n"], "strip line ends"),
        ({"k": (3, 1)}, DNA, "runs downwards"),
        ({"k": 0}, DNA, "k must be at least 1"),
        ({"k": (1, 2, 3)}, DNA, "shortest, longest"),
        ({"k": 13}, DNA, "no gram fits"),
        ({"alphabet": "AAC"}, DNA, "twice"),
        ({"alphabet": "Aa"}, DNA, "upper and lower"),
        ({"alphabet": ["AC", "G"]}, DNA, "single letters"),
        ({"alphabet": ""}, DNA, "single letters"),
        ({"unequal": "pad"}, DNA, "unequal"),
        ({"unknown": "drop"}, DNA, "unknown"),
        ({"length": 5}, DNA, "12 to 12 letters.*over 5"),
        ({"length": 0}, DNA, "length must be at least 1"),
    ],
)
def test_bad_input_is_answered_with_advice(settings, rows, words):
    with pytest.raises(ValueError, match=words):
        KGramEncoder(**settings).fit(rows)


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="k must be made of whole numbers"):
        KGramEncoder(k=1.5).fit(DNA)
    with pytest.raises(TypeError, match="X is a int"):
        KGramEncoder().fit(3)
    with pytest.raises(IndexError, match="between 0 and"):
        KGramEncoder(k=1).fit(DNA).names_of([10_000])
