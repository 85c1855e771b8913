"""Laws that every source of rows obeys: the same rows give the same sum, whatever holds them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from bochner.rows import Hook, MemorySource, RowState, StopFit
from bochner.rows.adapt import as_source
from bochner.rows.scan import scan
from row_sums import Moments, Order, moments

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N, D = 537, 5
NAMES = [f"x{j}" for j in range(D)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)).astype(np.float32)
    X[rng.random((N, D)) < 0.3] = 0
    return X, rng.integers(0, 3, N), rng.integers(0, 4, N).astype(np.float64)


@pytest.fixture(scope="module")
def table(data):
    X, y, w = data
    return pd.DataFrame(X, columns=NAMES).assign(y=y, w=w)


class Again:
    """An object that can be iterated many times."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __iter__(self):
        return iter(self.chunks)


def _chunks(data, size):
    X, y, w = data
    return [(X[i : i + size], y[i : i + size], w[i : i + size]) for i in range(0, N, size)]


def parquet(data, table, folder, **options):
    table.to_parquet(folder / "t.parquet", row_group_size=100)
    return scan(folder / "t.parquet", "y", weight="w", **options)


def parquet_directory(data, table, folder, **options):
    (folder / "sub").mkdir()
    (folder / "_SUCCESS").touch()
    table[:200].to_parquet(folder / "a.parquet")
    table[200:].to_parquet(folder / "sub" / "b.parquet")
    return scan(folder, "y", weight="w", **options)


def csv(data, table, folder, **options):
    table.to_csv(folder / "t.csv", index=False)
    return scan(str(folder / "t.csv"), "y", weight="w", **options)


def csv_glob_gz(data, table, folder, **options):
    table[:300].to_csv(folder / "t1.csv.gz", index=False)
    table[300:].to_csv(folder / "t2.csv.gz", index=False)
    return scan(folder / "t*.csv.gz", "y", weight="w", **options)


def npy(data, table, folder, **options):
    np.save(folder / "t.npy", table.to_numpy())
    return scan(folder / "t.npy", -2, weight=-1, **options)


def npy_middle(data, table, folder, **options):
    np.save(folder / "t.npy", table[["x0", "y", "x1", "x2", "w", "x3", "x4"]].to_numpy())
    return scan(folder / "t.npy", 1, weight=4, **options)


def chunk_list(data, table, folder, **options):
    return scan(_chunks(data, 100), **options)


def chunk_function(data, table, folder, **options):
    return scan(lambda: (c for c in _chunks(data, 7)), **options)


def chunk_object(data, table, folder, **options):
    return scan(Again(_chunks(data, 600)), **options)


def chunk_frames(data, table, folder, **options):
    return scan([table[:300], table[300:]], "y", weight="w", **options)


def chunk_csr(data, table, folder, **options):
    chunks = [(sparse.csr_matrix(X), y, w) for X, y, w in _chunks(data, 100)]
    return scan(chunks, **options)


def pandas_frame(data, table, folder, **options):
    return scan(table, "y", weight="w", **options)


def polars_frame(data, table, folder, **options):
    return scan(pl.DataFrame(dict(table)), "y", weight="w", **options)


def arrow_table(data, table, folder, **options):
    return scan(pa.Table.from_pandas(table), "y", weight="w", **options)


def array(data, table, folder, **options):
    return scan(data[0], data[1], weight=data[2], **options)


def csr(data, table, folder, **options):
    return scan(sparse.csr_array(data[0]), data[1], weight=data[2], **options)


def fortran(data, table, folder, **options):
    return as_source(np.asfortranarray(data[0]), *data[1:], allow_frame=False, **options)


def read_only(data, table, folder, **options):
    X = data[0].copy()
    X.setflags(write=False)
    return as_source(X, *data[1:], allow_frame=False, **options)


def big_endian(data, table, folder, **options):
    return as_source(data[0].astype(">f4"), *data[1:], allow_frame=False, **options)


def object_array(data, table, folder, **options):
    return as_source(data[0].astype(object), *data[1:], allow_frame=False, **options)


def list_of_lists(data, table, folder, **options):
    return as_source(data[0].tolist(), *data[1:], allow_frame=False, **options)


