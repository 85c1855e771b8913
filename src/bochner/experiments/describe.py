"""What an experiment is: data, split, methods, and what the paper printed. No measuring here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .scores import ERROR_PERCENT, Score

if TYPE_CHECKING:
    from .result import Result
    from .splits import Split


@dataclass(frozen=True)
class Figure:
    """A number that the paper prints, and where."""

    value: float
    where: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method made of the training rows of one split.

    ``seconds`` by stage ("features", "head", "choice"); ``stats`` go into the table's JSON and
    must be plain; ``keep`` is for pictures and is dropped after them.
    """

    predict: Callable[[Any], Any]
    n_features: int | None
    seconds: Mapping[str, float]
    stats: Mapping[str, Any] = field(default_factory=dict)
    keep: Any = None


class Method(Protocol):
    """Anything with a name that fits the training rows of a split.

    It sees training rows only. ``earlier`` holds the outcomes of the methods listed before it, on
    the same split, by name: "as many random features as ours kept" needs them.
    """

    @property
    def name(self) -> str: ...

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome: ...


@dataclass(frozen=True)
class SizeOf:
    """``times`` the number of features that an earlier method kept, at most ``most``."""

    method: str
    times: float = 1.0
    most: int | None = None

    def resolve(self, earlier: Mapping[str, Outcome]) -> int:
        if self.method not in earlier or earlier[self.method].n_features is None:
            raise ValueError(
                f"SizeOf({self.method!r}): no method of that name, with a feature count, comes "
                f"before in this trial; there are {sorted(earlier) or 'none'}. List it first."
            )
        size = max(1, round(self.times * (earlier[self.method].n_features or 0)))
        return size if self.most is None else min(size, self.most)


@dataclass(frozen=True, eq=False)
class Trial:
    """Some rows, and the methods compared on them.

    Parameters
    ----------
    data : function of a seed
        Gives a `Split`: see `official`, `shuffled`, `by_group`.
    methods : sequence of Method
        Run in this order on each split.
    paper : mapping
        By name of a method, what the paper prints for it.
    seeds : sequence of int
        One repetition each: another split where the split is random, other draws where it is not.
    point : mapping
        Where the trial stands in a plot or grid, such as ``{"d": 5}``.
    score : Score
    """

    data: Callable[[int], Split]
    methods: Sequence[Method]
    paper: Mapping[str, Figure] = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    point: Mapping[str, Any] = field(default_factory=dict)
    score: Score = ERROR_PERCENT


@dataclass(frozen=True)
class Picture:
    """A plot: ``draw(result)`` gives a matplotlib figure, which is only then imported."""

    name: str
    draw: Callable[[Result], Any]


@dataclass(frozen=True, eq=False)
class Experiment:
    """One line of ``python -m bochner.experiments``.

    ``trials(quick)`` describes all of it, in full or (quick) in a size that takes a minute;
    ``findings(result)`` are sentences under the table, made from its numbers; ``parts`` are names
    of other experiments that run as parts of this one.
    """

    name: str
    title: str
    paper: str
    trials: Callable[[bool], Sequence[Trial]] = lambda quick: ()
    pictures: Sequence[Picture] = ()
    findings: Callable[[Result], Sequence[str]] = lambda result: ()
    parts: Sequence[str] = ()
