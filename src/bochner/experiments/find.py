"""Experiments by name: each is a module of ``catalogue`` that defines ``EXPERIMENT``."""

from __future__ import annotations

import difflib
import pkgutil
from importlib import import_module

from . import catalogue
from .describe import Experiment


def names() -> list[str]:
    """All experiments there are."""
    found = (module.name for module in pkgutil.iter_modules(catalogue.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def find(name: str) -> Experiment:
    """The experiment of that name."""
    known = names()
    if name not in known:
        close = difflib.get_close_matches(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}."
        raise ValueError(f"no experiment is called {name!r}: {hint}")
    experiment: Experiment = import_module(f"{catalogue.__name__}.{name}").EXPERIMENT
    return experiment
