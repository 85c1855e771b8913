"""Figure 1 of Letarte et al. 2019: five landmarks in the plane, twenty frequencies each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from .. import Experiment, Picture, Result, Split, Trial, pictures
from ..landmarks import SVM_HEAD, KernelSVM, LandmarkModel
from ._letarte import SVM

RBF, PB = "RBF-Landmarks", "PB-Landmarks"
N, N_TEST, LANDMARKS, K = 500, 2000, 5, 20


def rows(seed: int) -> Split:
    """Two moons with noise (the paper does not say how its rows were made)."""
    X, y = make_moons(N + N_TEST, noise=0.15, random_state=seed)
    return Split("two moons", X[:N], y[:N], X[N:], y[N:])


def trials(quick: bool) -> Sequence[Trial]:
    share = LANDMARKS / N
    methods: list[Any] = [
        KernelSVM(SVM, (0.1, 0.3, 1.0, 3.0, 10.0)),
        LandmarkModel(RBF, (), (1.0,), share, "random", head=SVM_HEAD),
        LandmarkModel(PB, (K,), (1.0,), share, "random", head=SVM_HEAD),
    ]
    return [Trial(rows, methods, seeds=range(2 if quick else 10))]


def outputs(result: Result) -> Any:
    """What each landmark's column is over the plane, and where the linear SVM decides what."""
    split = rows(len(result.lines[0].values) - 1)  # the last seed, whose fits were kept
    low, high = split.X.min(axis=0) - 0.3, split.X.max(axis=0) + 0.3
    x, y = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90))
    plane = np.column_stack([x.ravel(), y.ravel()])
    places = next(kept for line, kept in result.kept if line.method == RBF)[0].projection.points
    figure, axes = pictures.figure(LANDMARKS + 1, 1.9, 2.2, rows=2)
    for name, row in zip((RBF, PB), axes, strict=True):
        (fm, model), line = next((kept, line) for line, kept in result.kept if line.method == name)
        phi = np.asarray(fm(plane))
        for column, one in enumerate(row[:-1]):
            shown = phi[:, column].reshape(x.shape)
            one.pcolormesh(x, y, shown, cmap="RdBu", vmin=-1, vmax=1, rasterized=True)
            one.plot(*places[column], marker="x", color="#222222", ms=6)
            one.set(title=f"landmark {column + 1}" if name == RBF else "")
        decided = model.decision(None, phi)[:, 0].reshape(x.shape)
        row[-1].contourf(x, y, decided, levels=[-1e9, 0, 1e9], colors=["#f3c6ca", "#bcd0e0"])
        for label, colour in ((0, "#d1495b"), (1, "#30638e")):
            row[-1].scatter(*split.X[split.y == label].T, s=3, color=colour, lw=0)
        row[-1].set(title=f"{name}: {line.values[-1]:.1f} %")
        for one in row:
            one.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            one.grid(visible=False)
    return figure


def findings(result: Result) -> list[str]:
    (plain,), (learned,) = (result.where(method=name) for name in (RBF, PB))
    better = int(np.sum(np.array(learned.values) < plain.values))
    return [f"learned similarities are better on {better} of {len(plain.values)} draws"]


EXPERIMENT = Experiment(
    "letarte_toy",
    "Letarte, Morvant & Germain 2019, figure 1: landmarks in the plane",
    "Five landmarks by lot; above, the kernel of each; below, what it learned from twenty "
    "frequencies at beta = 1; on the right, what a linear SVM on the five columns decides. The "
    "bandwidth is that of an SVM, by held-out rows.",
    trials,
    (Picture("outputs", outputs),),
    findings,
)
