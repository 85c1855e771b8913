"""Whole fits on a real cluster: the same model as in memory, dead workers or not."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from bochner import KernelClassifier, KernelRegressor, LearnedFeatures, scan
from bochner.linear import Ridge

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.cluster

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3_000, 6))
LABEL = np.where(np.linalg.norm(X, axis=1) > 2.3, "far", "near")
TARGET = np.sin(X[:, 0]) + X[:, 1] ** 2


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**options, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def chunked(values, size=250):
    return da.from_array(values, chunks=(size, *values.shape[1:]))


def test_a_classifier(client):
    memory = KernelClassifier(n_components=64, random_state=0).fit(X, LABEL)
    model = KernelClassifier(n_components=64, random_state=0).fit(chunked(X), chunked(LABEL))
    np.testing.assert_array_equal(model.classes_, memory.classes_)
    lazy = model.predict_proba(chunked(X))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (3_000, 2)
    np.testing.assert_allclose(lazy.compute(), memory.predict_proba(X), atol=1e-6)
    assert (model.predict(chunked(X)).compute() == memory.predict(X)).all()
    assert model.score(chunked(X), chunked(LABEL)) == pytest.approx(memory.score(X, LABEL))


def test_a_regressor_chooses_the_same_alpha(client):
    memory = KernelRegressor(n_components=64, random_state=0).fit(X, TARGET)
    model = KernelRegressor(n_components=64, random_state=0).fit(chunked(X), TARGET)
    assert model.model_.stats["alpha"] == pytest.approx(memory.model_.stats["alpha"])
    np.testing.assert_allclose(model.predict(chunked(X)).compute(), memory.predict(X), atol=1e-7)


def test_features_stay_lazy(client):
    features = LearnedFeatures(n_components=16, random_state=0).fit(chunked(X))
    lazy = features.transform(chunked(X))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), features.transform(X), rtol=1e-10)


def test_a_dask_table_with_gaps_and_categories(client):
    city = RNG.choice(["oslo", "rome"], size=len(X))
    table = pd.DataFrame({"a": X[:, 0], "city": city, "y": (X[:, 0] > 0) ^ (city == "rome")})
    table.loc[::9, "a"] = np.nan
    lazy = dd.from_pandas(table, npartitions=5)
    model = KernelClassifier(n_components=32, random_state=0).fit(scan(lazy, target="y"))
    memory = KernelClassifier(n_components=32, random_state=0).fit(table[["a", "city"]], table["y"])
    np.testing.assert_allclose(
        model.decision_function(table[["a", "city"]]),
        memory.decision_function(table[["a", "city"]]),
        atol=1e-5,
    )


def slow_rows(block_info=None):
    time.sleep(0.05)  # so that there is a middle of the fit to die in
    return X[slice(*block_info[None]["array-location"][0])]


def generated(size=250):
    """Rows that a worker can make again: a graph of calls, not data held by anyone."""
    chunks = ((size,) * (len(X) // size), (X.shape[1],))
    return da.map_blocks(slow_rows, chunks=chunks, dtype=X.dtype)


@pytest.mark.parametrize("persisted", [False, True])
def test_a_fit_outlives_a_worker(client, persisted):
    rows, target = generated(), chunked(TARGET)
    if persisted:
        rows, target = client.persist([rows, target])
        distributed.wait([rows, target])
    deaths, seen = [], []

    def die(pid):
        os.kill(pid, signal.SIGKILL)
        deaths.append(pid)

    def kill_one(event):
        if not seen:
            pid = next(iter(client.run(os.getpid).values()))
            threading.Timer(0.05, die, (pid,)).start()
        seen.append(event.stage)

    settings = {"n_components": 64, "head": Ridge(alpha="auto"), "random_state": 0}
    memory = KernelRegressor(**settings).fit(X, TARGET)
    model = KernelRegressor(**settings, callback=kill_one).fit(rows, target)
    assert deaths, "no worker died"
    assert seen[-1] == "head", seen  # passes went on after the first one, where the worker died
    np.testing.assert_allclose(model.predict(X), memory.predict(X), atol=1e-7)
