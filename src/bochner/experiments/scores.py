"""How good predictions are on test rows; smaller is better in all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Score:
    """A name for the head of a column, and a function of targets and predictions."""

    name: str
    of: Callable[[Any, Any], float]


def _error_percent(y: Any, predicted: Any) -> float:
    return 100.0 * float(np.mean(np.asarray(y) != np.asarray(predicted)))


def _rmse(y: Any, predicted: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(y, dtype=np.float64) - predicted) ** 2)))


def _relative(y: Any, predicted: Any) -> float:
    y = np.asarray(y, dtype=np.float64)
    return 100.0 * float(np.linalg.norm(y - predicted) / np.linalg.norm(y))


ERROR_PERCENT = Score("test error, %", _error_percent)
RMSE = Score("test RMSE", _rmse)
RELATIVE = Score("relative test RMSE, %", _relative)
