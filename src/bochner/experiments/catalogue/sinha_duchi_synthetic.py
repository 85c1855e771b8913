"""Figure 1 of Sinha & Duchi 2016: is |x| above sqrt(d)? A poor base kernel, made good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...families import Gaussian
from ...learners import Alignment
from .. import (
    Experiment,
    Features,
    Penalised,
    Picture,
    Result,
    SizeOf,
    Split,
    Trial,
    pictures,
)

N_W, RHO = 20_000, 200.0
#: Test errors of the authors' MATLAB code, theirs and random features.
AUTHORS = (15.2, 35.1)
OURS, RANDOM = "alignment, D = nnz", "random features, D = nnz"


def rows(d: int, n: int, n_test: int, seed: int) -> Split:
    """x ~ N(0, I), y = sign(|x| - sqrt d)."""
    X = np.random.default_rng([seed, d]).standard_normal((n + n_test, d)).astype(np.float32)
    y = np.where(np.linalg.norm(X, axis=1) > np.sqrt(d), 1, -1)
    return Split("|x| > sqrt(d)", X[:n], y[:n], X[n:], y[n:])


def methods(n_candidates: int) -> list[Features]:
    """Theirs and ours: rho = 0.01 N_w, chi-square divergence, estimator (6)."""
    head = Penalised("logistic")
    learner = Alignment(RHO / N_W * n_candidates / (n_candidates - 1), use="weight", target="raw")
    family = Gaussian(1.0)
    return [
        Features(OURS, family, learner, n_candidates, "all", head),
        Features(RANDOM, family, "uniform", "auto", SizeOf(OURS), head),
    ]


def trials(quick: bool) -> Sequence[Trial]:
    dimensions = (2, 6) if quick else range(2, 16)
    n, n_test, n_candidates = (2000, 500, 2000) if quick else (10_000, 1000, N_W)

    def one(d: int) -> Trial:
        return Trial(
            lambda seed: rows(d, n, n_test, seed),
            methods(n_candidates),
            seeds=range(1 if quick else 5),
            point={"d": d},
        )

    return [one(d) for d in dimensions]


def curve(result: Result) -> Any:
    """Figure 1 (b): error against d."""
    figure, axes = pictures.figure()
    pictures.curves(axes, result, "d")
    axes.set(ylim=(0, 55), title="same number of features")
    return figure


def plane(result: Result) -> Any:
    """Figure 1 (a) and the offsets: what is selected at d = 2."""
    kept = next(k for line, k in result.kept if line.method == OURS and line.point["d"] == 2)
    fm, split = kept.feature_map_, rows(2, 1500, 0, 0)
    w, b = fm.atoms["frequencies"], np.mod(fm.atoms["offsets"], 2 * np.pi)
    figure, (left, right) = pictures.figure(2)
    for label, colour in ((1, "#30638e"), (-1, "#d1495b")):
        left.scatter(*split.X[split.y == label].T, s=4, color=colour, alpha=0.5, lw=0)
    left.scatter(*w.T, s=12, color="#f2c14e", edgecolor="#444444", lw=0.4, zorder=3)
    left.set(xlim=(-4, 4), ylim=(-4, 4), aspect="equal", title="rows, and frequencies kept")
    right.hist(b / np.pi, bins=48, range=(0, 2), weights=fm.weights**2, color="#30638e")
    right.set(xlabel="offset / pi", ylabel="weight q", title="offsets kept")
    return figure


def findings(result: Result) -> list[str]:
    """Where the selected atoms lie at d = 2."""
    found = []
    for line, kept in result.kept:
        if line.method == OURS and line.point["d"] == 2 and kept is not None:
            fm = kept.feature_map_
            w, b, q = fm.atoms["frequencies"], fm.atoms["offsets"], fm.weights**2
            off = np.abs(np.sin(b)) < np.sin(0.4)
            found.append(
                f"d = 2: {100 * q[off].sum():.0f} % of the weight has an offset within 0.4 of 0 or "
                f"pi; mean |frequency| {q @ np.linalg.norm(w, axis=1):.2f}, sqrt 2 = 1.41"
            )
    return [*found, *against_authors(result)]


def against_authors(result: Result) -> list[str]:
    """The authors' code at its own settings (d not stated) against our d of equal difficulty."""
    random = min(result.where(method=RANDOM), key=lambda line: abs(line.mean - AUTHORS[1]))
    (ours,) = result.where(method=OURS, d=random.point["d"])
    return [
        f"authors' code, in settings of its own: {AUTHORS[0]} % against {AUTHORS[1]} % for as many "
        f"random features; here at d = {random.point['d']}: {ours.mean:.1f} % against "
        f"{random.mean:.1f} %"
    ]


EXPERIMENT = Experiment(
    "sinha_duchi_synthetic",
    "Sinha & Duchi 2016, figure 1: labels by the norm",
    "x ~ N(0, I), y = sign(|x| - sqrt d), n = 10,000 / 1,000, N_w = 20,000, rho = 200, Gaussian "
    "kernel of bandwidth 1, logistic regression; random features have as many columns as ours.",
    trials,
    (Picture("error", curve), Picture("plane", plane)),
    findings,
)
