"""Tables 2 to 6: an umbrella."""

from __future__ import annotations

from ..describe import Experiment

EXPERIMENT = Experiment(
    "sinha_duchi_tables",
    "Sinha & Duchi 2016, tables 2 to 6: all parts",
    "Each part has a page of its own.",
    parts=(
        "sinha_duchi_joint",
        "sinha_duchi_adult",
        "sinha_duchi_sparse",
        "sinha_duchi_mnist",
        "sinha_duchi_mnist_large",
        "sinha_duchi_weight",
        "sinha_duchi_multiple_kernels",
    ),
)
