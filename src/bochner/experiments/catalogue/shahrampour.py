"""All of Shahrampour & Tarokh 2018: an umbrella."""

from __future__ import annotations

from ..describe import Experiment

EXPERIMENT = Experiment(
    "shahrampour",
    "Shahrampour & Tarokh 2018: all experiments",
    "Each part has a page of its own.",
    parts=(
        "shahrampour_adult",
        "shahrampour_a9a",
        "shahrampour_epileptic",
        "shahrampour_news",
        "shahrampour_amounts",
    ),
)
