"""Columns of many kinds: the same table means the same, whatever package holds it."""

import datetime as dt
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from bochner.rows.adapt import as_source
from bochner.rows.scan import scan
from bochner.rows.table import kind_of_strings

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 200
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "real": RNG.standard_normal(N),
        "holes": np.where(RNG.random(N) < 0.2, np.nan, 1.5),
        "whole": pd.array(np.where(RNG.random(N) < 0.2, None, 7), dtype="Int64"),
        "yes": RNG.random(N) < 0.5,
        "maybe": pd.array(np.where(RNG.random(N) < 0.2, None, RNG.random(N) < 0.5), "boolean"),
        "town": np.where(RNG.random(N) < 0.2, None, RNG.choice(["a", "b"], N)).astype(object),
        "level": pd.Categorical(RNG.choice(["low", "high"], N)),
        "day": [dt.datetime(2020, 1, 1) + dt.timedelta(days=int(i)) for i in range(N)],
        "id": [f"customer {i:05d}" for i in range(N)],
        "label": RNG.choice(["spam", "ham"], N),
    }
)
KINDS = (*["number"] * 5, "category", "category", "date", "text")
NAMES = tuple(TABLE.columns[:-1])


def _parquet(folder):
    TABLE.to_parquet(folder / "t.parquet", row_group_size=64)
    return folder / "t.parquet"


def _csv(folder):
    TABLE.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


HOLDERS = {
    "pandas": lambda folder: TABLE,
    "arrow_backed": lambda folder: TABLE.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda folder: pl.from_arrow(pa.Table.from_pandas(TABLE)),
    "arrow": lambda folder: pa.Table.from_pandas(TABLE),
    "parquet": _parquet,
    "csv": _csv,
    "chunks": lambda folder: [TABLE[:150], TABLE[150:]],
}
every_holder = pytest.mark.parametrize("holder", HOLDERS)


def _columns(source):
    blocks = [b for p in range(source.n_partitions) for b in source.blocks(p)]
    parts = zip(*(b.X.columns for b in blocks), strict=True)
    return [np.concatenate(c) for c in parts], np.concatenate([b.y for b in blocks])


@every_holder
def test_kinds_names_and_values_agree(holder, tmp_path):
    source = scan(HOLDERS[holder](tmp_path), "label", block_bytes=64 * 9 * 8)
    assert source.schema.kinds == KINDS
    assert source.schema.names == NAMES
    columns, y = _columns(source)
    want, _ = _columns(scan(TABLE, "label"))
    np.testing.assert_array_equal(y, TABLE["label"].to_numpy())
    for name, kind, got, expected in zip(NAMES, KINDS, columns, want, strict=True):
        if kind == "number":
            assert got.dtype.kind == "f", name
            np.testing.assert_allclose(got, expected, rtol=1e-12)
        elif kind != "date":
            assert got.dtype == object, name
            assert [type(v) for v in got[:5]] == [type(v) for v in expected[:5]]
            np.testing.assert_array_equal(got, expected)


@every_holder
def test_missing_numbers_are_nan_and_missing_categories_none(holder, tmp_path):
    columns, _ = _columns(scan(HOLDERS[holder](tmp_path), "label"))
    for name in ("holes", "whole", "maybe"):
        np.testing.assert_array_equal(np.isnan(columns[NAMES.index(name)]), TABLE[name].isna())
    town = columns[NAMES.index("town")]
    assert set(town) == {"a", "b", None}


@every_holder
def test_numbers_alone_make_a_matrix(holder, tmp_path):
    names = ["yes", "holes", "whole", "maybe", "real"]
    source = scan(HOLDERS[holder](tmp_path), columns=names)
    assert source.schema.kinds is None
    assert source.schema.names == tuple(names)
    X = np.concatenate([b.X for p in range(source.n_partitions) for b in source.blocks(p)])
    want = np.column_stack([TABLE[n].astype("Float64").to_numpy(float, np.nan) for n in names])
    np.testing.assert_allclose(X, want, rtol=1e-12)


def test_narrow_columns_work_in_float32(tmp_path):
    narrow = pd.DataFrame({"a": np.ones(4, "f4"), "b": np.ones(4, "i2"), "c": [True] * 4})
    narrow.to_parquet(tmp_path / "t.parquet")
    for given in (narrow, pl.DataFrame(dict(narrow)), tmp_path / "t.parquet"):
        assert next(scan(given).blocks(0)).X.dtype == np.float32
    assert scan(narrow, dtype="float64").schema.dtype == np.float64


def test_targets_keep_their_labels(tmp_path):
    table = pd.DataFrame({"x": [1.0, 2.0], "n": [3, 4], "c": pd.Categorical(["u", "v"])})
    table["b"] = [True, False]
    table.to_parquet(tmp_path / "t.parquet")
    for given in (table, tmp_path / "t.parquet", pl.DataFrame(dict(table[["x", "n", "b"]]))):
        blocks = {n: next(scan(given, n, columns=["x"]).blocks(0)).y for n in ("n", "b")}
        assert blocks["n"].dtype.kind == "i"
        assert blocks["b"].dtype == bool
    assert next(scan(tmp_path / "t.parquet", "c", columns=["x"]).blocks(0)).y.tolist() == ["u", "v"]


def test_columns_without_string_names(tmp_path):
    source = as_source(pd.DataFrame(np.ones((3, 2))), allow_frame=False)
    assert source.schema.names is None
    assert source.n_features == 2


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"v{i}" for i in range(50)], "category"),
        ([f"v{i}" for i in range(51)], "text"),
        ([f"v{i % 100}" for i in range(1000)], "category"),
        ([f"{'word ' * 30}{i % 100}" for i in range(1000)], "text"),
        ([None] * 10, "category"),
    ],
)
def test_strings_are_categories_until_they_are_too_many(values, kind):
    assert kind_of_strings(values) == kind


@every_holder
def test_sources_pickle(holder, tmp_path):
    source = scan(HOLDERS[holder](tmp_path), "label")
    again = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(_columns(again)[1], _columns(source)[1])


def test_csv_dialects(tmp_path):
    (tmp_path / "t.tsv").write_text("a\tlabel\n1\tx\n-\ty\n")
    block = next(scan(tmp_path / "t.tsv", "label", missing=["-"]).blocks(0))
    np.testing.assert_array_equal(block.X, [[1.0], [np.nan]])
    (tmp_path / "t.csv").write_text("1;2\n3;4\n")
    source = scan(tmp_path / "t.csv", "f1", delimiter=";", header=False)
    assert next(source.blocks(0)).y.tolist() == [2, 4]


def test_adult_as_it_was_published():
    root = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("BOCHNER_DATA", root)) / "adult_train_raw.csv.gz"
    if not path.exists():
        pytest.skip("adult_train_raw.csv.gz not found: set BOCHNER_DATA to the data folder")
    source = scan(path, "income", block_bytes=2**18)
    assert source.schema.kinds.count("category") == 8
    columns, y = _columns(source)
    assert len(y) == source.n_rows == 32_561
    assert sorted(set(y)) == ["<=50K", ">50K"]
    work = columns[source.schema.names.index("workclass")]
    assert sum(v is None for v in work) == 1836  # the question marks of the file
    assert columns[0].mean() == pytest.approx(38.5816, abs=1e-3)
