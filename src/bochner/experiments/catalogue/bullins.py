"""All of Bullins et al. 2018: an umbrella."""

from __future__ import annotations

from ..describe import Experiment

EXPERIMENT = Experiment(
    "bullins",
    "Bullins et al. 2018: all experiments",
    "Each part has a page of its own.",
    parts=(
        "bullins_windmill",
        "bullins_checkerboard",
        "bullins_mnist17",
        "bullins_mnist49",
        "bullins_mnist56",
        "bullins_mnist_large",
    ),
)
