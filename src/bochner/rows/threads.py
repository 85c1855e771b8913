"""How many threads a fold may use where it runs: the hook that the thread pool of `ops` reads.

A cluster already runs one fold a core; a fold that opened a pool of its own there would only
fight its neighbours. The limit belongs to the calling thread, not to the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LIMIT: ContextVar[int | None] = ContextVar("bochner_thread_limit", default=None)


def current_limit() -> int | None:
    """The most threads that work started from here may use; None where nothing was asked."""
    return _LIMIT.get()


@contextmanager
def limited(n_threads: int) -> Iterator[None]:
    """Work started inside uses at most ``n_threads`` threads; never more than a limit outside."""
    outer = _LIMIT.get()
    token = _LIMIT.set(n_threads if outer is None else min(n_threads, outer))
    try:
        yield
    finally:
        _LIMIT.reset(token)
