"""Learning the measure by alignment in a divergence ball (Sinha & Duchi 2016)."""

from .ball import Path, path, solve

__all__ = ["Path", "path", "solve"]
