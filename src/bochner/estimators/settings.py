"""The settings that estimators share, checked in one place."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..rows.threads import limited

#: Columns kept where nothing else is asked for.
DEFAULT_COMPONENTS = 512
#: Rows looked at to resolve a bandwidth.
SAMPLE_ROWS = 20_000
MOST_COLUMNS = 2**31 - 1


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy Generator from an int, a RandomState, a Generator or None."""
    if random_state is None or isinstance(random_state, numbers.Integral):
        seed = None if random_state is None else int(random_state)
        if seed is not None and seed < 0:
            raise ValueError(f"random_state must not be negative, got {seed}.")
        return np.random.default_rng(seed)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    raise ValueError(
        "random_state must be an int, a numpy RandomState or Generator, or None, got "
        f"{type(random_state).__name__}."
    )


def check_device(device: Any) -> None:
    """Refuse a device that cannot run: nothing falls back silently."""
    if device in (None, "cpu"):
        return
    raise ValueError(
        f"device={device!r} cannot run here: this version computes on the CPU. Use device=None "
        "or device='cpu'."
    )


def threads(n_jobs: Any) -> int:
    """The number of threads behind ``n_jobs``; None is all cores, negative counts from the end."""
    from ..ops.pool import usable_threads

    if n_jobs is None:
        return usable_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}.")
    count = int(n_jobs)
    return count if count > 0 else max(1, usable_threads() + 1 + count)


def counts(
    n_candidates: Any,
    n_components: Any,
    available: int | None,
    per_atom: int,
    per_component: int = 1,
) -> tuple[int, int]:
    """(n_candidates, n_components) as numbers; "auto" draws ``per_component`` for each kept,
    or all of a finite family where there is a choice to make.
    """
    components = _count("n_components", n_components)
    candidates = _count("n_candidates", n_candidates)
    if candidates is not None and available is not None and candidates > available:
        raise ValueError(
            f"n_candidates={candidates}, but this family has only {available} columns for these "
            'rows. Ask for fewer, or leave n_candidates="auto".'
        )
    if components is None:
        limits = [n for n in (candidates, available) if n is not None]
        components = min(limits if available is not None else [DEFAULT_COMPONENTS, *limits])
        components -= components % per_atom if components > per_atom else 0
    most = candidates if candidates is not None else available
    if most is not None and components > most:
        raise ValueError(
            f"n_components={components} is more than the {most} candidates there are: components "
            "are chosen among candidates. Lower n_components or raise n_candidates."
        )
    if candidates is None:
        candidates = components * per_component
        if available is not None:  # a learner that chooses sees all there is
            candidates = available if per_component > 1 else components
    return candidates, components


def learns_from_targets(learner: Any) -> bool:
    """Does a learner, or its name, need y? False where it is not one: `fit` says so."""
    from ..learners import as_learner

    try:
        return as_learner(learner).needs.targets
    except (TypeError, ValueError):
        return False


def _count(name: str, value: Any) -> int | None:
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f'{name} must be a positive whole number or "auto", got {value!r}.')
    count = int(value)
    if count < 1:
        raise ValueError(f'{name} must be at least 1 (or "auto"), got {count}.')
    if count > MOST_COLUMNS:
        raise ValueError(
            f"{name}={count} is more columns than any machine can hold; give at most "
            f"{MOST_COLUMNS:,} (a few hundred to a few thousand are usual)."
        )
    return count


@contextmanager
def fitting(estimator: Any) -> Iterator[None]:
    """The frame of every fit: its threads are limited, and an error leaves nothing behind."""
    before = dict(vars(estimator))
    try:
        check_device(estimator.device)
        with limited(threads(estimator.n_jobs)):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
