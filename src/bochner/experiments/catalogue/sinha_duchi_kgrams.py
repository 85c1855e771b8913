"""Figure 2 of Sinha & Duchi 2016: which k-grams of a sequence matter."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...datasets import Dataset, load
from ...estimators.kgrams import KGramEncoder
from ...families import Linear
from ...learners import Alignment
from ...learners.alignment import solve
from .. import (
    Experiment,
    Features,
    Outcome,
    Penalised,
    Picture,
    Result,
    Split,
    Trial,
    by_group,
    pictures,
    shuffled,
)

SELECTED, RANDOM = "k-grams by alignment", "k-grams at random"
PLANTED, START, LENGTH = ("GGTTG", "GTTGG"), 60, 81
#: The largest of equals is taken: the fewest features.
RADII = {"learner__radius": (0.05, 0.02, 0.01)}
HEAD = Penalised("ridge", tuple(10.0**k for k in range(-5, 0)))


@dataclass(frozen=True, eq=False)
class Selecting(Features):
    """`Features` that also times the solver alone, on the scores at hand."""

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        made = super().fit(split, seed, earlier)
        selection = made.keep.selection_
        if selection.scores is None:
            return made
        start = time.perf_counter()
        solve(selection.scores, selection.stats["rho"])
        return replace(made, stats={**made.stats, "solver, s": time.perf_counter() - start})


def planted(n: int, seed: int) -> Dataset:
    """Random letters; nine positives in ten, and a negative in ten, hold a planted gram at 60."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(4, size=(n, LENGTH))]
    y = rng.random(n) < 0.5
    grams = np.array([list(gram.encode()) for gram in PLANTED], np.uint8)
    holds = rng.random(n) < np.where(y, 0.9, 0.1)
    letters[holds, START : START + 5] = grams[rng.integers(2, size=int(holds.sum()))]
    return Dataset("planted", letters, np.where(y, 1, -1), note="generated: 81 letters of ACGT")


def encoder(name: str) -> KGramEncoder:
    """Unequal sequences are lined up by their first letters; letters beyond ACGT set nothing."""
    length = 60 if name == "splice" else LENGTH
    return KGramEncoder((1, 5), "ACGT", length=length, unequal="left")


def grams_of(data: Dataset, seed: int) -> Split:
    """Three quarters of the sequences to learn from, equal sequences on one side."""
    split = shuffled(data, seed) if data.groups is None else by_group(data, seed)
    grams = encoder(data.name)
    return split.scaled(lambda X: grams.fit(X).transform)


def trials(quick: bool) -> Sequence[Trial]:
    names = ("planted",) if quick else ("planted", "aptamer_pairs", "aptamer_vs_dna", "splice")
    sizes = (10, 100) if quick else (10, 30, 100, 300, 1000, 3000)

    def rows(name: str, seed: int) -> Split:
        n = 600 if quick else 2900
        return grams_of(planted(n, seed) if name == "planted" else load(name), seed)

    def one(name: str, D: int) -> Trial:
        learner = Alignment(0.05, use="auto")
        width = 1364 * (60 if name == "splice" else LENGTH) - 5008  # sum_k 4^k (L + 1 - k)
        return Trial(
            lambda seed: rows(name, seed),
            [
                Selecting(SELECTED, Linear(), learner, width, D, HEAD, RADII),
                Features(RANDOM, Linear(), "uniform", "auto", D, HEAD),
            ],
            seeds=range(1 if quick else 5),
            point={"data": name, "D": D},
        )

    return [one(name, D) for name in names for D in sizes]


def errors(result: Result) -> Any:
    """Figure 2 (a): error against the number of features."""
    names = list(dict.fromkeys(line.point["data"] for line in result.lines))
    figure, axes = pictures.figure(len(names), width=3.6)
    for one, name in zip(np.atleast_1d(axes), names, strict=True):
        pictures.curves(one, result, "D", data=name)
        one.set(xscale="log", title=name, ylim=(0, None))
    return figure


