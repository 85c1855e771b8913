"""Losses and landmarks: the pass against a bare one, many temperatures, and landmark features.

Sizes are those of the paper's largest runs: 20,000 frequencies on a9a (40,000 columns of cosines
and sines), 1,000 landmarks with 64 frequencies each on mnist 4-9 (64,000 columns).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from bochner import LandmarkFeatures, ops
from bochner.datasets import load
from bochner.experiments import official
from bochner.families import Gaussian
from bochner.feature_map import FeatureMap
from bochner.learners.base import Task
from bochner.learners.label_kernel import Target
from bochner.learners.pseudo_posterior.passes import loss_sums
from bochner.learners.pseudo_posterior.posterior import path
from bochner.rows import Hook, MemorySource

from .timing import alternate, peak_resident, row

FREQUENCIES, BETAS = 20_000, 100
LANDMARKS, PER_LANDMARK = 1000, 64
#: Rows of the bare product at a time: 64,000 columns of all rows would be 3 GB.
STRIP = 1024


def losses(n_frequencies: int = FREQUENCIES, n_rows: int | None = None) -> list[dict[str, Any]]:
    """Losses from one pass against `project` of the same columns; 100 posteriors against one."""
    split = official(load("a9a"))
    X, y = split.X[:n_rows].astype(np.float32), (split.y[:n_rows] > 0).astype(np.float64)
    family = Gaussian(4.0, form="pair")
    p = family.draw(2 * n_frequencies, X.shape[1], np.random.default_rng(0))
    fm = FeatureMap(family, p, np.ones(p.n_columns))
    source, target = MemorySource(X, y), Target(Task("classification", 2), None, False)
    R = np.stack([y == 0, y == 1], axis=1).astype(np.float32)

    def learn() -> Any:
        sums, _ = loss_sums(source, fm, target, None, Hook(None, 0))
        return sums

    def weigh(n_betas: int) -> None:
        sums = learn()
        found = path(sums.losses, sums.n, np.geomspace(1e-2, 1e2, n_betas))
        for beta in found.betas:
            found.weights(float(beta))

    contest: dict[str, Callable[[], Any]] = {
        "project": lambda: ops.project(X, p, R),
        "losses": lambda: learn().losses,
        "one": lambda: weigh(1),
        "many": lambda: weigh(BETAS),
    }
    t = alternate(contest, blocks=2, repeats=1)
    size = f"a9a, {len(y)} rows, {n_frequencies} frequencies"
    return [
        row(f"losses / project of pairs, two columns, {size}", t["losses"], t["project"], 1.25),
        row(f"pass and {BETAS} betas / pass and one, {size}", t["many"], t["one"], 2.0),
        weights_alone(n_frequencies),
    ]


def weights_alone(n_frequencies: int) -> dict[str, Any]:
    """What a further beta costs once the losses are there: seconds, without a baseline."""
    found = path(np.random.default_rng(0).random(n_frequencies), 1e4, [1.0])
    t = alternate({"weights": lambda: found.weights(1.0)}, blocks=3, repeats=5)
    return row(f"seconds of one further beta, {n_frequencies} losses", t["weights"], None, None)


def landmarks(
    L: int = LANDMARKS, K: int = PER_LANDMARK, n_rows: int | None = None
) -> list[dict[str, Any]]:
    """Fit and transform against the bare product of rows and frequencies, in float32."""
    split = official(load("mnist49"))
    X, y = split.X[:n_rows].astype(np.float32), split.y[:n_rows]
    fitted = LandmarkFeatures(L, "kmeans", K, family=Gaussian(5.0), random_state=0)
    grown = extra_memory(fitted, X, y)  # first: nothing freed is there to be reused
    again = clone(fitted)
    W = np.random.default_rng(0).standard_normal((X.shape[1], L * K), np.float32)
    Z = np.empty((min(STRIP, len(X)), L * K), np.float32)

    def product() -> None:
        for first in range(0, len(X), STRIP):
            part = X[first : first + STRIP]
            np.matmul(part, W, out=Z[: len(part)])

    contest: dict[str, Callable[[], Any]] = {
        "product": product,
        "fit": lambda: again.fit(X, y),
        "transform": lambda: fitted.transform(X),
    }
    t = alternate(contest, blocks=2, repeats=1)
    size = f"mnist 4-9, {len(y)} rows, {L} landmarks x {K}"
    what = f"extra memory of fit, {size}, MB"
    return [
        row(f"fit / matmul, {size}", t["fit"], t["product"], 3.0),
        row(f"transform / matmul, {size}", t["transform"], t["product"], 1.5),
        row(what, grown, None, 256.0),
    ]


def extra_memory(estimator: Any, X: Any, y: Any) -> float:
    """MB that the process grows by while it fits; compiled code is there already."""
    clone(estimator).set_params(n_landmarks=2, n_frequencies=2).fit(X[:200], y[:200])
    with peak_resident() as grown:
        estimator.fit(X, y)
    return grown["extra"]


def run() -> list[dict[str, Any]]:
    return [*losses(), *landmarks()]
