"""Table 1 of Bullins et al. 2018: the last column."""

from __future__ import annotations

from ._bullins_mnist import large

EXPERIMENT = large()
