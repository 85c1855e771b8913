"""Adult as a9a has it, numbers cut into ranges."""

from __future__ import annotations

from dataclasses import replace

from ._shahrampour import ADULT, compared

EXPERIMENT = compared("shahrampour_a9a", "adult as a9a", (replace(ADULT, data="a9a"),))
