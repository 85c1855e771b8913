"""The papers: from statistics to a selection of features. One file per paper."""

from .alignment import Alignment
from .base import Learner, Needs, Selection, as_learner, check_needs
from .greedy import Greedy
from .margin import MarginSearch
from .pseudo_posterior import PseudoPosterior
from .uniform import Uniform

__all__ = [
    "Alignment",
    "Greedy",
    "Learner",
    "MarginSearch",
    "Needs",
    "PseudoPosterior",
    "Selection",
    "Uniform",
    "as_learner",
    "check_needs",
]
