"""Figure 1 (c) of Bullins et al. 2018: the checkerboard on the sphere, by few harmonics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ...datasets import make_checkerboard
from ...families import ArcCosine, Harmonics
from ...learners import MarginSearch
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

RBF, ARC = "SVM, Gaussian kernel", "SVM, arc-cosine kernel (order 0)"
OURS, CERTIFIED = "T = 100, gradient ascent", "29 of the solved game"
MOST = 29
HEAD = Penalised("squared_hinge", tuple(10.0 ** (k / 2) for k in range(-14, -3)), tol=1e-8)
COSTS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)


def rows(n: int, n_test: int, seed: int) -> Split:
    """Rows to learn from, and others."""
    X, y = make_checkerboard(n, random_state=[seed, 0])
    X_test, y_test = make_checkerboard(n_test, random_state=[seed, 1])
    return Split("checkerboard", X, y, X_test, y_test)


def methods(quick: bool) -> list[Any]:
    family = Harmonics(12 if quick else 30)
    ascent = MarginSearch(dynamics="no_regret", per_round=1, rounds=100)
    found = Features(OURS, family, ascent, "auto", MOST, HEAD)
    if quick:
        return [Model(RBF, lambda seed: SVC(C=1000.0, gamma=5.0)), found]
    kernel = ArcCosine(order=0).exact_kernel
    return [
        Model(RBF, lambda seed: SVC(), {"C": COSTS, "gamma": (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)}),
        Model(ARC, lambda seed: SVC(kernel=kernel), {"C": COSTS}),
        found,
        Features(CERTIFIED, family, MarginSearch(C=1.0, gap=0.02), "auto", MOST, HEAD),
    ]


def trials(quick: bool) -> Sequence[Trial]:
    paper = {
        OURS: Figure(0.9, "section 5"),
        RBF: Figure(4.9, "section 5, the better of two kernels"),
        ARC: Figure(4.9, "section 5, the better of two kernels"),
    }
    n_test = 2000 if quick else 50_000
    seeds = range(1 if quick else 3)
    return [Trial(lambda seed: rows(2000, n_test, seed), methods(quick), paper, seeds)]


def _heaviest(result: Result) -> tuple[Any, list[str]]:
    fm = next(what.feature_map_ for line, what in result.kept if line.method == OURS)
    return fm, [fm.names[m] for m in range(min(3, fm.n_features))]


def harmonics(result: Result) -> Any:
    """Figure 1 (c): the rows, and the three heaviest harmonics, over longitude and latitude."""
    split = rows(2000, 1, len(result.lines[0].values) - 1)
    fm, names = _heaviest(result)
    figure, axes = pictures.figure(4, 2.9, 3.4)
    longitude, latitude = np.linspace(-np.pi, np.pi, 181), np.linspace(-1.0, 1.0, 121) * np.pi / 2
    a, b = np.meshgrid(longitude, latitude)
    X = np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)], axis=-1).reshape(-1, 3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Z = np.asarray(fm(X))
    colours = np.where(split.y > 0, "#30638e", "#d1495b")
    places = (
        np.degrees(np.arctan2(split.X[:, 1], split.X[:, 0])),
        np.degrees(np.arcsin(np.clip(split.X[:, 2], -1.0, 1.0))),
    )
    axes[0].scatter(*places, s=3, c=colours, lw=0)
    axes[0].set(title="rows", ylabel="latitude")
    for m, (name, one) in enumerate(zip(names, axes[1:], strict=False)):
        height = np.abs(Z[:, m]).max()
        one.pcolormesh(np.degrees(longitude), np.degrees(latitude), Z[:, m].reshape(a.shape),
                       cmap="RdBu", vmin=-height, vmax=height, rasterized=True)  # fmt: skip
        one.set(title=name)
    for one in axes:
        one.set(xlabel="longitude", xlim=(-180, 180), ylim=(-90, 90))
        one.grid(False)
    return figure


def findings(result: Result) -> list[str]:
    """Which harmonics, and how far a single one gets."""
    fm, names = _heaviest(result)
    X, y = make_checkerboard(20_000, random_state=[99])
    right = np.mean((fm(X) > 0) == (y > 0)[:, None], axis=0)
    alone = 100.0 * float(np.minimum(right, 1.0 - right).min())
    return [
        f"last seed: {fm.n_features} harmonics, the heaviest {', '.join(names)}; the best of them "
        f"alone makes {alone:.1f} % errors"
    ]


EXPERIMENT = Experiment(
    "bullins_checkerboard",
    "Bullins et al. 2018, figure 1 (c): the checkerboard on the sphere",
    "Eight sectors by six bands on S^2 (make_checkerboard; the paper does not say how its rows "
    "were made), 2,000 rows to learn from, 50,000 to be judged on. The game among the 961 "
    "harmonics of degree 30 or less, T = 100 turns, repeats merged, at most 29 columns; penalties, "
    "C and gamma are chosen on held-out rows (the paper: hinge, C = 1).",
    trials,
    (Picture("harmonics", harmonics),),
    findings,
)
