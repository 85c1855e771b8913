"""Every bad input: the right exception, naming what was given and what to do."""

import datetime as dt
import gzip
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from bochner.rows import MemorySource
from bochner.rows.adapt import as_source
from bochner.rows.scan import scan
from row_sums import Moments

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.arange(60.0)
TABLE = pd.DataFrame(X, columns=["height", "weight", "age"]).assign(label=Y)


def in_memory(X, y=None, weight=None, **options):
    return as_source(X, y, weight, **{"allow_frame": False, **options})


def refused(error, *words):
    """The exception, and a message in which all the words occur."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*(?:{w}))" for w in words))


class TestTables:
    @pytest.fixture(params=["parquet", "csv", "pandas", "polars", "chunks"])
    def given(self, request, tmp_path):
        if request.param == "parquet":
            TABLE.to_parquet(tmp_path / "t.parquet")
            return tmp_path / "t.parquet"
        if request.param == "csv":
            TABLE.to_csv(tmp_path / "t.csv", index=False)
            return tmp_path / "t.csv"
        if request.param == "polars":
            return pl.DataFrame(dict(TABLE))
        return TABLE if request.param == "pandas" else [TABLE, TABLE]

    def test_a_target_that_is_not_there(self, given):
        with refused(ValueError, "'lable'", "Did you mean 'label'", "'height', 'weight', 'age'"):
            scan(given, "lable")
        with refused(ValueError, "weight 'wait'", "Did you mean 'weight'"):
            scan(given, "label", weight="wait")
        with refused(ValueError, "column 'hight'", "Did you mean 'height'"):
            scan(given, "label", columns=["hight"])
        with refused(ValueError, "no column left"):
            scan(given, "label", columns=["label"])

    def test_weights_and_targets_that_cannot_be(self, given, tmp_path):
        with refused(ValueError, "weight 'height'", "not negative"):
            scan(given, "label", weight="height").reduce(Moments())

    def test_block_bytes_must_be_positive(self, given):
        with refused(ValueError, "block_bytes is 0"):
            scan(given, "label", block_bytes=0).reduce(Moments())


@pytest.mark.parametrize("how", ["parquet", "csv", "pandas", "polars"])
def test_a_missing_target_names_its_row(how, tmp_path):
    broken = TABLE.copy()
    broken.loc[41, "label"] = None
    broken.to_csv(tmp_path / "t.csv", index=False)
    broken.to_parquet(tmp_path / "t.parquet")
    given = {"pandas": broken, "polars": pl.DataFrame(dict(broken))}
    with refused(ValueError, "target 'label'", "row 41", "Drop the rows"):
        scan(given.get(how, tmp_path / f"t.{how}"), "label").reduce(Moments())


@pytest.mark.parametrize("keep", [0.3, 0.97])
def test_a_truncated_parquet_file(tmp_path, keep):
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with refused(ValueError, "t.parquet cannot be read as Parquet", "truncated"):
        scan(path, "label")


def test_a_parquet_page_that_is_broken(tmp_path):
    path = tmp_path / "t.parquet"
    big = pd.DataFrame({"a": np.random.default_rng(0).standard_normal(20_000), "label": 1.0})
    big.to_parquet(path)
    source = scan(path, "label")
    content = bytearray(path.read_bytes())
    content[20:2000] = bytes(1980)
    path.write_bytes(content)
    with refused(ValueError, "t.parquet cannot be read as Parquet"):
        source.reduce(Moments())


def test_a_truncated_csv_file(tmp_path):
    path = tmp_path / "t.csv"
    text = TABLE.to_csv(index=False)
    path.write_text(text[: text.rindex("\n", 0, -1) + 5])
    with refused(ValueError, "t.csv cannot be read as CSV", "truncated"):
        scan(path, "label").reduce(Moments())
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(text.encode() * 50)[:-400])
    with refused(ValueError, "t.csv.gz cannot be read as CSV", "truncated"):
        scan(packed, "label").reduce(Moments())


def test_files_that_are_empty_or_no_data(tmp_path):
    for name, kind in (("t.csv", "CSV"), ("t.parquet", "Parquet"), ("t.npy", "npy")):
        (tmp_path / name).touch()
        with refused(ValueError, f"{name} cannot be read as .*{kind}"):
            scan(tmp_path / name, -1 if kind == "npy" else "label")


def test_paths_that_lead_nowhere(tmp_path):
    with refused(FileNotFoundError, "no such file"):
        scan(tmp_path / "nothing.parquet")
    with refused(ValueError, "found no data file", "format="):
        scan(tmp_path)
    (tmp_path / "a.xlsx").touch()
    with refused(ValueError, "a.xlsx", "parquet", "format="):
        scan(tmp_path / "a.xlsx")
    (tmp_path / "b.csv").touch()
    with refused(ValueError, "one format"):
        scan(tmp_path)
    with refused(ValueError, "local files", "dask.dataframe"):
        scan("s3://bucket/t.parquet")
    with refused(ValueError, "format is 'xls'"):
        scan(tmp_path / "b.csv", format="xls")
    with refused(TypeError, "delimiter", "parquet"):
        scan(tmp_path / "b.csv", format="parquet", delimiter=";")


def test_columns_in_the_names_of_folders_are_not_dropped_unsaid(tmp_path):
    (tmp_path / "year=2024").mkdir()
    TABLE.to_parquet(tmp_path / "year=2024" / "a.parquet")
    with refused(ValueError, "year=2024", "read_parquet", "glob"):
        scan(tmp_path, "label")
    assert scan(tmp_path / "**" / "*.parquet", "label").n_rows == 60


def test_csv_text_where_numbers_were(tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.rows.csv_file.LOOK_BYTES", 1000)
    lines = ["a,b,label", *(f"{i},{i / 2},1" for i in range(500)), "7,oops,1", "8,9,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with refused(ValueError, "t.csv", "row 502", "column 'b'", "'oops'", "missing="):
        scan(tmp_path / "t.csv", "label").reduce(Moments())
    with refused(ValueError, "row 502", "column 'b'"):
        scan(tmp_path / "t.csv", "label", columns=["b"]).reduce(Moments())
    whole = ["a,label", *(f"{i},1" for i in range(500)), "7.5,1"]
    (tmp_path / "t.csv").write_text("\n".join(whole))
    assert scan(tmp_path / "t.csv", "label").reduce(Moments())[0] == 501


def test_files_of_a_directory_that_disagree(tmp_path):
    TABLE.to_parquet(tmp_path / "a.parquet")
    TABLE.drop(columns="age").to_parquet(tmp_path / "b.parquet")
    with refused(ValueError, "'age' is not a column of .*b.parquet"):
        scan(tmp_path, "label")
    TABLE.assign(age="old").to_parquet(tmp_path / "b.parquet")
    with refused(ValueError, "b.parquet: column 'age' is a text here, but a number"):
        scan(tmp_path, "label")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([Decimal(1), Decimal(2)], "decimal|Decimal"),
        ([[1, 2], [3]], "list"),
        ([b"a", b"b"], "binary|bytes"),
        ([{"a": 1}, {"a": 2}], "struct|dict"),
    ],
)
@pytest.mark.parametrize("how", ["parquet", "pandas", "arrow"])
def test_columns_that_no_number_comes_from(values, shown, how, tmp_path):
    columns = {"odd": values, "x": [1.0, 2.0]}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    given = {"pandas": pd.DataFrame(columns), "arrow": table}.get(how, tmp_path / "t.parquet")
    with refused(TypeError, "column 'odd'", shown, "expected numbers, booleans, strings"):
        scan(given)


HUGE = 2**53 + 1


@pytest.mark.parametrize("how", ["parquet", "pandas", "polars", "array", "npy", "chunks", "nulls"])
def test_whole_numbers_that_float64_cannot_hold(how, tmp_path):
    ids = np.array([[1, 5], [HUGE, 6]])
    table = pd.DataFrame(ids, columns=["id", "x"])
    table.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", ids)
    given = {
        "pandas": table,
        "polars": pl.DataFrame(dict(table)),
        "array": ids,
        "chunks": [ids],
        "nulls": pl.DataFrame({"id": [1, None, HUGE], "x": [1, 2, 3]}),
        "npy": tmp_path / "t.npy",
    }.get(how, tmp_path / "t.parquet")
    with refused(ValueError, str(HUGE), "identifier"):
        scan(given).reduce(Moments())


def test_python_integers_beyond_64_bits():
    with refused(ValueError, "too large for 64 bits"):
        in_memory(np.array([[2**70], [1]], dtype=object))


class TestArrays:
    def test_shapes(self):
        with refused(ValueError, "Expected 2D array, got 1D array", "Reshape your data"):
            in_memory(np.ones(3))
        with refused(ValueError, "got 3D array", "Flatten"):
            in_memory(np.ones((3, 2, 2)))
        with refused(ValueError, "equal length"):
            in_memory([[1, 2], [3]])

    def test_dtypes(self):
        with refused(ValueError, "Complex data not supported"):
            in_memory(np.ones((2, 2), dtype=complex))
        with refused(ValueError, "not a number", "OneHotEncoder"):
            in_memory(np.array([["a", 1]], dtype=object))
        with refused(ValueError, "expected numbers"):
            in_memory(np.array([["a", "b"]]))
        with refused(TypeError, "datetime64"):
            in_memory(np.array([["2020-01-01"]], dtype="M8[D]"))

    def test_lengths_and_weights(self):
        with refused(ValueError, "inconsistent numbers of samples", r"\[60, 59\]"):
            in_memory(X, Y[:59])
        with refused(ValueError, r"shape \(59,\)", "60 rows"):
            in_memory(X, Y, np.ones(59))
        for bad in (-1.0, np.nan, np.inf):
            with refused(ValueError, "row 7", "not negative"):
                in_memory(X, Y, np.where(np.arange(60) == 7, bad, 1.0))
        with refused(ValueError, "row 3", "Input y contains NaN"):
            in_memory(X, np.where(Y == 3, np.nan, Y))

    def test_indices(self):
        with refused(ValueError, "target 3 is not a column", "-3..2"):
            scan(X, 3)
        with refused(ValueError, "no column names", "target=-1"):
            scan(X, "label")
        with refused(ValueError, "No column of 3 is left"):
            scan(X, [0, 1, 2])

    @pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
    def test_nan_is_named_where_it_stands(self, wrap):
        broken = X.copy()
        broken[41, 2] = np.nan
        source = in_memory(wrap(broken), check_finite=True, block_bytes=240)
        with refused(ValueError, "row 41, column 2", "nan", "Impute"):
            source.reduce(Moments())
        with refused(ValueError, "row 41, column 2"):
            as_source(scan([wrap(broken)]), allow_frame=False, check_finite=True).reduce(Moments())
        big = np.full((4, 2), 1e308)
        assert in_memory(big, check_finite=True).reduce(Count()) == 4

    def test_things_that_are_no_rows(self):
        with refused(TypeError, "is the path", "scan"):
            in_memory("t.parquet")
        with refused(TypeError, "LazyFrame", "collect"):
            in_memory(pl.DataFrame({"a": [1]}).lazy())
        with refused(TypeError, "only once", "scan"):
            in_memory(iter([X]))
        with refused(TypeError, "int", "expected a path"):
            scan(3)

    def test_a_source_brings_its_own(self):
        source = scan(X, Y)
        with refused(ValueError, "y was given", "target="):
            in_memory(source, Y)
        with refused(ValueError, "sample_weight was given", "weight="):
            in_memory(source, None, Y)
        with refused(TypeError, "source already"):
            scan(source)


class Count(Moments):
    def update(self, state, block):
        return (state or 0) + block.n_rows


class TestFrames:
    MIXED = pd.DataFrame(
        {
            "x": [1.0, 2.0],
            "town": ["a", "b"],
            "day": [dt.datetime(2020, 1, d) for d in (1, 2)],
        }
    )

    @pytest.mark.parametrize("wrap", [lambda t: t, lambda t: pl.DataFrame(dict(t))])
    def test_columns_that_are_not_numbers_are_named(self, wrap):
        with refused(TypeError, r"2 of 3", r"'town' \(category\)", r"'day' \(date\)", "OneHot"):
            in_memory(wrap(self.MIXED))
        assert in_memory(wrap(self.MIXED), allow_frame=True).schema.kinds[1] == "category"

    def test_names_must_be_unique(self):
        with refused(ValueError, "several columns named", "'a'"):
            in_memory(pd.DataFrame([[1, 2]], columns=["a", "a"]))

    def test_complex_columns(self):
        with refused(TypeError, "column 'z'", "complex"):
            in_memory(pd.DataFrame({"z": [1j]}))


def test_missing_packages_say_how_to_install(monkeypatch, tmp_path):
    import sys

    TABLE.to_parquet(tmp_path / "t.parquet")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with refused(ImportError, "needs pyarrow", r'pip install "bochner\[parquet\]"'):
        scan(tmp_path / "t.parquet")


def test_nothing_is_left_behind(tmp_path):
    """A refused scan leaves the arrays as they were and no file open."""
    import gc
    import warnings

    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with refused(ValueError, "'nope'"):
            scan(path, "nope")
        gc.collect()
    path.unlink()
    assert MemorySource(X).n_rows == 60


@pytest.mark.parametrize(
    ("options", "error", "advice"),
    [
        ({"columns": "age"}, TypeError, r"one name; expected a list: columns=\['age'\]"),
        ({"columns": ["age", "age"]}, ValueError, "more than once"),
        ({"block_bytes": "large"}, ValueError, "positive number of bytes"),
    ],
)
def test_options_of_a_scan(tmp_path, options, error, advice):
    TABLE.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(error, match=advice):
        list(scan(tmp_path / "t.parquet", **options))
