"""Searching for features: the no-regret margin game (Bullins, Zhang & Zhang 2018)."""

from .dual_set import project_dual

__all__ = ["project_dual"]
