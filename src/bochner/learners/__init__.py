"""The papers: from statistics to a selection of features. One file per paper."""

from .alignment import Alignment
from .base import Learner, Needs, Selection, as_learner, check_needs
from .chain import Chain
from .energy import Energy
from .greedy import Greedy
from .margin import JointMargin, MarginSearch
from .pseudo_posterior import PseudoPosterior
from .uniform import Uniform

__all__ = [
    "Alignment",
    "Chain",
    "Energy",
    "Greedy",
    "JointMargin",
    "Learner",
    "MarginSearch",
    "Needs",
    "PseudoPosterior",
    "Selection",
    "Uniform",
    "as_learner",
    "check_needs",
]