def weights(result: Result) -> Any:
    """Figure 2 (b): weight of every feature, on planted sequences."""
    selection, names, boundaries = chosen(result)
    figure, axes = pictures.figure(width=9.0)
    at = selection.support
    inside = np.array([is_planted(name) for name in names])
    q = selection.weights[at]
    axes.scatter(at[~inside], q[~inside], s=6, color="#8d99ae", label="other k-grams")
    axes.scatter(at[inside], q[inside], s=26, color="#d1495b", label="planted, and their prefixes")
    for place in boundaries:
        axes.axvline(place, color="#222222", lw=0.6)
    axes.set(xlabel="feature, by k, position and letters", ylabel="weight q")
    axes.legend(frameon=False, fontsize=8)
    return figure


def chosen(result: Result) -> tuple[Any, Any, Any]:
    """The selection on planted sequences, its names, and where k changes."""
    keep = next(k for line, k in _largest(result) if line.point["data"] == "planted")
    grams = encoder("planted").fit(np.zeros((1, LENGTH), np.uint8) + ord("A"))
    ends = np.cumsum([4**k * (LENGTH + 1 - k) for k in range(1, 5)])
    return keep.selection_, grams.names_of(keep.selection_.support), ends


def is_planted(name: str) -> bool:
    """A planted gram or a prefix of one, where it stands."""
    gram, _, place = name.partition("@")
    return int(place) == START and any(full.startswith(gram) for full in PLANTED)


def overlaps(name: str) -> bool:
    """Does the gram touch the planted positions?"""
    gram, _, place = name.partition("@")
    return int(place) < START + 5 and int(place) + len(gram) > START


def findings(result: Result) -> list[str]:
    """Ranks of the planted grams and prefixes, and the time of the solver."""
    selection, names, _ = chosen(result)
    order = np.argsort(-selection.weights[selection.support], kind="stable")
    ranked = [str(names[i]) for i in order]
    ranks = {name: ranked.index(name) + 1 for name in ranked if is_planted(name)}
    prefixes = {gram[:k] for gram in PLANTED for k in range(1, 6)}
    first = next((i for i, name in enumerate(ranked) if not overlaps(name)), len(ranked))
    seconds = [v for line in result.lines for v in _numbers(line.stats.get("solver, s"))]
    listed = ", ".join(f"{name} {rank}" for name, rank in ranks.items())
    found = [
        f"planted: {len(ranks)} of the {len(prefixes)} planted grams and prefixes are among the "
        f"{len(ranked):,} features selected of {len(selection.scores):,}; ranks: {listed}",
        f"planted: the first {first} features all overlap letters {START} to {START + 4}",
        f"solver alone: at most {max(seconds):.3f} s (the paper: under 0.2 s, 379 features kept)",
    ]
    return [*found, *(top(line, keep) for line, keep in _largest(result))]


def top(line: Any, keep: Any) -> str:
    """The first grams of a selection."""
    selection = keep.selection_
    best = np.argsort(-selection.weights, kind="stable")[:8]
    grams = encoder(line.point["data"])
    names = grams.fit(np.full((1, grams.length), ord("A"), np.uint8)).names_of(best)
    return (
        f"{line.point['data']}: {len(selection.support):,} features kept; first {', '.join(names)}"
    )


def _largest(result: Result) -> list[Any]:
    """What was kept at the largest D, for each data set."""
    found = {li.point["data"]: (li, k) for li, k in result.kept if li.method == SELECTED}
    return list(found.values())


def _numbers(value: Any) -> list[float]:
    return [] if value is None else list(np.atleast_1d(value))


EXPERIMENT = Experiment(
    "sinha_duchi_kgrams",
    "Sinha & Duchi 2016, figure 2: k-gram selection",
    "One-hot k-grams of sequences, k = 1 .. 5, linear kernel, ridge regression; radius and penalty "
    "are chosen on held-out rows. Alignment's features (estimator (5), or (6) from its support on) "
    "against as many at random. The paper's own aptamers are not public: stand-ins, and sequences "
    "with a planted answer.",
    trials,
    (Picture("error", errors), Picture("weights", weights)),
    findings,
)
