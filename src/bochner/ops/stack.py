"""Several kinds of columns side by side, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .column_set import AnyColumns, ColumnSet
from .projection import FloatArray
from .tiles import Positions, Rows, cut

#: Columns that do not end up side by side pass through a buffer of about so many bytes.
BUFFER_BYTES = 4 << 20


@dataclass(frozen=True, eq=False)
class Stack(ColumnSet):
    """The columns of several sets: those of part p stand at ``where[p]`` of the whole.

    ``labels`` tell the parts apart in names and atoms. No part is without columns.
    """

    parts: tuple[AnyColumns, ...]
    where: tuple[NDArray[np.intp], ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, parts: Mapping[str, AnyColumns]) -> Stack:
        """The parts one after the other, by label."""
        ends = np.cumsum([part.n_columns for part in parts.values()])
        where = tuple(
            np.arange(end - part.n_columns, end)
            for end, part in zip(ends, parts.values(), strict=True)
        )
        return cls(tuple(parts.values()), where, tuple(parts))

    @property
    def n_inputs(self) -> int:
        return self.parts[0].n_inputs

    @property
    def n_columns(self) -> int:
        return sum(len(at) for at in self.where)

    @property
    def atoms(self) -> Mapping[str, FloatArray]:
        """The atoms of every part, as "label.parameter"."""
        return {
            f"{label}.{name}": value
            for label, part in zip(self.labels, self.parts, strict=True)
            for name, value in part.atoms.items()
        }

    def names(self) -> tuple[str, ...]:
        found = np.empty(self.n_columns, dtype=object)
        for label, part, at in self._all():
            found[at] = [f"{label}:{name}" for name in part.names()]
        return tuple(found)

    def take(self, columns: NDArray[np.intp]) -> Stack:
        columns = np.asarray(columns, dtype=np.intp)
        owner, inner = self._owners
        kept = []
        for p, (label, part, _) in enumerate(self._all()):
            at = np.flatnonzero(owner[columns] == p)
            if len(at):
                kept.append((part.take(inner[columns[at]]), at, label))
        parts, where, labels = zip(*kept, strict=True) if kept else ((), (), ())
        return Stack(parts, where, labels)

    @cached_property
    def _owners(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For each column its part, and its place in that part."""
        owner, inner = np.empty((2, self.n_columns), dtype=np.intp)
        for p, at in enumerate(self.where):
            owner[at], inner[at] = p, np.arange(len(at))
        return owner, inner

    def scaled(self, factor: float) -> Stack:
        return replace(self, parts=tuple(part.scaled(factor) for part in self.parts))

    def define(self, X: FloatArray) -> FloatArray:
        from . import reference

        out = np.empty((len(X), self.n_columns))
        for _, part, at in self._all():
            out[:, at] = reference.features(X, part)
        return out

    def write(self, rows: Rows, scale: FloatArray, out: FloatArray, threads: int | None) -> None:
        from .rowwise import features

        for _, part, at in self._all():
            place = _positions(at)
            if isinstance(place, slice):
                here = out[:, place]
                features(rows.X, part, column_scale=scale[at], out=here, threads=threads)
                continue
            step = max(16, BUFFER_BYTES // (len(at) * rows.dtype.itemsize))
            for tile in cut(0, rows.n, step):
                phi = features(rows.X[tile], part, column_scale=scale[at], threads=threads)
                out[tile.start : tile.stop, place] = phi

    def project(self, rows: Rows, R: FloatArray, threads: int | None) -> FloatArray:
        from .project import project

        out = np.empty((self.n_columns, R.shape[1]))
        for _, part, at in self._all():
            out[at] = project(rows.X, part, R, threads=threads)
        return out

    def map_rows(self, rows: Rows, T: FloatArray, threads: int | None) -> FloatArray:
        from .rowwise import map_rows

        out = np.zeros((rows.n, T.shape[1]))
        for _, part, at in self._all():
            out += map_rows(rows.X, part, T[at], threads=threads)
        return out

    @property
    def differentiable(self) -> bool:
        from .pull import is_differentiable

        return all(is_differentiable(part) for part in self.parts)

    def pull(
        self, rows: Rows, R: FloatArray, T: FloatArray, threads: int | None
    ) -> dict[str, FloatArray]:
        from .pull import pull

        return {
            f"{label}.{name}": value
            for label, part, at in self._all()
            for name, value in pull(rows.X, part, R, T[at], threads=threads).items()
            if name in part.atoms
        }

    def slope(self) -> Stack:
        from .pull import derivative

        return self._each(derivative)

    def _each(self, function: Callable[[AnyColumns], AnyColumns]) -> Stack:
        return replace(self, parts=tuple(function(part) for part in self.parts))

    def _all(self) -> list[tuple[str, AnyColumns, NDArray[np.intp]]]:
        return list(zip(self.labels, self.parts, self.where, strict=True))


def _positions(at: NDArray[np.intp]) -> Positions:
    """A slice where the positions are a run."""
    first = int(at[0])
    run = bool(np.array_equal(at, np.arange(first, first + len(at))))
    return slice(first, first + len(at)) if run else at
