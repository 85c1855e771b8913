"""All of Letarte, Morvant & Germain 2019: an umbrella."""

from __future__ import annotations

from ..describe import Experiment

EXPERIMENT = Experiment(
    "letarte",
    "Letarte, Morvant & Germain 2019: all experiments",
    "Each part has a page of its own.",
    parts=(
        "letarte_toy",
        "letarte_ads",
        "letarte_table",
        "letarte_kernels",
        "letarte_limit",
        "letarte_coverage",
    ),
)
