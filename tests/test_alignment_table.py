"""The ranked table of a fitted alignment: names, weights, and how each column goes with classes."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline

from bochner import KernelClassifier, KGramEncoder, LearnedFeatures, scan
from bochner.families import Gaussian, Linear
from bochner.learners import Alignment, Uniform
from make import rng, rows


def sequences(n=300):
    """GGTTG or GTTGG where y is "bound", at positions 4 to 8."""
    letters = rng(0).choice(list("ACGT"), (n, 12))
    y = np.where(rng(1).random(n) < 0.4, "bound", "free")
    planted = [list("GGTTG"), list("GTTGG")]
    for i in np.flatnonzero(y == "bound"):
        letters[i, 4:9] = planted[i % 2]
    return ["".join(row) for row in letters], y


def test_planted_grams_come_first_with_their_frequencies():
    S, y = sequences()
    grams = KGramEncoder(k=(1, 5), alphabet="ACGT")
    features = LearnedFeatures(Linear(), Alignment(0.005), random_state=0)
    X = grams.fit_transform(S)
    table = features.fit(X, y).selection_.table(grams.names_of, top=12)
    assert set(table["name"][:3]) == {"G@4", "T@6", "G@8"}  # what both have in common
    assert {"GG@4", "GT@4"} & set(table["name"])
    assert (np.diff(table["weight"]) <= 0).all()
    assert set(table["class"]) == {"free"}
    for name, column in zip(table["name"], table["column"], strict=True):
        row = list(table["name"]).index(name)
        for label in ("bound", "free"):
            seen = X[np.flatnonzero(y == label)][:, [column]].toarray() != 0
            assert table[f"frequency[{label}]"][row] == pytest.approx(seen.mean())
        gram, at = name.split("@")
        assert seen.mean() == np.mean(
            [
                s[int(at) :].startswith(gram)
                for s, label in zip(S, y, strict=True)
                if label == "free"
            ]
        )
    assert table["sign"][0] == -1


def test_it_is_a_table_to_others():
    S, y = sequences(100)
    model = make_pipeline(
        KGramEncoder(k=3, alphabet="ACGT"), KernelClassifier("linear", Alignment(0.01))
    ).fit(S, y)
    selection = pickle.loads(pickle.dumps(model[-1].selection_))
    plain = selection.table().to_dict()
    assert plain["name"][0] == f"x{plain['column'][0]}"
    assert pl.DataFrame(selection).to_dict(as_series=False) == plain
    assert pd.api.interchange.from_dataframe(selection)["weight"].tolist() == plain["weight"]


def test_names_that_rows_came_with():
    X = pd.DataFrame(rows(80, 3), columns=["age", "height", "income"])
    y = (X["income"] > 0).astype(int)
    found = LearnedFeatures(Linear(), Alignment(0.5), random_state=0).fit(X, y).selection_
    assert found.table()["name"][0] == "income"
    assert found.table()["sign"][0] == 1
    amounts = LearnedFeatures(Linear(), Alignment(0.5), random_state=0).fit(X, -X["income"])
    table = amounts.selection_.table()
    assert (table.names, table["sign"][0]) == (("name", "column", "weight", "sign"), -1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_drawn_features_say_the_class_where_their_mean_departs(n_classes):
    X = rows(200, 3)
    y = rng(0).integers(0, n_classes, 200)
    X[y == 0] += 0.7
    features = LearnedFeatures(Gaussian(1.0), Alignment(0.05), 200, 20, random_state=0).fit(X, y)
    table = features.selection_.table()
    fm = features.feature_map_
    assert set(table["name"]) == set(fm.names)
    Z = features.transform(X) / fm.weights
    for name, which, sign in zip(table["name"], table["class"], table["sign"], strict=True):
        z = Z[:, fm.names.index(name)]
        excess = [z[y == c].mean() - z[y != c].mean() for c in range(n_classes)]
        c = 1 if n_classes == 2 else int(np.argmax(np.abs(excess)))
        assert (which, sign) == (str(c), np.sign(excess[c]))


def test_streams_and_shares_count_the_same_rows():
    X, y = rows(120, 4), rng(0).integers(0, 3, 120)
    X[:, 2] *= X[:, 2] > 0
    learner = Alignment(0.3, subsample=0.7)
    tables = [
        LearnedFeatures(Linear(), learner, task="classification", random_state=0)
        .fit(*given)
        .selection_.table()
        for given in (
            (X, y),
            (sparse.csr_array(X), y),
            (scan([(X[i : i + 50], y[i : i + 50]) for i in range(0, 120, 50)]),),
        )
    ]
    for other in tables[1:]:
        for name in tables[0].names:
            if tables[0][name].dtype == object:
                assert_array_equal(other[name], tables[0][name])
            else:
                assert_allclose(other[name], tables[0][name], rtol=1e-9)


def test_refusals():
    X, y = rows(60, 3), rng(0).integers(0, 2, 60)
    found = LearnedFeatures(Linear(), Alignment(0.5), random_state=0).fit(X, y).selection_
    with pytest.raises(ValueError, match="names holds 1, but column"):
        found.table(["one"])
    with pytest.raises(ValueError, match="top must be"):
        found.table(top=0)
    with pytest.raises(ValueError, match="no ranking to show"):
        LearnedFeatures(learner=Uniform(), n_components=4).fit(X).selection_.table()
