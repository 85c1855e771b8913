"""How much memory there is."""

from __future__ import annotations

import os


def physical_memory() -> float:
    """Bytes of memory in this machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return float("inf")
