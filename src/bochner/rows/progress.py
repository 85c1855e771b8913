"""Progress, interruption and checkpoints: one hook through every long loop.

A callback is any callable of one `Event`. Returning ``True`` from it asks the loop to stop at
once and keep what it has (`StopFit` reaches loops that have nothing to keep).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Callback = Callable[["Event"], Any]


class StopFit(Exception):  # noqa: N818 - a request, not an error
    """Raised through a pass when a callback asked to stop."""


@dataclass(frozen=True)
class Event:
    """One step of a loop.

    ``done`` of ``total`` (None when unknown) in units of ``unit``; ``info`` holds figures such as
    the objective; ``state`` returns arrays from which the loop can be resumed, where there is one.
    """

    stage: str
    done: int
    total: int | None
    unit: str
    seconds: float
    info: dict[str, float] = field(default_factory=dict)
    state: Callable[[], dict[str, Any]] | None = None


class Hook:
    """What loops call. Without callbacks and verbosity it costs next to nothing."""

    def __init__(
        self, callback: Callback | Sequence[Callback] | None = None, verbose: Any = 0
    ) -> None:
        if not isinstance(verbose, int | float | np.integer) or not verbose >= 0:
            raise ValueError(f"verbose must be a number (0, 1 or 2), got {verbose!r}.")
        callbacks: list[Callback] = []
        if callback is not None:
            callbacks = [callback] if callable(callback) else _listed(callback)
        if verbose:
            callbacks.append(Printer(int(verbose)))
        self.callbacks = callbacks
        self.stage = "fit"
        self._started = time.perf_counter()

    def at(self, stage: str) -> Hook:
        """Name the stage that follows."""
        self.stage = stage
        self._started = time.perf_counter()
        return self

    def rows(self, done: int, total: int | None) -> None:
        """Report rows visited; raises `StopFit` when a callback asks to stop."""
        if self.callbacks and self._emit(done, total, "rows", {}, None):
            raise StopFit(f"stopped by a callback in {self.stage!r} after {done} rows")

    def step(
        self,
        done: int,
        total: int | None = None,
        *,
        state: Callable[[], dict[str, Any]] | None = None,
        **info: float,
    ) -> bool:
        """Report an iteration; True when the loop should stop and keep what it has."""
        return bool(self.callbacks) and self._emit(done, total, "steps", info, state)

    def _emit(
        self,
        done: int,
        total: int | None,
        unit: str,
        info: dict[str, float],
        state: Callable[[], dict[str, Any]] | None,
    ) -> bool:
        seconds = time.perf_counter() - self._started
        event = Event(self.stage, done, total, unit, seconds, info, state)
        answers = [callback(event) for callback in self.callbacks]
        return any(answer is True for answer in answers)


def _listed(callbacks: Any) -> list[Callback]:
    if not isinstance(callbacks, Sequence) or not all(callable(c) for c in callbacks):
        raise TypeError(f"callback must be a callable or a list of callables, got {callbacks!r}.")
    return list(callbacks)


class Printer:
    """``verbose=1``: a line a second; ``verbose=2``: every event."""

    def __init__(self, verbose: int) -> None:
        self.interval = 0.0 if verbose > 1 else 1.0
        self._last = 0.0

    def __call__(self, event: Event) -> None:
        now = time.perf_counter()
        if now - self._last < self.interval and event.done != event.total:
            return
        self._last = now
        of = "" if event.total is None else f" of {event.total:,}"
        info = "".join(f", {k} {v:.6g}" for k, v in event.info.items())
        line = f"[bochner] {event.stage}: {event.done:,}{of} {event.unit}{info}"
        print(f"{line} ({event.seconds:.1f} s)", file=sys.stderr)


class Checkpoint:
    """A callback that saves the state of a loop to a file, whole or not at all.

    >>> from bochner.rows import Checkpoint
    >>> Checkpoint("fit.npz", every=60.0)
    Checkpoint('fit.npz')
    """

    def __init__(self, path: str | Path, every: float = 0.0) -> None:
        self.path = Path(path)
        self.every = every
        self._last = float("-inf")

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r})"

    def __call__(self, event: Event) -> None:
        now = time.perf_counter()
        if event.state is None or now - self._last < self.every:
            return
        partial = self.path.with_name(self.path.name + ".part")
        with partial.open("wb") as file:
            np.savez(file, **event.state())
        partial.replace(self.path)
        self._last = now

    def load(self) -> dict[str, Any]:
        """The arrays saved last."""
        with np.load(self.path, allow_pickle=False) as saved:
            return {name: saved[name] for name in saved.files}
