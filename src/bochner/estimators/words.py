"""Settings that may be words: ``family="laplace"``, and what ``family__bandwidth`` reaches then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from ..families import as_family
from ..learners import as_learner


class TakesWords(BaseEstimator):
    """`set_params` that makes an object of a word whose own settings are asked for."""

    def set_params(self, **params: Any) -> Self:
        """Change settings, also those of a family, learner or head: ``learner__radius=0.1``.

        One that is given as a word becomes an object of its own first.
        """
        for name, make in self._words().items():
            value = params.get(name, getattr(self, name, None))
            if isinstance(value, str) and any(key.startswith(f"{name}__") for key in params):
                params[name] = make(value)
        super().set_params(**params)
        return self

    def _words(self) -> Mapping[str, Callable[[str], Any]]:
        """What makes an object of a word, by the name of the setting."""
        known: dict[str, Callable[[str], Any]] = {"family": as_family, "learner": as_learner}
        return {name: make for name, make in known.items() if hasattr(self, name)}
