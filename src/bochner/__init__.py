"""bochner: learn the kernel from the labels, as a small explicit feature map.

Names are imported when first used, so ``import bochner`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from .checkup import doctor
    from .estimators.classifier import KernelClassifier
    from .estimators.features import LearnedFeatures
    from .estimators.kgrams import KGramEncoder
    from .estimators.landmarks import LandmarkFeatures
    from .estimators.regressor import KernelRegressor
    from .feature_map import FeatureMap
    from .rows.scan import scan

_HOMES = {
    "FeatureMap": ".feature_map",
    "KGramEncoder": ".estimators.kgrams",
    "KernelClassifier": ".estimators.classifier",
    "KernelRegressor": ".estimators.regressor",
    "LandmarkFeatures": ".estimators.landmarks",
    "LearnedFeatures": ".estimators.features",
    "doctor": ".checkup",
    "scan": ".rows.scan",
}

__all__ = [
    "FeatureMap",
    "KGramEncoder",
    "KernelClassifier",
    "KernelRegressor",
    "LandmarkFeatures",
    "LearnedFeatures",
    "doctor",
    "scan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bochner' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
