"""Features chosen greedily on the gradient of the risk (Shahrampour & Tarokh 2018)."""

from .learner import Greedy
from .path import GreedyPath

__all__ = ["Greedy", "GreedyPath"]
