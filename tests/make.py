"""Small ingredients that tests share: rows in every layout, generators, drawn maps."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bochner.feature_map import FeatureMap


def rng(seed=0):
    return np.random.default_rng(seed)


def rows(n, d, seed=0):
    return rng(seed).standard_normal((n, d))


def thinned(n, d, seed=0):
    """Rows of which about two thirds of the entries are zero."""
    X = rows(n, d, seed)
    X[rng(seed + 1).random((n, d)) < 2 / 3] = 0.0
    return X


def read_only(X):
    X = np.array(X)
    X.flags.writeable = False
    return X


#: The same rows as callers may hold them; float64 unless the name says otherwise.
LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read-only": read_only,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "float32": lambda X: np.asarray(X, dtype=np.float32),
    "CSR": sparse.csr_array,
    "CSR-float32": lambda X: sparse.csr_matrix(X, dtype=np.float32),
    "CSC": sparse.csc_array,
}


def draw(family, n_columns, d, seed=0):
    """A map with about so many columns, as many as the family has at most."""
    n_columns -= n_columns % family.columns_per_atom
    most = family.n_available(d)
    n_columns = n_columns if most is None else min(n_columns, most)
    return FeatureMap.uniform(family, max(n_columns, family.columns_per_atom), d, rng(seed))
