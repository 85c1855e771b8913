"""One pool of threads for the whole process, and BLAS kept to one thread while it works.

Kernels release the GIL, so plain Python threads are enough; nothing here uses numba's own threading
layers, which abort under concurrent callers or hang in forked children. The pool is built at first
use and again after a fork. A call made from a pool thread runs where it is, so nesting cannot
deadlock; any number of callers may wait at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

from ..rows.threads import current_limit

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Multiplications that one thread does in a few milliseconds.
SMALL_WORK = 1e8

_here = threading.local()
_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


def usable_threads() -> int:
    """CPUs this process may run on; the environment variable BOCHNER_NUM_THREADS overrides."""
    given = os.environ.get("BOCHNER_NUM_THREADS", "").strip()
    if given:
        if not given.isdigit() or int(given) < 1:
            raise ValueError(
                f"BOCHNER_NUM_THREADS is {given!r}: expected a whole number of threads, 1 or more; "
                "unset it to use every CPU of this process"
            )
        return int(given)
    return _counted_cpus()


@cache
def _counted_cpus() -> int:
    """Counted once: reading affinity masks and container quotas takes as long as a small call."""
    import joblib  # scikit-learn's own dependency: knows both

    return max(1, int(joblib.cpu_count()))


def _start_worker() -> None:
    """Pool threads never use a BLAS with more than themselves, where it keeps limits by thread."""
    _here.worker = True
    _to_one_thread(_blas.per_thread)


def _pool() -> ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(usable_threads(), "bochner", _start_worker)
        return _executor


class _Job:
    """Items handed out one by one to as many runners as may work; stops at the first error."""

    def __init__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self.function, self.items = function, items
        self.results: list[Any] = [None] * len(items)
        self.stopped = False
        self._indices = iter(range(len(items)))  # next() on it is atomic under the GIL
        self._lock = threading.Lock()

    def run(self) -> None:
        while not self.stopped:
            with self._lock:
                index = next(self._indices, None)
            if index is None:
                return
            try:
                self.results[index] = self.function(self.items[index])
            except BaseException:
                self.stopped = True
                raise


def run(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int | None = None
) -> list[Result]:
    """[function(item) for item in items] on the pool, with BLAS single-threaded.

    An error in one item, or an interrupt of the caller, stops the others before it is raised.
    """
    workers = min(check_threads(threads), len(items))
    job = _Job(function, items)
    with single_threaded_blas():
        if workers <= 1 or getattr(_here, "worker", False):
            job.run()
        else:
            _run_on_pool(job, workers)
    return job.results


def _run_on_pool(job: _Job, workers: int) -> None:
    futures: list[Future[None]] = []
    try:
        pool = _pool()
        futures.extend(pool.submit(job.run) for _ in range(workers))
    except RuntimeError:  # the interpreter is shutting down: no new work may be scheduled
        job.run()
    try:
        for future in futures:
            future.result()
    finally:
        job.stopped = True
        for future in futures:
            future.cancel()
        wait(futures)


def check_threads(threads: int | None) -> int:
    """The number of threads a call may use; a limit set by the caller (`rows.threads`) holds."""
    if threads is None:
        limit, usable = current_limit(), usable_threads()
        return usable if limit is None else min(limit, usable)
    if isinstance(threads, bool) or int(threads) != threads or threads < 1:
        raise ValueError(
            f"threads={threads!r}: expected a whole number, 1 or more, or None for every usable CPU"
        )
    return int(threads)


class _BlasLimit:
    """Counts the callers that need BLAS on one thread; the last one out restores what was there.

    Libraries are looked up once: that scans everything loaded, for milliseconds. A BLAS built on
    OpenMP keeps its limit per thread, so there every thread sets and restores its own.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.found = False
        self.shared: list[Any] = []
        self.per_thread: list[Any] = []
        self.before: list[tuple[Any, int]] = []

    def _find(self) -> None:
        import scipy.linalg  # noqa: F401  (has a BLAS of its own: load it first)
        from threadpoolctl import ThreadpoolController

        for library in ThreadpoolController().lib_controllers:
            if library.user_api == "blas":
                own = getattr(library, "threading_layer", None) == "openmp"
                (self.per_thread if own else self.shared).append(library)
        self.found = True

    def enter(self) -> list[tuple[Any, int]]:
        """Limit BLAS; returns what this thread has to give back to ``leave``."""
        with self.lock:
            if not self.found:
                self._find()
            if self.users == 0:
                self.before = _to_one_thread(self.shared)
            self.users += 1
        return _to_one_thread(self.per_thread)

    def leave(self, mine: list[tuple[Any, int]]) -> None:
        """Undo one ``enter`` of this thread."""
        _restore(mine)
        with self.lock:
            self.users -= 1
            if self.users == 0:
                _restore(self.before)
                self.before = []


def _to_one_thread(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Limit these libraries; returns each with the number of threads it had."""
    before = [(library, library.get_num_threads()) for library in libraries]
    _restore([(library, 1) for library in libraries])
    return before


def _restore(limits: list[tuple[Any, int]]) -> None:
    """Set these limits, whichever thread set the last one.

    From 3.8 on, threadpoolctl heeds only the thread that set a limit of OpenBLAS first and ignores
    the others silently. Ours belongs to all callers together, so nobody keeps that claim.
    """
    for library, threads in limits:
        disown = getattr(library, "clear_controlling_thread", lambda force: None)
        disown(force=True)
        library.set_num_threads(threads)
        disown(force=True)


_blas = _BlasLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS on one thread, so that pool threads do not compete with its own; always restored."""
    mine = _blas.enter()
    try:
        yield
    finally:
        _blas.leave(mine)


def blas_for(work: float) -> AbstractContextManager[None]:
    """One BLAS thread for a factorisation of so many multiplications, if it takes milliseconds.

    Further threads would have to be woken, and spin for longer than that afterwards: on a busy
    machine a factor of order 100 then takes 100 ms instead of 0.1.
    """
    return single_threaded_blas() if work <= SMALL_WORK else nullcontext()


def _after_fork_in_child() -> None:
    """Threads and held locks do not survive a fork: start afresh, with BLAS as it was."""
    global _executor, _lock, _blas, _here
    _executor, _lock, _here = None, threading.Lock(), threading.local()
    before, _blas = _blas.before, _BlasLimit()
    _restore(before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
