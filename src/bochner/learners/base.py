"""What a learner is: from candidates and labels to a selection.

A learner is a settings object. It sees rows only through `bochner.statistics`, never which engine
or device holds them, and it never decides how many columns there are: the estimator does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..certificates import Certificate
from ..families import Family
from ..families.base import check_option
from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import Hook, RowSource
from .held_out import HeldOut, Share
from .ranking import Names, Ranking, SelectionTable

if TYPE_CHECKING:
    from .scoring import Scoring


@dataclass(frozen=True)
class Needs:
    """What a learner asks of the rows, declared before any work starts.

    passes: how many times it visits them (None when it depends on the data);
    targets: whether it reads y; row_state: whether it keeps a number a row (this needs a stable
    order); reservoir: whether it works on a sample held in memory.
    """

    passes: int | None = 0
    targets: bool = False
    row_state: bool = False
    reservoir: bool = False


@dataclass(frozen=True, eq=False)
class Selection:
    """What a learner made of the candidates.

    ``scores`` and ``weights`` run over the candidates and ``support`` holds the indices of those
    in use, where the learner chooses among candidates; they are None where it moves or searches.
    ``weights`` sum to one: the learned measure. ``path`` is the path of solutions, if there is one.

    A selection with a ``ranking`` is a table as well (`table`), which pandas, polars, pyarrow and
    others read through the Arrow and DataFrame protocols: ``polars.DataFrame(selection)``.

    Examples
    --------
    >>> from bochner.learners.alignment import solve
    >>> solve([3.0, 1.0, 0.0, 0.0], rho=2.0).support
    array([0, 1])
    """

    status: str
    scores: FloatArray | None = None
    weights: FloatArray | None = None
    support: NDArray[np.intp] | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    path: Any = None
    ranking: Ranking | None = None

    def table(self, names: Names | None = None, top: int | None = None) -> SelectionTable:
        """The chosen columns from the largest weight down, with how each goes with the classes.

        Parameters
        ----------
        names : sequence of N names, or a function from columns to their names, optional
            Of all candidates; `KGramEncoder.names_of` is such a function. Not given, those that
            the rows came with.
        top : int, optional
            How many rows at most.
        """
        if self.ranking is None:
            raise ValueError(
                "there is no ranking to show: this learner does not choose among candidates by "
                "weight. Alignment() does."
            )
        return self.ranking.table(names, top)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.table().__dataframe__(nan_as_null, allow_copy)


@dataclass(frozen=True)
class Task:
    """What is known of the targets when a learner starts."""

    kind: str  # "classification", "regression" or "none"
    n_classes: int | None = None
    classes: tuple[Any, ...] | None = None  # their labels, by class index


@dataclass(frozen=True)
class Request:
    """What the estimator asks of a learner.

    auto_components: ``n_components`` is only the most there may be, the learner decides;
    candidates: columns that a former learner kept, in place of drawn ones;
    scoring: how held-out rows judge, where it is not the learner's own way.
    """

    family: Family
    n_candidates: int
    n_components: int
    task: Task
    rng: np.random.Generator
    hook: Hook
    held_out: HeldOut = field(default_factory=lambda: Share(0))
    auto_components: bool = False
    candidates: FeatureMap | None = None
    scoring: Scoring | None = None

    def candidates_for(self, n_inputs: int) -> FeatureMap:
        """What to choose among: columns that a former learner kept, or else drawn ones."""
        if self.candidates is not None:
            return self.candidates
        drawn = self.family.draw(self.n_candidates, n_inputs, self.rng)
        return FeatureMap(self.family, drawn, np.ones(drawn.n_columns))


class Learner(BaseEstimator):
    """Base class of all learners."""

    needs: ClassVar[Needs] = Needs()
    #: How many candidates ``n_candidates="auto"`` draws for each component.
    candidates_per_component: ClassVar[int] = 1
    #: Can it choose among the columns of a former learner (see `Chain`)?
    takes_candidates: ClassVar[bool] = False

    @abstractmethod
    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        """A feature map with at most ``request.n_components`` columns, and how it was chosen."""

    def certificate(
        self, selection: Selection, n_rows: int, feature_bound: float, delta: float
    ) -> Certificate | None:
        """What is guaranteed of a selection that this learner made, at 1 - delta; None: nothing.

        n_rows: the rows that it learned from; feature_bound: sup |phi|, infinite where there is
        none. What the learner settled in `learn` it finds in ``selection.stats``.
        """
        return None


def check_needs(learner: Learner, source: RowSource) -> None:
    """Refuse a source that cannot give what the learner needs, before work starts."""
    needs, name = learner.needs, type(learner).__name__
    missing = []
    if needs.targets and source.schema.n_targets is None:
        missing.append("targets (give y, or a source with target=...)")
    if needs.row_state and not source.stable_order:
        missing.append("a stable order of rows (it keeps a number for each row)")
    if missing:
        raise ValueError(
            f"{name} is not compatible with this {type(source).__name__}: missing "
            + " and ".join(missing)
            + "."
        )


def as_learner(learner: Any) -> Learner:
    """A learner from a learner or its name."""
    from .alignment import Alignment
    from .energy import Energy
    from .greedy import Greedy
    from .margin import MarginSearch
    from .pseudo_posterior import PseudoPosterior
    from .uniform import Uniform

    by_name: dict[str, type[Learner]] = {
        "uniform": Uniform,
        "alignment": Alignment,
        "energy": Energy,
        "greedy": Greedy,
        "margin_search": MarginSearch,
        "pseudo_posterior": PseudoPosterior,
    }
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, type) and issubclass(learner, Learner):
        raise TypeError(
            f"learner={learner.__name__} is a class; give an instance: {learner.__name__}()."
        )
    if not isinstance(learner, str):
        raise TypeError(
            f"learner must be a learner such as Uniform() or a string, got {learner!r}."
        )
    check_option("", "learner", learner, tuple(by_name))
    return by_name[learner]()
