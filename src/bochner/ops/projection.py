"""What the hot loops know of a feature: a linear form of the row, then one scalar function.

Symbols: n rows, d input columns, F linear forms (frequencies), M columns out.

    z_f(x)   = w_f . x + b_f                     f = 1 .. F
    phi_m(x) = scale * activation(z_m(x))        m = 1 .. M

Every activation makes one column per form (M = F) except ``"pair"``, which makes two (M = 2F),
interleaved so that a prefix of the columns is a prefix of the frequencies:
column 2f is ``scale * cos(z_f)``, column 2f + 1 is ``scale * sin(z_f)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[Any]
Activation: TypeAlias = Literal["cos", "pair", "step", "relu", "relu2", "identity"]

#: Activations with a non-zero derivative with respect to z, i.e. those ``pull`` can serve.
DIFFERENTIABLE: frozenset[str] = frozenset({"cos", "pair", "relu", "relu2", "identity"})


@dataclass(frozen=True, eq=False)
class Dense:
    """Linear forms given row by row: ``matrix`` is F x d."""

    matrix: FloatArray

    @property
    def n_forms(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_inputs(self) -> int:
        return int(self.matrix.shape[1])

    def to_matrix(self) -> FloatArray:
        return self.matrix

    def take(self, forms: NDArray[np.intp]) -> Dense:
        return Dense(self.matrix[forms])


@dataclass(frozen=True, eq=False)
class Structured:
    """Linear forms as Hadamard-diagonal products (Yu et al. 2016, "Orthogonal random features").

    Block k of p forms is  diag(radii_k) H D_k3 H D_k2 H D_k1 / p^(3/2)  on the row padded with
    zeros from d to p >= d, a power of two; H is the unnormalised p x p Hadamard matrix in natural
    (Sylvester) order, D_kr diagonal signs. Each row of the product before ``radii`` has unit norm.
    Form ``blocks * p`` rows exist; ``forms`` (if not None) keeps some of them, in that order.

    signs: (blocks, 3, p) of +-1 as int8; radii: (blocks * p,); forms: (F,) or None.
    """

    n_inputs: int
    signs: NDArray[np.int8]
    radii: FloatArray
    forms: NDArray[np.intp] | None = None

    @property
    def padded(self) -> int:
        return int(self.signs.shape[2])

    @property
    def n_forms(self) -> int:
        return int(self.radii.shape[0] if self.forms is None else self.forms.shape[0])

    def to_matrix(self) -> FloatArray:
        """The same forms as an F x d matrix (slow; for definitions, exports and tests)."""
        from scipy.linalg import hadamard

        p = self.padded
        h = hadamard(p).astype(np.float64) / np.sqrt(p)
        rows = []
        for d1, d2, d3 in self.signs.astype(np.float64):
            rows.append(((h * d3) @ (h * d2) @ (h * d1))[:, : self.n_inputs])
        matrix = np.concatenate(rows) * self.radii.astype(np.float64)[:, None]
        if self.forms is not None:
            matrix = matrix[self.forms]
        return matrix.astype(self.radii.dtype)

    def take(self, forms: NDArray[np.intp]) -> Structured | Dense:
        kept = forms if self.forms is None else self.forms[forms]
        if 4 * len(kept) < self.radii.shape[0]:  # a small part of the transform: dense is cheaper
            return Dense(Structured(self.n_inputs, self.signs, self.radii, kept).to_matrix())
        return Structured(self.n_inputs, self.signs, self.radii, kept)


@dataclass(frozen=True, eq=False)
class Columns:
    """Linear forms that are input columns: z_f(x) = x[index_f]. Sparse rows stay cheap."""

    n_inputs: int
    index: NDArray[np.intp]

    @property
    def n_forms(self) -> int:
        return int(self.index.shape[0])

    def to_matrix(self) -> FloatArray:
        matrix = np.zeros((self.n_forms, self.n_inputs))
        matrix[np.arange(self.n_forms), self.index] = 1.0
        return matrix

    def take(self, forms: NDArray[np.intp]) -> Columns:
        return Columns(self.n_inputs, self.index[forms])


Operator: TypeAlias = Dense | Structured | Columns


@dataclass(frozen=True, eq=False)
class Projection:
    """M columns phi_m(x) = scale * activation(w_m . x + b_m); see the module's docstring."""

    operator: Operator
    activation: Activation
    scale: float = 1.0
    offsets: FloatArray | None = None

    @property
    def n_inputs(self) -> int:
        return self.operator.n_inputs

    @property
    def n_forms(self) -> int:
        return self.operator.n_forms

    @property
    def n_columns(self) -> int:
        return 2 * self.n_forms if self.activation == "pair" else self.n_forms

    @property
    def atoms(self) -> Mapping[str, FloatArray]:
        """The parameters of the forms, one row a form."""
        if isinstance(self.operator, Columns):
            return {"columns": self.operator.index}
        found = {"frequencies": self.operator.to_matrix()}
        return found if self.offsets is None else {**found, "offsets": self.offsets}

    def names(self) -> tuple[str, ...]:
        """A readable name for each column: cos(w12), sin(w12), relu(w7), x5."""
        if isinstance(self.operator, Columns):
            return tuple(f"x{j}" for j in self.operator.index)
        functions = ("cos", "sin") if self.activation == "pair" else (self.activation,)
        return tuple(f"{name}(w{f})" for f in range(self.n_forms) for name in functions)

    def scaled(self, factor: float) -> Projection:
        """Every column times a number."""
        return replace(self, scale=self.scale * factor)

    def take(self, columns: NDArray[np.intp]) -> Projection:
        """The projection with these columns only, in this order.

        Whole pairs stay pairs; otherwise sin(z) = cos(z - pi/2) turns a pair into phase form.
        """
        columns = np.asarray(columns, dtype=np.intp)
        if self.activation != "pair":
            offsets = None if self.offsets is None else self.offsets[columns]
            return Projection(self.operator.take(columns), self.activation, self.scale, offsets)
        even = columns[0::2]
        whole = len(columns) % 2 == 0 and bool(np.all(even % 2 == 0))
        if whole and bool(np.array_equal(columns[1::2], even + 1)):
            forms = even // 2
            offsets = None if self.offsets is None else self.offsets[forms]
            return Projection(self.operator.take(forms), "pair", self.scale, offsets)
        forms, quarter = columns // 2, columns % 2
        base = np.zeros(self.n_forms) if self.offsets is None else self.offsets
        offsets = (base[forms] - quarter * (np.pi / 2)).astype(base.dtype)
        return Projection(self.operator.take(forms), "cos", self.scale, offsets)
