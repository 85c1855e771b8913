"""All of Sinha & Duchi 2016: an umbrella."""

from __future__ import annotations

from ..describe import Experiment

EXPERIMENT = Experiment(
    "sinha_duchi",
    "Sinha & Duchi 2016: all experiments",
    "Each part has a page of its own.",
    parts=("sinha_duchi_synthetic", "sinha_duchi_kgrams", "sinha_duchi_tables"),
)
