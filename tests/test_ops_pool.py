"""Threads: many callers, nesting, errors, interrupts, forks, and BLAS left as it was found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS counts too, and must be there before we count)
from threadpoolctl import threadpool_info, threadpool_limits

import bochner
from bochner import ops
from bochner.ops import Columns, Dense, Projection, pool

PACKAGE = Path(bochner.__file__).parent


def problem(n=2000, d=6, n_forms=300):
    rng = np.random.default_rng(0)
    p = Projection(Dense(rng.standard_normal((n_forms, d))), "cos")
    return rng.standard_normal((n, d)), p, rng.standard_normal((n, 1))


def blas_threads():
    return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]


def python(script, **environment):
    """Run a script in a fresh interpreter; what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_thirty_two_callers_at_once_get_what_one_gets():
    X, p, R = problem()
    alone = ops.project(X, p, R)
    with ThreadPoolExecutor(32) as callers:
        results = list(callers.map(lambda _: ops.project(X, p, R), range(64)))
    assert all(np.array_equal(result, alone) for result in results)


def test_a_call_from_inside_the_pool_runs_in_place():
    X, p, R = problem(200)
    inner = ops.project(X, p, R)

    def visit(phi, rows):
        return [np.array_equal(ops.project(X, p, R), inner)]

    assert all(ops.fold(X, p, visit, lambda a, b: a + b, chunk_bytes=1 << 14))


def test_blas_works_on_one_thread_inside_and_as_before_outside():
    X, p, _ = problem()
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        inside = ops.fold(X, p, lambda phi, rows: [blas_threads()], lambda a, b: a + b)
        assert all(set(limits) == {1} for limits in inside)
        assert blas_threads() == before
    assert max(before) == 2


def in_a_thread(call):
    with ThreadPoolExecutor(1) as other:
        return other.submit(call).result()


def test_blas_works_on_one_thread_whichever_thread_calls():
    """threadpoolctl 3.8 ignores every thread but the first that set a limit."""

    def inside():
        return pool.run(lambda item: blas_threads(), [0, 1, 2], threads=2)

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        for limits in [*inside(), *in_a_thread(inside), *inside(), *in_a_thread(inside)]:
            assert set(limits) == {1}
        assert blas_threads() == before


@pytest.mark.parametrize("last", [lambda call: call(), in_a_thread], ids=["same", "other thread"])
def test_blas_limit_is_lifted_by_the_last_of_overlapping_callers(last):
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = pool.single_threaded_blas(), pool.single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        last(lambda: second.__exit__(None, None, None))
        assert blas_threads() == before


def test_a_limit_of_the_users_own_survives_a_call_inside_it():
    X, p, R = problem(300)
    outside = blas_threads()
    with threadpool_limits(1, user_api="blas"):
        ops.project(X, p, R)
        in_a_thread(lambda: ops.project(X, p, R))
        assert set(blas_threads()) == {1}
    assert blas_threads() == outside


def test_a_blas_that_limits_by_thread_is_limited_and_restored_in_each():
    """OpenBLAS on OpenMP, MKL's rivals: a stand-in that keeps its limit per thread."""
    limit = threading.local()

    class ByThread:
        user_api, threading_layer = "blas", "openmp"

        def get_num_threads(self):
            return getattr(limit, "threads", 8)

        def set_num_threads(self, threads):
            limit.threads = threads

    library = ByThread()
    ours = pool._BlasLimit()
    ours.found, ours.per_thread = True, [library]
    mine = ours.enter()
    theirs = in_a_thread(lambda: (ours.enter(), library.get_num_threads()))
    assert theirs[1] == library.get_num_threads() == 1
    ours.leave(mine)
    assert library.get_num_threads() == 8


def test_an_error_stops_the_rest_is_raised_and_leaves_no_limit():
    seen = []

    def fail_second(item):
        seen.append(item)
        if item == 1:  # most likely not on the thread that the caller waits for first
            raise RuntimeError(f"item {item}")
        time.sleep(0.02)

    before = blas_threads()
    for _ in range(3):
        seen.clear()
        with pytest.raises(RuntimeError, match="item 1"):
            pool.run(fail_second, list(range(50)), threads=2)
        assert len(seen) <= 10
    assert blas_threads() == before
    assert pool.run(lambda i: i, [1, 2, 3]) == [1, 2, 3]


def test_an_interrupt_of_the_caller_cancels_what_is_outstanding():
    script = """
        import os, signal, threading, time
        import scipy.linalg
        from threadpoolctl import threadpool_info
        from bochner.ops import pool
        limits = lambda: [i["num_threads"] for i in threadpool_info()]
        before, seen = limits(), []
        def slow(item):
            seen.append(item)
            time.sleep(0.05)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        try:
            pool.run(slow, list(range(1000)), threads=2)
        except KeyboardInterrupt:
            count = len(seen)
            time.sleep(0.3)
            print(len(seen) == count < 100, limits() == before, time.perf_counter() - start < 5)
    """
    assert python(script, BOCHNER_NUM_THREADS="2").split() == ["True"] * 3


