"""`Chain`: learners one after the other, each choosing among what the one before kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import RowSource
from .base import Learner, Needs, Request, Selection, as_learner, check_needs


class Chain(Learner):
    """Learners in a row: the candidates of the next are the columns, with weights, of the former.

    ``Chain([Alignment(), Greedy()])`` prunes an aligned set. How many columns each keeps falls
    from n_candidates to n_components by equal ratios.

    Parameters
    ----------
    learners : sequence of Learner or str
        All but the first have to be able to choose among given columns (`Alignment`, `Energy`,
        `Greedy`, `JointMargin`). Settings of the i-th are reached as ``i__name``.

    Notes
    -----
    ``selection_`` is that of the last learner, over the candidates of the first;
    ``selection_.stats["stages"]`` has the selection of each.

    Examples
    --------
    >>> from bochner.learners import Alignment, Chain, Greedy
    >>> Chain([Alignment(), Greedy()]).get_params()["0__radius"]
    'auto'
    """

    needs: ClassVar[Needs] = Needs(passes=None, targets=True)
    candidates_per_component: ClassVar[int] = 20

    def __init__(self, learners: Sequence[Any] = ()) -> None:
        self.learners = learners

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """scikit-learn's parameters; deep ones are those of the members, ``i`` and ``i__name``."""
        found: dict[str, Any] = super().get_params(deep=False)
        for i, learner in enumerate(self.learners if deep else ()):
            found[str(i)] = learner
            if isinstance(learner, Learner):
                found |= {f"{i}__{name}": v for name, v in learner.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Chain:
        """Change settings; a member that is given as a word becomes a learner of its own."""
        if "learners" in params:
            self.learners = params.pop("learners")
        members = list(self.learners)
        for name, value in sorted(params.items()):
            i, _, inner = name.partition("__")
            if not i.isdigit() or int(i) >= len(members):
                raise ValueError(
                    f"Invalid parameter {name!r} for Chain: use learners, or i__name with i from "
                    f"0 to {len(members) - 1}."
                )
            members[int(i)] = _changed(members[int(i)], inner, value) if inner else value
        if params:
            self.learners = members
        return self

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        stages: list[Selection] = []
        members, fm = self._members(), None
        for learner, count in zip(members, self._counts(request), strict=True):
            check_needs(learner, source)
            last = len(stages) == len(members) - 1
            given = replace(
                request, n_components=count, auto_components=request.auto_components and last
            )
            if fm is not None:
                count = min(count, fm.n_features)
                given = replace(
                    given, n_candidates=fm.n_features, n_components=count, candidates=fm
                )
            fm, selection = learner.learn(source, given)
            stages.append(selection)
        assert fm is not None
        return fm, _joined(stages)

    def _members(self) -> list[Learner]:
        words = isinstance(self.learners, str | Learner)
        if words or not isinstance(self.learners, Sequence) or len(self.learners) == 0:
            raise ValueError(
                f"Chain(learners={self.learners!r}): give a list of at least one learner, such as "
                "[Alignment(), Greedy()]."
            )
        members = [as_learner(learner) for learner in self.learners]
        for learner in members[1:]:
            if not learner.takes_candidates:
                raise ValueError(
                    f"Chain: {type(learner).__name__} draws candidates of its own, so it can only "
                    "come first. Alignment, Energy and Greedy choose among those of another."
                )
        return members

    def _counts(self, request: Request) -> list[int]:
        """Columns after each learner: from N to M by equal ratios, whole atoms in between."""
        N, M, steps = request.n_candidates, request.n_components, len(self.learners)
        between = np.geomspace(N, M, steps + 1)[1:-1]
        k = request.family.columns_per_atom
        return [*(int(-(-count // k) * k) for count in between), M]


def _changed(member: Any, name: str, value: Any) -> Learner:
    """A copy of a member with one setting changed: the caller's own object stays as it was."""
    from sklearn.base import clone

    changed: Learner = clone(as_learner(member))
    changed.set_params(**{name: value})
    return changed


def _joined(stages: list[Selection]) -> Selection:
    """The last selection over the candidates of the first learner."""
    last, first = stages[-1], stages[0]
    stats = {**last.stats, "stages": tuple(stages)}
    columns = _columns(first)
    for stage in stages[1:]:
        kept = _columns(stage)
        columns = None if columns is None or kept is None else columns[kept]
    if columns is None or first.weights is None or len(stages) == 1:
        return replace(last, stats=stats)
    stats["columns"] = columns
    before = _columns(first)
    for stage in stages[1:-1]:
        before = before[_columns(stage)]  # type: ignore[index]
    N = len(first.weights)
    weights = _spread(last.weights, before, N)
    scores = _spread(last.scores, before, N)
    return replace(last, scores=scores, weights=weights, support=np.sort(columns), stats=stats)


def _columns(selection: Selection) -> NDArray[np.intp] | None:
    """The candidate behind each column."""
    found = selection.stats.get("columns", selection.support)
    return None if found is None else np.asarray(found, dtype=np.intp)


def _spread(values: FloatArray | None, at: NDArray[np.intp] | None, N: int) -> FloatArray | None:
    """Numbers of some candidates among those of all, zero elsewhere."""
    if values is None or at is None:
        return None
    found = np.zeros(N)
    found[at] = values
    return found
