"""Margin games: features searched (Bullins et al. 2018), or weighed (Sinha & Duchi 2016, (9))."""

from .dual_set import project_dual
from .joint import JointMargin
from .learner import MarginSearch
from .path import Path, Round

__all__ = ["JointMargin", "MarginSearch", "Path", "Round", "project_dual"]
