"""Learning the measure by alignment in a divergence ball (Sinha & Duchi 2016)."""

from ..label_kernel import LabelKernel
from .ball import Path, path, solve
from .learner import Alignment

__all__ = ["Alignment", "LabelKernel", "Path", "path", "solve"]
