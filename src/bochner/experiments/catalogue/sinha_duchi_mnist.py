"""Pairs of digits: three lines of tables 3 and 4."""

from __future__ import annotations

from ._sinha_duchi import MNIST, compared

EXPERIMENT = compared("sinha_duchi_mnist", "table 4, mnist", MNIST)
