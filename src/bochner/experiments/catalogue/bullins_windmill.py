"""Figure 1 (a) and (b) of Bullins et al. 2018: the windmill in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ... import ops
from ...datasets import make_windmill
from ...families import Gaussian
from ...learners import MarginSearch
from ...ops import Dense, Projection
from .. import (
    Experiment,
    Features,
    Figure,
    Model,
    Penalised,
    Picture,
    Result,
    Split,
    Trial,
    pictures,
)
from ..heads import Rows

#: Turns of the game, and the test errors that the paper prints for them.
TURNS = {100: 1.4, 300: 0.9, 1000: 0.7}
RBF, RANDOM = "SVM, Gaussian kernel", "random features, T = 1000"
ASCENT = "gradient ascent, T = 1000"
FAMILY = Gaussian("median", form="pair")
HEAD = Penalised("squared_hinge", tuple(10.0 ** (k / 2) for k in range(-14, -3)), tol=1e-8)
GRID = {"C": (10.0, 100.0, 1000.0, 10_000.0), "gamma": (25.0, 50.0, 100.0)}
#: Peaks are narrow here, and rows few.
CHAINS = 256
#: Half the side of the square of frequencies that is drawn.
REACH = 75.0


def ours(T: int) -> str:
    return f"leader, T = {T}"


def rows(n: int, n_test: int, seed: int) -> Split:
    """Rows to learn from, and others."""
    X, y = make_windmill(n, random_state=[seed, 0])
    X_test, y_test = make_windmill(n_test, random_state=[seed, 1])
    return Split("windmill", X, y, X_test, y_test)


def methods(quick: bool) -> list[Any]:
    turns = (100,) if quick else tuple(TURNS)
    leader = MarginSearch(chains=CHAINS, repeats=True)
    ascent = MarginSearch(chains=CHAINS, repeats=True, loss="hinge")
    found = [Features(ours(T), FAMILY, leader, "auto", 2 * T, HEAD) for T in turns]
    if quick:
        return [Model(RBF, lambda seed: SVC(C=1000.0, gamma=50.0)), *found]
    return [
        Model(RBF, lambda seed: SVC(), GRID),
        Features(
            RANDOM, FAMILY, "uniform", "auto", 2000, HEAD,
            {"family__bandwidth": (0.07, 0.1, 0.14)},
        ),
        *found,
        Features(ASCENT, FAMILY, ascent, "auto", 2000, HEAD),
    ]  # fmt: skip


def trials(quick: bool) -> Sequence[Trial]:
    paper = {ours(T): Figure(error, "figure 1a") for T, error in TURNS.items()}
    paper |= {ASCENT: paper[ours(1000)], RBF: Figure(7.9, "figure 1a")}
    n_test = 2000 if quick else 50_000
    seeds = range(1 if quick else 2)
    return [Trial(lambda seed: rows(2000, n_test, seed), methods(quick), paper, seeds)]


def _last(result: Result) -> Split:
    """The training rows of the last seed, whose fits are kept."""
    return rows(2000, 1, len(result.lines[0].values) - 1)


def _found(result: Result) -> list[tuple[int, Any, Any]]:
    """(T, line, fitted features) of ours."""
    kept = {line.method: (line, what) for line, what in result.kept}
    return [(T, *kept[ours(T)]) for T in TURNS if ours(T) in kept]


def potential(axes: Any, X: Any, r: Any) -> None:
    """v on a square of frequencies."""
    side = np.linspace(-REACH, REACH, 161)
    W = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    S = ops.project(X, Projection(Dense(W), "pair"), r[:, None])[:, 0]
    v = (S[0::2] ** 2 + S[1::2] ** 2).reshape(161, 161)
    axes.pcolormesh(side, side, v, cmap="Greys", rasterized=True)
    axes.set(aspect="equal", xlim=(-REACH, REACH), ylim=(-REACH, REACH))


def decision(axes: Any, scores: Any) -> None:
    """Classes in the disk."""
    side = np.linspace(-1.0, 1.0, 301)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    z = np.where(np.hypot(*grid.T) <= 1.0, scores(grid), np.nan)
    axes.contourf(side, side, np.sign(z).reshape(301, 301), levels=[-2, 0, 2],
                  colors=["#d1495b", "#30638e"])  # fmt: skip
    axes.set(aspect="equal")


def _scores(line: Any, features: Any, split: Split) -> Any:
    fm, penalty = features.feature_map_, np.atleast_1d(line.stats["penalty"])[-1]
    made = Rows.of(fm, split.X, split.y, "classification")
    model = HEAD.fit(made, [float(penalty)])[0]
    return lambda X: model.decision(None, fm(X))[:, 0]


def evolution(result: Result) -> Any:
    """Figure 1 (a): weights of the rows, potential with frequencies, decision."""
    split, found = _last(result), _found(result)
    svm = next(what for line, what in result.kept if line.method == RBF)
    figure, axes = pictures.figure(len(found) + 1, 2.8, 3.0, rows=3)
    a = np.zeros(len(split.y))
    a[svm.support_] = np.abs(svm.dual_coef_[0])
    columns: list[tuple[str, Any, Any, Any]] = [(RBF, a, None, svm.decision_function)]
    for T, line, features in found:
        path = features.selection_.path
        columns.append((f"T = {T}", path.plays[0].a, path, _scores(line, features, split)))
    for (title, weights, path, scores), (top, middle, bottom) in zip(columns, axes.T, strict=True):
        shade = np.minimum(1.0, weights / max(float(np.quantile(weights, 0.98)), 1e-12))
        colours = np.where(split.y > 0, "#30638e", "#d1495b")
        top.scatter(*split.X.T, s=5, c=colours, alpha=shade, lw=0)
        top.set(aspect="equal", title=title)
        potential(middle, split.X, np.where(split.y > 0, 1.0, -1.0) * weights)
        if path is not None:
            for sign in (-1.0, 1.0):
                middle.scatter(*(sign * path.frequencies.T), s=4 * np.sqrt(path.counts()),
                               color="#c2185b", alpha=0.6, lw=0)  # fmt: skip
        decision(bottom, scores)
    return figure


def peaks(result: Result) -> Any:
    """Figure 1 (b): the potential of all rows alike, and as the rows are weighted in the end."""
    split, found = _last(result), _found(result)
    figure, (left, right) = pictures.figure(2)
    y = np.where(split.y > 0, 1.0, -1.0)
    T, _, features = found[min(1, len(found) - 1)]
    potential(left, split.X, y)
    potential(right, split.X, y * features.selection_.path.plays[0].a)
    left.set(title="potential, uniform weights")
    right.set(title=f"reweighted, T = {T}")
    return figure


def findings(result: Result) -> list[str]:
    """How few frequencies carry the weight."""
    found = []
    for T, _, features in _found(result):
        counts = np.sort(features.selection_.path.counts(T))[::-1]
        share = 100.0 * counts[:10].sum() / counts.sum()
        found.append(
            f"T = {T}, last seed: {np.count_nonzero(counts)} distinct frequencies; the ten most "
            f"often played have {share:.0f} % of the weight"
        )
    return found


EXPERIMENT = Experiment(
    "bullins_windmill",
    "Bullins et al. 2018, figure 1 (a, b): the windmill",
    "Two classes in the plane with sharp boundaries (make_windmill; the paper does not say how its "
    "rows were made), 2,000 rows to learn from, 50,000 to be judged on. T turns of the game, where "
    "a frequency that comes back becomes heavier; the squared-hinge head's penalty, the SVM's C "
    "and gamma, and the bandwidth of random features are chosen on held-out rows (the paper: "
    "hinge, C = 1).",
    trials,
    (Picture("evolution", evolution), Picture("peaks", peaks)),
    findings,
)