FORK = """
    import os, sys
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info
    from bochner import ops
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((2000, 6)), rng.standard_normal((2000, 1))
    p = ops.Projection(ops.Dense(rng.standard_normal((300, 6))), "cos")
    limits = lambda: [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]
    before = limits()
    expected = ops.project(X, p, R)
    if {inside}:
        import threading
        from bochner.ops import pool
        held, leave = threading.Event(), threading.Event()
        def hold(item):
            held.set()
            leave.wait(20)
        caller = threading.Thread(target=pool.run, args=(hold, [0, 1, 2], 2))
        caller.start()
        held.wait()
    child = os.fork()
    if child == 0:
        right = np.array_equal(ops.project(X, p, R, threads=2), expected)
        os._exit(0 if right and limits() == before else 3)
    if {inside}:
        leave.set()
        caller.join()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), limits() == before)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("inside", [False, True], ids=["idle", "while the pool works"])
def test_a_forked_child_computes_with_a_pool_of_its_own(inside):
    out = python(FORK.format(inside=inside), BOCHNER_NUM_THREADS="2", PYTHONWARNINGS="ignore")
    assert out.split() == ["0", "True"]


def test_a_spawned_process_computes_the_same(tmp_path):
    script = """
        import multiprocessing, sys
        import numpy as np
        from bochner import ops

        def work(seed):
            rng = np.random.default_rng(seed)
            X, R = rng.standard_normal((500, 6)), rng.standard_normal((500, 1))
            p = ops.Projection(ops.Dense(rng.standard_normal((70, 6))), "cos")
            return ops.project(X, p, R)

        if __name__ == "__main__":
            here = work(0)
            with multiprocessing.get_context("spawn").Pool(2) as processes:
                print(all(np.array_equal(there, here) for there in processes.map(work, [0, 0])))
    """
    file = tmp_path / "spawning.py"
    file.write_text(textwrap.dedent(script))
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "True", done.stderr


def test_importing_ops_leaves_numba_unimported():
    script = """
        import sys
        import bochner.ops
        print(any(name.split(".")[0] in ("numba", "llvmlite") for name in sys.modules))
    """
    assert python(script).strip() == "False"


def test_the_environment_variable_sets_the_threads_and_nonsense_is_refused(monkeypatch):
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "3")
    assert ops.usable_threads() == 3
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="BOCHNER_NUM_THREADS is 'many'.*whole number"):
        ops.usable_threads()


READ_ONLY = """
    import ctypes, os, sys
    if os.geteuid() == 0:  # root writes anywhere; without its capabilities, permissions count
        header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(header, nothing) == 0
    for folder in (os.path.join(sys.argv[1], "bochner", "ops"), os.environ["HOME"]):
        try:
            open(os.path.join(folder, "probe"), "w")
        except PermissionError:
            continue
        sys.exit(folder + " can be written to: this test would show nothing")
    import bochner.ops
    from bochner.ops import kernels
    print(bochner.__file__.startswith(sys.argv[1]), bochner.ops.first_call_seconds() > 0)
    print(kernels.project_one._cache.__class__.__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="drops Linux capabilities")
def test_a_read_only_install_with_a_read_only_home_runs_uncached():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(PACKAGE, root / "bochner", ignore=shutil.ignore_patterns("__pycache__"))
        (root / "home").mkdir()
        directories = [root, *(path for path in root.rglob("*") if path.is_dir())]
        for directory in directories:
            directory.chmod(0o555)
        environment = {"PYTHONPATH": folder, "HOME": str(root / "home"), "PATH": os.defpath}
        command = [sys.executable, "-c", textwrap.dedent(READ_ONLY), folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        for directory in directories:
            directory.chmod(0o755)
    assert done.stdout.split() == ["True", "True", "NullCache"], done.stderr


def test_memory_of_a_projection_does_not_grow_with_the_data():
    import tracemalloc

    def peak(n, n_forms):
        X, p, R = problem(n, 4, n_forms)
        tracemalloc.start()
        ops.project(X, p, R, threads=2)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most - 8 * n_forms

    peak(100, 100)
    small, large = peak(4_000, 2_000), peak(40_000, 8_000)
    assert large <= 1.2 * small + 2**20
    assert large <= 16 * 2**20


@pytest.mark.skipif(ops.usable_threads() < 2, reason="the pool has one thread for each CPU")
def test_fold_of_the_rows_themselves_is_concurrent():
    """Two visits overlap when two threads are asked for: otherwise the pool is only decoration."""
    X = np.zeros((4096, 64), np.float32)
    p = Projection(Columns(64, np.arange(64)), "identity")
    together = threading.Barrier(2, timeout=20)
    met = []

    def visit(phi, rows):
        if not met:
            together.wait()
            met.append(rows)
        return 0

    ops.fold(X, p, visit, lambda a, b: 0, threads=2, chunk_bytes=1 << 14)
    assert met
