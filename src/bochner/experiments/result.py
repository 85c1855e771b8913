"""What a run measured: one line for each trial and method, and under what circumstances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .describe import Experiment, Figure


@dataclass(frozen=True)
class Line:
    """One method on the splits of one trial.

    ``values`` are the scores of the repetitions; ``seconds`` (by stage) and ``n_features`` are
    means over them.
    """

    data: str
    note: str
    method: str
    score: str
    values: tuple[float, ...]
    seconds: Mapping[str, float]
    n_features: float | None
    n_rows: tuple[int, int]
    paper: Figure | None = None
    point: Mapping[str, Any] = field(default_factory=dict)
    stats: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def standard_error(self) -> float | None:
        """Of the mean over the repetitions; None of a single one."""
        n = len(self.values)
        return float(np.std(self.values, ddof=1)) / math.sqrt(n) if n > 1 else None

    @property
    def reached(self) -> bool | None:
        """Is the mean as good as the paper's figure, to the digits that the paper prints?"""
        return None if self.paper is None else self.mean <= self.paper.value + 0.005

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        more = {"mean": self.mean, "standard_error": self.standard_error, "reached": self.reached}
        return {**asdict(self), **more}


@dataclass(frozen=True, eq=False)
class Result:
    """All lines of an experiment, what follows from them, and how they were made."""

    experiment: Experiment
    lines: Sequence[Line]
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    kept: Sequence[Any] = ()  # (line, what its method kept at the last seed), for pictures

    def where(self, **point: Any) -> list[Line]:
        """Lines of a method, a data set or a point: ``where(method="alignment", d=2)``."""
        return [line for line in self.lines if all(_has(line, k, v) for k, v in point.items())]

    @property
    def findings(self) -> list[str]:
        return list(self.experiment.findings(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "paper": self.experiment.paper,
            "circumstances": dict(self.circumstances),
            "findings": self.findings,
            "lines": [line.to_dict() for line in self.lines],
        }


def _has(line: Line, name: str, value: Any) -> bool:
    if name in line.point:
        return bool(line.point[name] == value)
    return name in ("method", "data", "score") and bool(getattr(line, name) == value)
