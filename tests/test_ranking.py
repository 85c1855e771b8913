"""Ranked tables of a selection: against counts by hand, over any source, through any protocol."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.interchange
import pytest
from scipy import sparse

from bochner import KGramEncoder, scan
from bochner.estimators.ranking import ranked, selection_table

NAMES = ["a", "b", "c", "d", "e"]
WEIGHTS = np.array([0.1, 0.0, 0.5, 0.1, 0.3])


def data(n_classes=2, n=90):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    X = (rng.random((n, 5)) < 0.3).astype(float)
    X[y == 1, 2] = 1.0
    X[y == 0, 4] = 1.0
    X[:, 3] = 1.0
    X[:, 0] *= rng.normal(size=n)
    return X, y


def same(a, b):
    return a == (pytest.approx(b) if isinstance(b[0], float) else b)


def test_order_names_and_counts_by_hand():
    X, y = data()
    table = selection_table(NAMES, WEIGHTS, sparse.csr_array(X), y, ["no", "yes"])
    assert table["name"].tolist() == ["c", "e", "a", "d"]  # ties by place, zeros left out
    assert table["column"].tolist() == [2, 4, 0, 3]
    assert table["weight"].tolist() == [0.5, 0.3, 0.1, 0.1]
    assert set(table["class"]) == {"yes"}
    for i, j in enumerate([2, 4, 0, 3]):
        for c, label in enumerate(["no", "yes"]):
            assert table[f"frequency[{label}]"][i] == pytest.approx((X[y == c, j] != 0).mean())
        gap = X[y == 1, j].mean() - X[y == 0, j].mean()
        assert table["sign"][i] == np.sign(np.round(gap, 12))
    assert table["sign"].tolist()[:2] == [1, -1]
    assert table["sign"][3] == 0


def test_more_classes_name_the_one_that_departs():
    X, y = data(3, 600)
    table = selection_table(NAMES, WEIGHTS, X, y)
    assert table["class"].tolist()[:2] == ["1", "0"]
    assert table["sign"].tolist()[:2] == [1, 1]
    gone = X.copy()
    gone[:, 2] = y != 2
    table = selection_table(NAMES, WEIGHTS, gone, y)
    assert (table["class"][0], table["sign"][0]) == ("2", -1)


def test_any_source_and_weights_of_rows():
    X, y = data(3)
    whole = selection_table(NAMES, WEIGHTS, X, y).to_dict()
    order = np.argsort(y, kind="stable")  # the first chunks have not seen every class
    parts = [(X[order][i : i + 20], y[order][i : i + 20]) for i in range(0, 90, 20)]
    for name, values in selection_table(NAMES, WEIGHTS, scan(parts)).to_dict().items():
        assert same(values, whole[name])
    twice = [(X, y, np.where(np.arange(90) < 30, 2.0, 1.0))]
    weighted = selection_table(NAMES, WEIGHTS, scan(twice)).to_dict()
    repeated = np.vstack([X, X[:30]]), np.concatenate([y, y[:30]])
    again = selection_table(NAMES, WEIGHTS, *repeated).to_dict()
    for name, values in again.items():
        assert same(weighted[name], values)


def test_names_on_demand_and_columns_apart_from_places():
    asked = []

    def names(columns):
        asked.append(columns.tolist())
        return [f"x{j}" for j in columns]

    X, y = data()
    table = selection_table(names, np.array([0.2, 0.8]), X, y, columns=[4, 2], top=1)
    assert asked == [[2]]
    assert table["name"].tolist() == ["x2"]
    assert table["frequency[1]"].tolist() == [1.0]


def test_with_an_encoder():
    rows = ["GATT", "GACC", "CATT", "CACC"]
    grams = KGramEncoder(k=(1, 2)).fit(rows)
    X = grams.transform(rows)
    q = np.zeros(grams.n_columns_)
    q[X[[0]].indices] = 1 / 7
    table = selection_table(grams.names_of, q, X, [1, 1, 0, 0], ["weak", "strong"])
    assert table["name"].tolist() == ["G@0", "A@1", "T@2", "T@3", "GA@0", "AT@1", "TT@2"]
    assert table["sign"].tolist() == [1, 0, 0, 0, 1, 0, 0]
    streamed = lambda: iter([(rows[:1], [1]), (rows[1:], [1, 0, 0])])  # noqa: E731
    again = selection_table(
        grams.names_of, q, grams.transform(streamed), classes=["weak", "strong"]
    )
    assert again.to_dict() == table.to_dict()


def test_every_protocol_gives_the_same_table():
    X, y = data()
    table = selection_table(NAMES, WEIGHTS, X, y)
    plain = table.to_dict()
    assert pa.table(table).to_pydict() == plain
    assert pl.DataFrame(table).to_dict(as_series=False) == plain
    assert table.to_pandas().to_dict("list") == plain
    assert pa.interchange.from_dataframe(table).to_pydict() == plain
    if hasattr(pd.DataFrame, "from_arrow"):  # pandas 3
        assert pd.DataFrame.from_arrow(table).to_dict("list") == plain
    assert len(table) == 4
    assert len(table.head(2)) == 2
    assert str(table).splitlines()[1].split()[:3] == ["c", "2", "0.5"]


def test_without_rows_and_without_a_choice():
    assert selection_table(NAMES, WEIGHTS).names == ("name", "column", "weight")
    X, y = data()
    assert len(selection_table(NAMES, np.zeros(5), X, y)) == 0


def test_bad_input():
    X, y = data()
    with pytest.raises(ValueError, match="whole numbers 0 .. C-1"):
        selection_table(NAMES, WEIGHTS, X, np.where(y, 1, -1))
    with pytest.raises(ValueError, match="with C = 1"):
        selection_table(NAMES, WEIGHTS, X, y, ["one"])
    with pytest.raises(ValueError, match="no classes"):
        selection_table(NAMES, WEIGHTS, X)
    with pytest.raises(ValueError, match="without NaN"):
        ranked([np.nan])
    with pytest.raises(ValueError, match="top"):
        ranked([1.0], top=0)
