"""Table 1 of Letarte et al. 2019: an umbrella."""

from __future__ import annotations

from ..describe import Experiment

EXPERIMENT = Experiment(
    "letarte_table",
    "Letarte, Morvant & Germain 2019, table 1: all parts",
    "Each part has a page of its own.",
    parts=("letarte_breast", "letarte_sparse", "letarte_digits", "letarte_adult"),
)
