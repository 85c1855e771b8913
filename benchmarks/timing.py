"""Contestants in alternating blocks with a pause between, and ratios of medians.

After a multi-threaded BLAS call its workers spin for tens of milliseconds and steal a core from
whoever comes next, so contestants run in blocks, the first call of a block is not counted, and a
pause separates the blocks. A block during which other processes took more than `QUIET` of the
processors is measured again while patience lasts; the quietest attempt counts.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PAUSE = 0.3
#: Share of all processors that others may take during a block.
QUIET = 0.05
#: Seconds of measuring again that a run of a suite may take.
_patience = {"left": 90.0}


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alternate(
    contestants: dict[str, Callable[[], Any]], blocks: int = 5, repeats: int = 3
) -> dict[str, float]:
    """Median seconds of each contestant over ``blocks`` rounds of ``repeats`` calls."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(blocks):
        for name, call in contestants.items():
            times[name] += quiet_block(call, repeats)
    return {name: statistics.median(values) for name, values in times.items()}


def quiet_block(call: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of ``repeats`` calls with the machine to themselves, if that happens soon.

    The system counts in ticks of 10 ms; two of them are nobody's.
    """
    attempts: list[tuple[float, list[float]]] = []
    while not attempts or (attempts[-1][0] > QUIET and _patience["left"] > 0):
        time.sleep(PAUSE)
        call()
        start, before = time.perf_counter(), _time_of_others()
        values = [seconds(call) for _ in range(repeats)]
        wall = time.perf_counter() - start
        _patience["left"] -= wall if attempts else 0.0
        attempts.append(((_time_of_others() - before - 0.02) / wall, values))
    return min(attempts, key=lambda attempt: attempt[0])[1]


def _time_of_others() -> float:
    """Processor seconds of everything but this process, over the number of processors."""
    import psutil

    every, own = psutil.cpu_times(), psutil.Process().cpu_times()
    busy = sum(every[:8]) - every.idle - getattr(every, "iowait", 0.0)
    return float(busy - own.user - own.system) / (psutil.cpu_count() or 1)


def row(
    what: str, ours: float, baseline: float | None, target: float | None, **more: Any
) -> dict[str, Any]:
    """One line of the table; the target is for the ratio (or for ``ours`` without a baseline)."""
    ratio = None if baseline is None else ours / baseline
    judged = ours if ratio is None else ratio
    met = None if target is None else bool(judged <= target)
    return {
        "what": what,
        "ours": ours,
        "baseline": baseline,
        "ratio": ratio,
        "target": target,
        "met": met,
        **more,
    }


@contextmanager
def peak_resident(every: float = 0.002) -> Iterator[dict[str, float]]:
    """``extra``: how many MB the process grew at most while the block ran."""
    import psutil

    process, done = psutil.Process(), threading.Event()
    start = process.memory_info().rss
    result = {"extra": 0.0}

    def watch() -> None:
        while not done.wait(every):
            grown = (process.memory_info().rss - start) / 2**20
            result["extra"] = max(result["extra"], grown)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield result
    finally:
        done.set()
        thread.join()
