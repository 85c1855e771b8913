"""What a family of features is: a base measure over atoms, and the formula of one feature.

A family is a plain settings object. Using it never changes it: `resolve` returns another family
whose bandwidth is a number, and `draw` returns atoms.

Scale of a feature: columns are scaled so that the *mean over columns* of phi_m(x) phi_m(x') has
the exact kernel as its expectation. So a cosine feature is sqrt(2) cos(w.x + b), whose bound is
sqrt(2); theory that asks for |phi| <= 1 divides by `bound`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..ops.column_set import AnyColumns
from ..ops.projection import FloatArray
from ..rows.sample import RowSample


class Family(BaseEstimator):
    """Base class of all families."""

    #: Values worth trying of each parameter, on columns of unit scale, the commonest first: for
    #: tests and for searches over families. `check` says which combinations make sense.
    typical: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    #: Does `resolve` need a sample of the rows?
    @property
    def needs_sample(self) -> bool:
        return False

    @property
    def columns_per_atom(self) -> int:
        return 1

    @property
    @abstractmethod
    def bound(self) -> float:
        """sup over x and atoms of |phi(x)|; infinite where there is none."""

    @property
    def differentiable(self) -> bool:
        """Can atoms be moved along `FeatureMap.pull`?"""
        return True

    @abstractmethod
    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> AnyColumns:
        """``n_columns`` columns of atoms drawn from the base measure."""

    @abstractmethod
    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """The kernel that the features approximate, n x m."""

    def n_available(self, n_features: int) -> int | None:
        """How many columns there are to draw from; None where there is no end of them."""
        return None

    def check(self, n_features: int) -> None:
        """Raise if the settings make no sense for rows with this many columns."""

    def resolve(self, sample: RowSample | None) -> Family:
        """The same family with every data-dependent setting replaced by its value."""
        return clone(self)

    def _check_count(self, n_columns: int) -> int:
        """The number of atoms behind ``n_columns`` columns."""
        name = type(self).__name__
        if n_columns < 1:
            raise ValueError(f"{name} was asked for {n_columns} columns; ask for at least one.")
        if n_columns % self.columns_per_atom:
            near = f"{n_columns - 1} or {n_columns + 1}" if n_columns > 1 else "2"
            raise ValueError(
                f"{name} in pair form makes two columns (cos, sin) a frequency, but {n_columns} "
                f'columns were asked for. Ask for {near}, or use form="phase", which makes one '
                "column a frequency."
            )
        return n_columns // self.columns_per_atom


def check_option(owner: str, name: str, value: Any, options: tuple[str, ...]) -> None:
    """Refuse a value that is none of the options, naming them and the closest one."""
    if isinstance(value, str) and value in options:
        return
    from difflib import get_close_matches

    near = get_close_matches(str(value), options, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    given = f"{owner}({name}={value!r})" if owner else f"{name}={value!r}"
    choices = ", ".join(repr(o) for o in options)
    raise ValueError(f"{given} is not known; use one of {choices}.{hint}")
