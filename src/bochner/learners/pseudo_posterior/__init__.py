"""The closed-form pseudo-posterior over frequencies (Letarte, Morvant & Germain 2019)."""

from .learner import PseudoPosterior
from .losses import losses
from .posterior import PosteriorPath, path, posterior

__all__ = ["PosteriorPath", "PseudoPosterior", "losses", "path", "posterior"]
