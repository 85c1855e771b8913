"""Several dictionaries side by side: candidates from more than one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..ops.column_set import AnyColumns
from ..ops.projection import FloatArray
from ..ops.stack import Stack
from ..rows.sample import RowSample
from .base import Family


class Union(Family):
    """Columns of several families, those of family p scaled by sqrt(nu_p N / N_p).

    The exact kernel is sum_p nu_p K_p, so that choosing among the columns of a union is choosing
    among kernels. N_p is the number of columns of family p, N that of all: with equal counts the
    columns of two families are sqrt(nu_p / nu_q) apart, as in multiple-kernel learning.

    Parameters
    ----------
    families : sequence of Family or str
        Their order is that of the columns. Settings of the p-th are reached as ``p__name``:
        ``Union(["gaussian", "linear"]).set_params(**{"0__bandwidth": 2.0})``.
    weights : "uniform" or array, default="uniform"
        nu_p > 0, as they are; "uniform" is one over the number of families.
    counts : "auto" or array of int, default="auto"
        N_p for each family, which have to add up to the columns asked for. "auto" gives equal
        shares: finite families (Linear, Taylor) at most all they have, the others what is left,
        and single columns that cannot be shared evenly go to families by lot.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.families import Gaussian, Linear, Union
    >>> both = Union([Gaussian(1.0), Linear()], weights=[0.5, 2.0])
    >>> both.exact_kernel(np.zeros((1, 2)))
    array([[0.5]])
    """

    typical: ClassVar = {}

    def __init__(
        self, families: Sequence[Any] = (), weights: Any = "uniform", counts: Any = "auto"
    ) -> None:
        self.families = families
        self.weights = weights
        self.counts = counts

    # --- settings of the members ---

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """scikit-learn's parameters; deep ones are those of the members, ``p`` and ``p__name``."""
        found: dict[str, Any] = super().get_params(deep=False)
        for p, family in enumerate(self.families if deep else ()):
            found[str(p)] = family
            if isinstance(family, Family):
                found |= {f"{p}__{name}": v for name, v in family.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Union:
        """Change settings; a member that is given as a word becomes a family of its own."""
        own = {name: params.pop(name) for name in ("families", "weights", "counts") & params.keys()}
        super().set_params(**own)
        members = list(self.families)
        for name, value in sorted(params.items()):
            p, _, inner = name.partition("__")
            if not p.isdigit() or int(p) >= len(members):
                raise ValueError(
                    f"Invalid parameter {name!r} for Union: use families, weights, counts, or "
                    f"p__name with p from 0 to {len(members) - 1}."
                )
            members[int(p)] = _changed(members[int(p)], inner, value) if inner else value
        if params:
            self.families = members
        return self

    # --- what a family is ---

    @property
    def members(self) -> tuple[Family, ...]:
        """The families, words resolved."""
        from . import as_family

        words = isinstance(self.families, str | Family) or not isinstance(self.families, Sequence)
        if words or len(self.families) == 0:
            raise ValueError(
                f"Union(families={self.families!r}): give a list of at least one family, such as "
                "[Gaussian(1.0), Linear()]."
            )
        return tuple(as_family(family) for family in self.families)

    @property
    def needs_sample(self) -> bool:
        return any(family.needs_sample for family in self.members)

    @property
    def columns_per_atom(self) -> int:
        return max(family.columns_per_atom for family in self.members)

    @property
    def bound(self) -> float:
        """Finite where the number of columns does not change the scale of one."""
        members, nu = self.members, self._nu()
        if any(family.n_available(1) is not None for family in members):
            return float("inf")
        share = self._shares()
        return max(
            float(np.sqrt(nu[p] / share[p])) * family.bound for p, family in enumerate(members)
        )

    @property
    def differentiable(self) -> bool:
        return all(family.differentiable for family in self.members)

    def n_available(self, n_features: int) -> int | None:
        if not isinstance(self.counts, str):
            return int(np.sum(self._given_counts()))
        available = [family.n_available(n_features) for family in self.members]
        known = [n for n in available if n is not None]
        return sum(known) if len(known) == len(available) else None

    def check(self, n_features: int) -> None:
        for family in self.members:
            family.check(n_features)
        self._nu()
        if isinstance(self.counts, str):
            if self.counts != "auto":
                raise ValueError(
                    f"Union(counts={self.counts!r}) is not known; use 'auto' or a number of "
                    "columns for each family."
                )
            return
        for family, count in zip(self.members, self._given_counts(), strict=True):
            most = family.n_available(n_features)
            if most is not None and count > most:
                raise ValueError(
                    f"Union(counts=...) asks for {count} columns of {family!r}, which has at most "
                    f"{most} for these rows."
                )

    def resolve(self, sample: RowSample | None) -> Family:
        families = [family.resolve(sample) for family in self.members]
        return Union(families, self.weights, self.counts)

    def draw(self, n_columns: int, n_features: int, rng: np.random.Generator) -> AnyColumns:
        self.check(n_features)
        self._check_count(n_columns)
        counts, expected = self._split(n_columns, n_features, rng)
        nu, parts = self._nu(), {}
        for p, (family, label) in enumerate(zip(self.members, self._labels(), strict=True)):
            if counts[p]:
                columns = family.draw(int(counts[p]), n_features, rng)
                parts[label] = columns.scaled(float(np.sqrt(nu[p] * n_columns / expected[p])))
        return Stack.of(parts)

    def exact_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        kernels = (
            nu * family.exact_kernel(X, Y)
            for nu, family in zip(self._nu(), self.members, strict=True)
        )
        return np.asarray(sum(kernels))

    # --- counts ---

    def _split(
        self, N: int, d: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], FloatArray]:
        """N_p, and what it is on average over the lots drawn for columns left over."""
        if not isinstance(self.counts, str):
            given = self._given_counts()
            if given.sum() != N:
                raise ValueError(
                    f"Union(counts={given.tolist()}) makes {given.sum()} columns, but {N} were "
                    'asked for; make them the same, or use counts="auto".'
                )
            return given, given.astype(np.float64)
        counts = _shared(N, [family.n_available(d) for family in self.members])
        free = np.array([f.n_available(d) is None for f in self.members])
        if not free.any():
            return counts, counts.astype(np.float64)
        width = self.columns_per_atom
        largest = int(np.argmax(counts))
        counts[largest] -= -(N - int(counts.sum())) % width  # whole atoms for the others
        rest = N - int(counts.sum())
        expected = np.where(free, rest / free.sum(), counts)
        counts[free] = _by_lot(rest // width, int(free.sum()), rng) * width
        return counts, expected

    def _shares(self) -> FloatArray:
        """The share of the columns of each family, where none of them is finite."""
        n = len(self.members)
        if isinstance(self.counts, str):
            return np.full(n, 1.0 / n)
        given = self._given_counts()
        return np.asarray(given / given.sum())

    def _given_counts(self) -> NDArray[np.intp]:
        counts, n = np.atleast_1d(np.asarray(self.counts, dtype=object)), len(self.members)
        whole = all(isinstance(c, Integral) and not isinstance(c, bool) for c in counts.ravel())
        if counts.shape != (n,) or not whole or any(c < 1 for c in counts):
            raise ValueError(
                f"Union(counts={self.counts!r}): give a positive whole number for each of the {n} "
                "families, or 'auto'."
            )
        return counts.astype(np.intp)

    def _nu(self) -> FloatArray:
        n = len(self.members)
        if isinstance(self.weights, str):
            if self.weights != "uniform":
                raise ValueError(
                    f"Union(weights={self.weights!r}) is not known; use 'uniform' or a number for "
                    "each family."
                )
            return np.full(n, 1.0 / n)
        try:
            nu = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            nu = np.full(n, np.nan)
        if nu.shape != (n,) or not np.all((nu > 0) & np.isfinite(nu)):
            raise ValueError(
                f"Union(weights={self.weights!r}): give a positive number for each of the {n} "
                "families, or 'uniform'."
            )
        return nu

    def _labels(self) -> list[str]:
        """A word for each family; with its place where there are several of a kind."""
        kinds = [type(family).__name__.lower() for family in self.members]
        return [k if kinds.count(k) == 1 else f"{k}{p}" for p, k in enumerate(kinds)]


def _changed(member: Any, name: str, value: Any) -> Family:
    """A copy of a member with one setting changed: the caller's own object stays as it was."""
    from sklearn.base import clone

    from . import as_family

    changed = clone(as_family(member))
    changed.set_params(**{name: value})
    return changed


def _shared(N: int, available: Sequence[int | None]) -> NDArray[np.intp]:
    """Columns of the finite families (0 for the others): equal shares, at most all they have."""
    counts = np.zeros(len(available), dtype=np.intp)
    finite = sorted((n, p) for p, n in enumerate(available) if n is not None)
    left, families = N, len(available)
    if families == len(finite) and sum(n for n, _ in finite) < N:
        raise ValueError(
            f"Union was asked for {N} columns, but its families have "
            f"{sum(n for n, _ in finite)} for these rows. Ask for at most that."
        )
    for n, p in finite:
        last = families == 1
        counts[p] = min(n, left if last else left // families)
        left, families = left - counts[p], families - 1
    return counts


def _by_lot(atoms: int, families: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Equal shares of some atoms; those left over go to different families, by lot."""
    counts = np.full(families, atoms // families, dtype=np.intp)
    counts[rng.permutation(families)[: atoms % families]] += 1
    return counts
