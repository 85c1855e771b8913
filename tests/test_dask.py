"""Dask: the sum of a cluster is the sum in memory, merged in a tree, also when a worker dies."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from bochner.rows import Hook, RowState, StopFit
from bochner.rows.adapt import as_source
from bochner.rows.cluster import FAN_IN
from bochner.rows.scan import scan
from bochner.rows.threads import current_limit
from row_sums import Moments, Order, SlowMoments, moments

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")

N, D = 503, 4
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)).astype(np.float32)
Y = RNG.integers(0, 3, N)
W = RNG.random(N)
NAMES = [f"x{j}" for j in range(D)]
FRAME = pd.DataFrame(X, columns=NAMES).assign(y=Y, w=W)
WANT = moments(X, Y, W)


def arrays():
    return as_source(
        da.from_array(X, chunks=(50, D)),
        da.from_array(Y, chunks=50),
        da.from_array(W, chunks=50),
        allow_frame=False,
    )


def unlike_chunks():
    return as_source(
        da.from_array(X, chunks=(37, 3)), da.from_array(Y, chunks=200), W, allow_frame=False
    )


def unknown_chunks():
    rows = da.from_array(np.column_stack([X, Y, W]), chunks=(50, -1))
    rows = rows[da.ones(N, chunks=50) > 0]
    return scan(rows, -2, weight=-1)


def sparse_chunks():
    X_ = da.from_array(X, chunks=(50, D)).map_blocks(sparse.csr_matrix)
    return as_source(X_, Y, W, allow_frame=False)


def one_array():
    return scan(da.from_array(np.column_stack([Y, X, W]), chunks=(50, 2)), 0, weight=-1)


def frame():
    return scan(dd.from_pandas(FRAME, npartitions=9), "y", weight="w")


def frame_and_series():
    ddf = dd.from_pandas(FRAME, npartitions=9)
    return as_source(ddf[NAMES], ddf["y"], ddf["w"], allow_frame=False)


SOURCES = [arrays, unlike_chunks, unknown_chunks, sparse_chunks, one_array, frame, frame_and_series]
every_source = pytest.mark.parametrize("build", SOURCES, ids=lambda f: f.__name__)


@every_source
def test_the_sum_is_that_of_the_rows_in_memory(build):
    source = build()
    assert source.n_features == D
    assert source.schema.weighted
    assert source.schema.n_targets == 0
    np.testing.assert_allclose(source.reduce(Moments()), WANT, rtol=1e-6, atol=1e-4)


@every_source
def test_blocks_are_cut_by_the_budget_and_keep_their_places(build):
    source = build()
    small = as_source(da.from_array(X, chunks=(50, D)), block_bytes=16 * 7, allow_frame=False)
    for one in (source, small):
        found = one.reduce(Order())
        assert len({p for p, _, _ in found}) == one.n_partitions
        values = np.concatenate([v for *_, v in found]).astype(np.float32)
        np.testing.assert_array_equal(values, X[:, 0])
    assert max(len(v) for *_, v in found) == 7
    assert sum(b.n_rows for p in range(small.n_partitions) for b in small.blocks(p)) == N


@every_source
def test_mapped_sums_and_outputs_travel(build):
    source = build()
    doubled = source.mapped(lambda b: b.replace(X=b.X * 2), source.schema)
    np.testing.assert_allclose(
        doubled.reduce(Moments())[2 : 2 + D], 2 * WANT[2 : 2 + D], rtol=1e-5, atol=1e-4
    )
    out = doubled.map(_two, dtype=np.float32, width=2)
    assert isinstance(out, da.Array)
    assert out.dtype == np.float32
    assert out.shape[1] == 2
    if source.n_rows is not None:
        assert out.shape == (N, 2)
    np.testing.assert_allclose(out.compute(), 2 * X[:, :2], rtol=1e-6)
    vector = source.map(_first, dtype=float, width=None)
    assert vector.ndim == 1
    np.testing.assert_allclose(vector.compute(), X[:, 0], rtol=1e-6)


def _two(block):
    two = block.X[:, [0, 1]]
    return np.asarray(two.toarray() if sparse.issparse(two) else two, dtype=np.float32)


def _first(block):
    return np.asarray(block.X[:, [0]].sum(axis=1)).ravel()


def test_a_row_state_travels_with_its_rows():
    source = as_source(da.from_array(X, chunks=(50, D)), block_bytes=16 * 20, allow_frame=False)
    state = RowState(source, fill=-1.0)
    for p in range(source.n_partitions - 1):  # the last partition has not been seen yet
        for block in source.blocks(p):
            state.set(block, block.X[:, 0] + p)

    class NewState(Order):
        """A pass that reads the state and returns the state that follows it."""

        def update(self, kept, block):
            return [*kept, (block.partition, block.offset, block.state * 2)]

    found = source.reduce(NewState(), row_state=state)
    for partition, offset, values in found:
        seen = partition < source.n_partitions - 1
        rows = X[50 * partition + offset :][: len(values), 0]
        np.testing.assert_allclose(values, 2.0 * (rows + partition) if seen else -2.0, rtol=1e-6)


class Sizes(Moments):
    """Counts what each task received, to see that no task sees more than a partition."""

    def start(self):
        return []

    def update(self, state, block):
        assert current_limit() == 1
        return [*state, ("fold", block.n_rows)]

    def merge(self, a, b):
        return a + b

    def finalise(self, state):
        return state


def _depth(graph, key, seen):
    if key not in seen:
        below = [_depth(graph, k, seen) for k in _needs(graph, key)]
        seen[key] = 1 + max(below, default=0)
    return seen[key]


def _needs(graph, key):
    return [k for k in dask.core.get_dependencies(graph, key) if _is_ours(k)]


def _is_ours(key):
    return isinstance(key, tuple) and str(key[0]).startswith(("bochner-fold", "bochner-merge"))


@pytest.mark.parametrize("n", [1, 2, 8, 9, 64, 65, 300])
def test_merges_make_a_tree_and_see_only_states(n):
    assert FAN_IN <= 16
    source = as_source(da.ones((n, 2), chunks=(1, 2)), allow_frame=False)
    root = source.tree(Moments())
    graph = dict(root.__dask_graph__())
    ours = [k for k in graph if _is_ours(k)]
    merges = [k for k in ours if str(k[0]).startswith("bochner-merge")]
    assert _depth(graph, root.key, {}) == 1 + int(np.ceil(np.log(n) / np.log(FAN_IN) - 1e-9))
    for key in merges:
        needs = dask.core.get_dependencies(graph, key)
        assert 1 <= len([k for k in needs if _is_ours(k)]) <= FAN_IN
        assert all(_is_ours(k) or str(k).startswith("bochner-sum") for k in needs)
    chunks = [k for k in ours if k not in merges]
    assert len(chunks) == n
    for key in chunks:  # a fold needs its own rows, the sum and the reader: no other partition
        rows = [k for k in dask.core.get_dependencies(graph, key) if not _is_small(k)]
        assert len(rows) == 1
    assert sum(str(k).startswith("bochner-sum") for k in graph) == 1
    assert source.reduce(Sizes()) == [("fold", 1)] * n


def _is_small(key):
    return str(key).startswith(("bochner-sum", "bochner-reader"))


def test_merging_never_changes_a_state_that_a_retry_needs():
    from bochner.rows.cluster import Held, _merge

    states = [np.ones(3), np.ones(3), np.ones(3)]
    for state in states:
        state.setflags(write=False)
    np.testing.assert_array_equal(_merge(Held(Moments()), states), 3 * np.ones(3))


def test_progress_counts_rows_and_a_callback_stops():
    seen = []
    arrays().reduce(Moments(), hook=Hook(lambda e: seen.append((e.done, e.total)) and None))
    assert seen[-1] == (N, N)
    assert [d for d, _ in seen] == sorted(d for d, _ in seen)
    with pytest.raises(StopFit):
        arrays().reduce(Moments(), hook=Hook(lambda e: True))


def test_kinds_of_a_frame_are_found():
    table = FRAME.assign(town=np.where(Y > 1, "a", "b"), level=pd.Categorical(Y))
    source = scan(dd.from_pandas(table, npartitions=3), "y", columns=["x0", "town", "level"])
    assert source.schema.kinds == ("number", "category", "category")
    block = next(source.blocks(2))
    assert set(block.X.columns[1]) <= {"a", "b"}
    with pytest.raises(TypeError, match=r"'town' \(category\)"):
        as_source(dd.from_pandas(table, npartitions=3), allow_frame=False)


def refused(*words):
    return pytest.raises(ValueError, match="(?s)" + "".join(f"(?=.*(?:{w}))" for w in words))


def test_refusals():
    dX = da.from_array(X, chunks=(50, D))
    ddf = dd.from_pandas(FRAME, npartitions=3)
    with refused("'yy' is not a column", "Did you mean 'y'"):
        scan(ddf, "yy")
    with refused("inconsistent numbers of samples", "503, 7"):
        as_source(dX, np.ones(7), allow_frame=False)
    with refused("inconsistent numbers of samples", "503, 502"):
        as_source(dX, da.ones(502), allow_frame=False)
    with refused("does not know how many rows", "compute_chunk_sizes"):
        as_source(ddf[NAMES], Y, allow_frame=False)
    with refused("y has 2 partitions, but X has 3"):
        as_source(ddf[NAMES], ddf["y"].repartition(npartitions=2), allow_frame=False)
    with refused("Expected 2D array"):
        as_source(da.ones(5), allow_frame=False)
    with refused(r"weight of partition \d", "not negative"):
        as_source(dX, Y, -W, allow_frame=False).reduce(Moments())
    with refused("Input X contains NaN", "row 3"):
        broken = da.where(dX == X[53, 1], np.nan, dX)
        as_source(broken, check_finite=True, allow_frame=False).reduce(Moments())
    with pytest.raises(TypeError, match="y or sample_weight is a Dask collection"):
        as_source(X, da.from_array(Y), allow_frame=False)
    with pytest.raises(TypeError, match="Dask Delayed"):
        as_source(dask.delayed([1]), allow_frame=False)


def test_rows_that_are_missing_from_one_side_are_found_in_the_pass():
    rows = da.from_array(X, chunks=(50, D))
    unknown = rows[da.ones(N, chunks=50) > 0]
    y = da.from_array(Y, chunks=(*[50] * 9, 52, 1))
    with refused("y of partition 9", "inconsistent numbers of samples"):
        as_source(unknown, y, allow_frame=False).reduce(Moments())


@pytest.fixture(scope="module")
def client():
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _kill_one_soon(client, delay):
    def kill():
        time.sleep(delay)
        os.kill(pids[0], signal.SIGKILL)

    pids = list(client.run(os.getpid).values())
    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.cluster
class TestCluster:
    @every_source
    def test_the_sum_is_that_of_the_rows_in_memory(self, build, client):
        np.testing.assert_allclose(build().reduce(Moments()), WANT, rtol=1e-6, atol=1e-4)

    @pytest.mark.parametrize("persisted", [False, True])
    def test_a_worker_killed_in_the_middle_changes_nothing(self, client, persisted):
        dX, dy = da.from_array(X, chunks=(20, D)), da.from_array(Y, chunks=20)
        if persisted:
            dX, dy = client.persist([dX, dy])
        source = as_source(dX, dy, W, allow_frame=False)
        before = set(client.run(os.getpid).values())
        thread = _kill_one_soon(client, 0.6)
        total = source.reduce(SlowMoments(0.1))
        thread.join()
        client.wait_for_workers(2)
        assert set(client.run(os.getpid).values()) != before
        np.testing.assert_allclose(total, WANT, rtol=1e-9, atol=1e-4)

    def test_no_worker_and_no_client_ever_receives_x(self, client):
        """X of 64 MB is made on the workers. A chunk may move to an idle worker; no more than one
        chunk is ever one result, and what the client receives is one state.
        """
        chunk = 50_000 * D * 8
        big = da.random.default_rng(0).standard_normal((40 * 50_000, D), chunks=(50_000, D))
        source = as_source(big, allow_frame=False)
        client.run(_forget_transfers)
        root = client.compute(source.tree(Moments()))
        distributed.wait(root)
        assert max(client.run(_largest_transfer).values()) <= 1.01 * chunk
        assert client.run_on_scheduler(_result_bytes, key=root.key) < 1000
        np.testing.assert_allclose(root.result()[0], 40 * 50_000)

    def test_progress_and_stopping(self, client):
        seen = []
        arrays_ = as_source(da.from_array(X, chunks=(20, D)), Y, allow_frame=False)
        hook = Hook(lambda e: seen.append((e.done, e.total)) and None)
        arrays_.reduce(SlowMoments(0.12), hook=hook)
        assert seen[-1] == (N, N)
        assert len(seen) > 1
        start = time.perf_counter()
        with pytest.raises(StopFit):
            arrays_.reduce(SlowMoments(1.0), hook=Hook(lambda e: True))
        assert time.perf_counter() - start < 10

    def test_a_sum_of_many_megabytes_goes_in_once_without_a_word(self, client, recwarn):
        total = arrays().reduce(Heavy(np.ones(2_000_000)))
        np.testing.assert_allclose(total, WANT, rtol=1e-6, atol=1e-4)
        assert not [w for w in recwarn if "graph" in str(w.message)]


class Heavy(Moments):
    """A sum that carries 16 MB of atoms."""

    def __init__(self, atoms):
        self.atoms = atoms


def _forget_transfers(dask_worker):
    dask_worker.transfer_incoming_log.clear()


def _largest_transfer(dask_worker):
    """Bytes of the largest result that this worker has fetched from another."""
    log = dask_worker.transfer_incoming_log
    return max((size for entry in log for size in entry["keys"].values()), default=0)


def _result_bytes(dask_scheduler, key):
    return dask_scheduler.tasks[key].nbytes
