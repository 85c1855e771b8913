"""Learning the measure by alignment in a divergence ball (Sinha & Duchi 2016)."""

from .ball import Path, path, solve
from .learner import Alignment
from .targets import LabelKernel

__all__ = ["Alignment", "LabelKernel", "Path", "path", "solve"]
