"""Running an experiment: every method on every split, judged on test rows it has not seen."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checkup import doctor
from .describe import Experiment, Outcome, Trial
from .find import find
from .result import Line, Result
from .splits import Split

#: Test rows predicted at once.
CHUNK = 2000


def run(
    experiment: Experiment | str,
    *,
    quick: bool = False,
    command: str = "",
    tell: Callable[[str], None] | None = None,
) -> Result:
    """All lines of an experiment; ``tell`` is given one sentence as each is finished.

    Examples
    --------
    >>> from bochner.experiments import names
    >>> "sinha_duchi_synthetic" in names()
    True
    """
    experiment = find(experiment) if isinstance(experiment, str) else experiment
    start = time.perf_counter()
    lines: list[Line] = []
    kept: list[Any] = []
    for trial in experiment.trials(quick):
        for line, last in _lines(trial):
            lines.append(line)
            kept.append((line, last))
            if tell is not None:
                tell(f"{line.data}, {line.method}: {line.mean:.4g} ({line.score})")
    around = circumstances()
    around |= {"command": command, "quick": quick, "seconds": time.perf_counter() - start}
    return Result(experiment, lines, around, kept)


def _lines(trial: Trial) -> list[tuple[Line, Any]]:
    """One line a method, over all seeds."""
    results: dict[str, list[tuple[Outcome, float]]] = {m.name: [] for m in trial.methods}
    if len(results) < len(trial.methods):
        raise ValueError("two methods of a trial share a name; give each its own.")
    for seed in trial.seeds:
        split = trial.data(seed)
        earlier: dict[str, Outcome] = {}
        for method in trial.methods:
            outcome = method.fit(split, seed, earlier)
            start = time.perf_counter()
            predicted = _in_chunks(outcome.predict, split.X_test)
            seconds = {**outcome.seconds, "predict": time.perf_counter() - start}
            earlier[method.name] = outcome
            outcome = Outcome(
                outcome.predict, outcome.n_features, seconds, outcome.stats, outcome.keep
            )
            results[method.name].append((outcome, trial.score.of(split.y_test, predicted)))
    return [(_line(trial, split, name, made), made[-1][0].keep) for name, made in results.items()]


def _in_chunks(predict: Callable[[Any], Any], X: Any) -> Any:
    parts = [predict(X[i : i + CHUNK]) for i in range(0, X.shape[0], CHUNK)]
    return np.concatenate(parts)


def _line(trial: Trial, split: Split, name: str, made: Sequence[tuple[Outcome, float]]) -> Line:
    outcomes = [outcome for outcome, _ in made]
    sizes = [o.n_features for o in outcomes if o.n_features is not None]
    stages = {stage: None for o in outcomes for stage in o.seconds}
    return Line(
        data=split.name,
        note=split.note,
        method=name,
        score=trial.score.name,
        values=tuple(score for _, score in made),
        seconds={s: float(np.mean([o.seconds.get(s, 0.0) for o in outcomes])) for s in stages},
        n_features=float(np.mean(sizes)) if sizes else None,
        n_rows=(split.X.shape[0], split.X_test.shape[0]),
        paper=trial.paper.get(name),
        point=trial.point,
        stats=_stats(outcomes),
    )


def _stats(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Each statistic over the repetitions: itself where there is one, else a list."""
    names = {name: None for o in outcomes for name in o.stats}
    lists = {name: [o.stats.get(name) for o in outcomes] for name in names}
    return {name: values[0] if len(values) == 1 else values for name, values in lists.items()}


def circumstances() -> dict[str, Any]:
    """What figures depend on: the day, the machine and the versions."""
    report = doctor(seconds=0)
    return {
        "date": dt.date.today().isoformat(),
        "machine": f"{report.cpu}, {report.threads} threads",
        "versions": ", ".join(f"{k} {v}" for k, v in report.versions.items() if v),
    }
