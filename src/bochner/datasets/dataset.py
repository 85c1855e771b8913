"""What a loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


class DataUnavailableError(FileNotFoundError):
    """The data are neither at hand nor to be had."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and targets.

    Parameters
    ----------
    name : str
    X : array, CSR, or array of sequences
        n x d; sequences are strings, or letters as character codes (n x L).
    y : array (n,)
    test : array of int, optional
        Rows that the publisher calls test rows.
    groups : array (n,), optional
        Rows of one recording, person or sequence: a split by row is optimistic where there are.
    names : tuple of str
        Of the columns, where they have any.
    note : str
        Where these are not all of the public original: what they are instead.
    task : "classification" or "regression"
    """

    name: str
    X: Any
    y: NDArray[Any]
    test: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    names: tuple[str, ...] = ()
    note: str = ""
    task: str = "classification"

    def __repr__(self) -> str:
        size = " x ".join(str(n) for n in self.X.shape)
        note = f", {self.note}" if self.note else ""
        return f"<Dataset {self.name}: {size}, {self.task}{note}>"
