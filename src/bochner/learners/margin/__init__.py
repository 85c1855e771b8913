"""Searching for features: the no-regret margin game (Bullins, Zhang & Zhang 2018)."""

from .dual_set import project_dual
from .learner import MarginSearch
from .path import Path, Round

__all__ = ["MarginSearch", "Path", "Round", "project_dual"]