SOURCES = [
    *(parquet, parquet_directory, csv, csv_glob_gz, npy, npy_middle, chunk_list, chunk_function),
    *(chunk_object, chunk_frames, chunk_csr, pandas_frame, polars_frame, arrow_table, array, csr),
    *(fortran, read_only, big_endian, object_array, list_of_lists),
]
every_source = pytest.mark.parametrize("build", SOURCES, ids=lambda f: f.__name__)


@every_source
def test_the_sum_is_that_of_the_rows_in_memory(build, data, table, tmp_path):
    source = build(data, table, tmp_path)
    want = MemorySource(*data).reduce(Moments())
    for _ in range(2):
        np.testing.assert_allclose(source.reduce(Moments()), want, rtol=1e-6, atol=1e-4)
    assert source.n_rows == N
    assert source.n_features == D
    assert source.schema.n_targets == 0
    assert source.schema.weighted


@every_source
def test_blocks_keep_the_order_and_the_budget(build, data, table, tmp_path):
    budget = 40 * D * 8
    source = build(data, table, tmp_path, block_bytes=budget)
    found = source.reduce(Order())
    values = np.concatenate([v for _, _, v in found]).astype(np.float32)  # CSV: through decimals
    np.testing.assert_array_equal(values, data[0][:, 0])
    ends = {}
    for partition, offset, values in found:
        assert offset == ends.get(partition, 0)
        ends[partition] = offset + len(values)
    if not source.schema.sparse:
        sizes = [b.X.nbytes for p in range(source.n_partitions) for b in source.blocks(p)]
        assert max(sizes) <= budget
        assert len(sizes) >= N // 80


@every_source
def test_one_byte_still_lets_one_row_through(build, data, table, tmp_path):
    source = build(data, table, tmp_path, block_bytes=1)
    assert {b.n_rows for p in range(source.n_partitions) for b in source.blocks(p)} == {1}


@every_source
def test_a_row_of_weight_two_is_the_row_twice(build, data, table, tmp_path):
    X, y, w = data
    twice = np.repeat(np.arange(N), w.astype(int))
    found = build(data, table, tmp_path).reduce(Moments())
    np.testing.assert_allclose(found[1:], moments(X[twice], y[twice])[1:], rtol=1e-6, atol=1e-4)


@every_source
def test_a_row_state_finds_its_rows_again(build, data, table, tmp_path):
    source = build(data, table, tmp_path, block_bytes=40 * D * 8)
    state = RowState(source)
    for p in range(source.n_partitions):
        for block in source.blocks(p):
            first = block.X[:, [0]]
            first = first.toarray() if sparse.issparse(first) else first
            state.set(block, np.asarray(first).ravel())

    class Agrees(Order):
        def update(self, kept, block):
            got = super().update([], block)
            np.testing.assert_array_equal(block.state, got[0][2])
            return kept + got

    assert sum(len(v) for *_, v in source.reduce(Agrees(), row_state=state)) == N


@every_source
def test_mapped_rows_and_outputs_follow(build, data, table, tmp_path):
    source = build(data, table, tmp_path, block_bytes=100 * D * 8)
    doubled = source.mapped(lambda b: b.replace(X=b.X * 2), source.schema)
    out = doubled.map(lambda b: np.asarray(b.X.sum(axis=1)).ravel(), dtype=float, width=None)
    out = out if isinstance(out, np.ndarray) else np.concatenate(list(out))
    np.testing.assert_allclose(out, 2 * data[0].sum(axis=1, dtype=float), rtol=1e-5, atol=1e-5)


@every_source
def test_a_callback_stops_a_pass(build, data, table, tmp_path):
    source = build(data, table, tmp_path, block_bytes=40 * D * 8)
    seen = []
    hook = Hook(lambda event: seen.append(event.done) or len(seen) >= 2)
    with pytest.raises(StopFit):
        source.reduce(Moments(), hook=hook)
    assert len(seen) == 2


@pytest.mark.parametrize("dtype", ["f2", "i1", "u8", "i4", "?", ">f8", ">i2", "f8"])
def test_every_dtype_arrives_in_a_working_one(dtype, data):
    X = (data[0] > 0).astype(dtype)
    source = as_source(X, data[1], allow_frame=False)
    want = "float32" if np.dtype(dtype).itemsize <= 2 else "float64"
    assert source.schema.dtype == want
    assert next(source.blocks(0)).X.dtype == want
    np.testing.assert_allclose(source.reduce(Moments()), moments(X, data[1]))


