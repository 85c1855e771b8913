"""Pairs of digits with thousands of features: three lines of table 6."""

from __future__ import annotations

from ._sinha_duchi import MNIST_LARGE, compared

EXPERIMENT = compared("sinha_duchi_mnist_large", "table 6, mnist", MNIST_LARGE)
