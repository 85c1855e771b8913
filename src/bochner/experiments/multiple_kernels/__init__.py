"""The two multiple-kernel baselines of Sinha & Duchi 2016, appendix C, around an SVC."""

from .aligned import alignment_weights
from .joint import Joint, joint_weights
from .kernels import KERNELS, BaseKernel, base_kernels, gram
from .method import AlignedSVM, JointSVM

__all__ = [
    "KERNELS",
    "AlignedSVM",
    "BaseKernel",
    "Joint",
    "JointSVM",
    "alignment_weights",
    "base_kernels",
    "gram",
    "joint_weights",
]