def test_a_scan_keeps_float32_and_mapped_files_stay_on_disk(data, table, tmp_path):
    assert parquet(data, table, tmp_path).schema.dtype == np.float32
    np.save(tmp_path / "x.npy", data[0])
    source = scan(tmp_path / "x.npy", data[1])
    assert isinstance(source.X, np.memmap)
    assert source.reads_ahead
    block = next(source.blocks(0))
    assert not np.shares_memory(block.X, source.X)
    assert block.X.dtype == np.float32


def test_several_targets_make_a_matrix(table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet")
    source = scan(tmp_path / "t.parquet", ["y", "w"])
    assert source.schema.n_targets == 2
    np.testing.assert_array_equal(next(source.blocks(0)).y, table[["y", "w"]])
    assert scan(tmp_path / "t.parquet", ["y"]).schema.n_targets == 1
    assert next(scan(table.to_numpy(), [-2, -1]).blocks(0)).y.shape == (N, 2)


def test_columns_choose_and_order_the_features(table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    for given in (tmp_path / "t.parquet", tmp_path / "t.csv", table):
        source = scan(given, "y", columns=["x3", "x1"])
        assert source.schema.names == ("x3", "x1")
        np.testing.assert_allclose(next(source.blocks(0)).X, table[["x3", "x1"]], rtol=1e-6)


def test_columns_that_are_not_used_are_not_read(tmp_path):
    """The pages of a column may even be broken, as long as nobody asks for it."""
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({"unused": rng.standard_normal(20_000), "x": 2.0, "y": 1.0})
    wide.to_parquet(path)
    content = bytearray(path.read_bytes())
    content[20:2000] = bytes(1980)
    path.write_bytes(content)
    assert scan(path, "y", columns=["x"]).reduce(Moments())[2] == 40_000


def test_row_groups_gather_into_partitions_by_size(table, tmp_path, monkeypatch):
    table.to_parquet(tmp_path / "t.parquet", row_group_size=50)  # 11 groups of at most 50 rows
    monkeypatch.setattr("bochner.rows.parquet_file.PARTITION_BYTES", 100 * D * 4)
    source = scan(tmp_path / "t.parquet", "y", columns=NAMES)
    assert [part.n_rows for part in source.parts] == [100] * 5 + [37]


def test_files_of_unlike_width_work_in_the_wider_dtype(table, tmp_path):
    table[NAMES].to_parquet(tmp_path / "a.parquet")
    table[NAMES].astype(float).to_parquet(tmp_path / "b.parquet")
    source = scan(tmp_path)
    assert source.schema.dtype == np.float64
    assert {b.X.dtype for p in (0, 1) for b in source.blocks(p)} == {np.dtype(np.float64)}


def test_one_row_and_no_row(table, tmp_path):
    for n in (1, 0):
        table[:n].to_parquet(tmp_path / "t.parquet")
        table[:n].to_csv(tmp_path / "t.csv", index=False)
        for given in (tmp_path / "t.parquet", tmp_path / "t.csv", table[:n]):
            source = scan(given, "y", weight="w")
            assert sum(b.n_rows for p in range(source.n_partitions) for b in source.blocks(p)) == n
            assert source.n_rows == n
            assert source.reduce(Moments())[0] == n


def test_svmlight_streams_what_was_dumped(data, tmp_path, monkeypatch):
    import gzip

    X, y, _ = data
    for zero_based in (True, False):
        path = tmp_path / f"t{zero_based:d}.svm"
        dump_svmlight_file(X, y, str(path), zero_based=zero_based)
        monkeypatch.setattr("bochner.rows.svmlight_file.TEXT_BYTES", 1000)
        source = scan(path, block_bytes=50 * 12 * D)
        assert source.schema.sparse
        assert (source.n_rows, source.n_features) == (N, D)
        np.testing.assert_allclose(source.reduce(Moments()), moments(X, y), rtol=1e-5)
        assert scan(path, n_features=9, zero_based=zero_based).n_features == 9
        packed = tmp_path / f"p{zero_based:d}.svm.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        np.testing.assert_allclose(scan(packed).reduce(Moments()), moments(X, y), rtol=1e-5)


def test_arrays_given_are_never_written_to(data):
    X, y, w = (a.copy() for a in data)
    as_source(X, y, w, allow_frame=False).reduce(Moments())
    for now, then in zip((X, y, w), data, strict=True):
        np.testing.assert_array_equal(now, then)
