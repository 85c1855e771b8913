"""Table 1 of Bullins et al. 2018: mnist56."""

from __future__ import annotations

from ._bullins_mnist import experiment

EXPERIMENT = experiment("mnist56")
