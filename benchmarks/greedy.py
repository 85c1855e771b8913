"""Greedy against scikit-learn: orthogonal_mp on 20,000 x 2,000, logistic fits on a9a; and its path.

orthogonal_mp is given columns of mean 0 and length 1, the case where both choose alike, and its
Gram matrix is made inside its time. The logistic baseline is only ten fits of scikit-learn on the
columns that ours chose, as an array made beforehand, each with the loosest tolerance of a ladder
at which its objective is within 1e-6 (relative) of the optimum; ours has to find the columns too.
Out of core, a process of its own reads a memory map several times larger than what it may take.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.linear_model import LogisticRegression, orthogonal_mp
from sklearn.model_selection import PredefinedSplit

from bochner import LearnedFeatures, scan
from bochner.families import Linear, Taylor, Union
from bochner.learners import Greedy
from bochner.learners.greedy.path import Model
from bochner.learners.greedy.squared import Pursuit

from .data import FOLDER
from .stream import peak_megabytes
from .timing import alternate, row, seconds

M = 100
#: Out of core: a memory map of 16 GB in the temporary folder, and what a fit from it may use.
ROWS, COLUMNS, PER_STEP = 1_000_000, 4_000, 10
RESIDENT_MB, PASSES = 1024.0, 1.3
CLOSE, ALPHA = 1e-6, 1e-4
#: scikit-learn's default, and what is fastest for so few columns.
SOLVERS = ("lbfgs", "newton-cholesky")
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)


def planted(n: int, N: int) -> tuple[Any, Any]:
    """Columns of mean 0 and length 1, correlated with their neighbours, and a target of 150."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, N))
    X[:, 1:] += 0.5 * X[:, :-1]
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    theta = rng.standard_normal(150) * np.logspace(0, -1, 150)
    y = X[:, rng.permutation(N)[:150]] @ theta + 0.3 * rng.standard_normal(n) / np.sqrt(n)
    return X, y - y.mean()


def ours(X: Any, y: Any, learner: Greedy, task: str = "regression", **options: Any) -> Any:
    model = LearnedFeatures("linear", learner, n_components=M, task=task, **options)
    return model.fit(X, y)


def pursuit() -> list[dict[str, Any]]:
    """Squared loss: time, support and coefficients next to scikit-learn's."""
    X, y = planted(20_000, 2_000)
    found = ours(X, y, Greedy())
    theirs = orthogonal_mp(X, y, n_nonzero_coefs=M, precompute=True)
    columns, coef = found.selection_.stats["columns"], np.zeros(X.shape[1])
    coef[columns] = found.selection_.path.coefs[-1][0] * found.feature_map_.weights
    differ = len(set(columns.tolist()) ^ set(np.flatnonzero(theirs).tolist()))
    far = float(np.abs(coef - theirs).max() / np.abs(theirs).max())
    contest: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(X, y, Greedy()),
        "scikit-learn": lambda: orthogonal_mp(X, y, n_nonzero_coefs=M, precompute=True),
        "path": lambda: ours(X, y, Greedy()),
        "largest": lambda: largest_alone(X, y),
    }
    t = alternate(contest, blocks=3, repeats=1)
    size = "squared loss, 20,000 x 2,000, M = 100"
    return [
        row(f"{size} / orthogonal_mp with its Gram matrix", t["ours"], t["scikit-learn"], 1.0),
        row(f"{size}: columns in one support only", differ, None, 0),
        row(f"{size}: largest difference of coefficients, relative", far, None, 1e-8),
        row(f"{size}, whole path / largest model alone", t["path"], t["largest"], 1.1),
    ]


def largest_alone(X: Any, y: Any) -> Any:
    """The same fit without the models of sizes below M."""
    whole, none = Pursuit._model, Model(np.zeros((1, 0)), np.zeros(1), 1.0)

    def only_last(engine: Pursuit, size: int) -> Model:
        return whole(engine, size) if size == M else none

    with mock.patch.object(Pursuit, "_model", only_last):
        return ours(X, y, Greedy())


def held_out() -> list[dict[str, Any]]:
    """Risks on held-out rows for every size, against cutting them off and fitting the others."""
    X, y = planted(20_000, 2_000)
    held = np.arange(len(y)) % 4 == 0
    cv = PredefinedSplit(np.where(held, 0, -1))
    contest = {
        "judged": lambda: ours(X, y, Greedy(validation=True), cv=cv),
        "alone": lambda: ours(X[~held], y[~held], Greedy()),
    }
    t = alternate(contest, blocks=3, repeats=1)
    what = "squared loss, 20,000 x 2,000, M = 100, path with held-out risks / without, same rows"
    return [row(what, t["judged"], t["alone"], 1.1)]


def adult() -> tuple[Any, Any]:
    with np.load(FOLDER / "a9a.npz") as z:
        return z["X_train"].astype(np.float64), (z["y_train"] > 0).astype(np.int64)


def logistic() -> list[dict[str, Any]]:
    """Ten steps of ten columns, against ten fits on the columns that they chose."""
    X, y = adult()
    family, learner = Union([Taylor(1, 4.0), Linear()]), Greedy(10, alpha=ALPHA)

    def fit() -> Any:
        return LearnedFeatures(family, learner, 2 * X.shape[1] + 1, M, random_state=0).fit(X, y)

    found = fit()
    fm, path = found.feature_map_, found.selection_.path
    mean = fm(X).mean(axis=0)
    Z = (fm(X) - mean) * np.sqrt(M)  # deviation 1, as the penalty has them
    parts = [Z[:, :k].copy() for k in path.sizes]
    best = [
        objective(part, y, coef[0] / np.sqrt(M), b[0] + coef[0] @ mean[: part.shape[1]])
        for part, coef, b in zip(parts, path.coefs, path.intercepts, strict=True)
    ]
    contest: dict[str, Callable[[], Any]] = {"ours": fit}
    tolerances, excess = {}, -np.inf
    for solver in SOLVERS:
        made = [scikit_learn(solver, Z, y, b) for Z, b in zip(parts, best, strict=True)]
        models = [model for model, _ in made]
        contest[solver] = partial(fit_all, models, parts, y)
        tolerances[solver] = [model.tol for model in models]
        excess = max(excess, *(b / value - 1.0 for b, (_, value) in zip(best, made, strict=True)))
    t = alternate(contest, blocks=3, repeats=1)
    what = f"logistic, a9a, {2 * X.shape[1] + 1} candidates, M = 100 by tens"
    table = [
        row(f"{what} / ten fits of LogisticRegression ({solver})", t["ours"], t[solver], 0.7)
        | {"scikit_learn_tol": tolerances[solver], "passes": found.selection_.stats["passes"]}
        for solver in SOLVERS
    ]
    return [*table, row(f"{what}: largest excess over its objectives", excess, None, CLOSE)]


def fit_all(models: Any, parts: Any, y: Any) -> None:
    for model, Z in zip(models, parts, strict=True):
        model.fit(Z, y)


def objective(Z: Any, y: Any, coef: Any, intercept: float) -> float:
    margins = (2 * y - 1) * (Z @ coef + intercept)
    return float(np.logaddexp(0.0, -margins).mean() + 0.5 * ALPHA * coef @ coef)


def scikit_learn(solver: str, Z: Any, y: Any, best: float) -> tuple[LogisticRegression, float]:
    """A fit no more exact than it has to be, and its objective."""
    for tol in TOLERANCES:
        model = LogisticRegression(C=1.0 / (ALPHA * len(y)), solver=solver, tol=tol, max_iter=1000)
        model.fit(Z, y)
        value = objective(Z, y, model.coef_[0], float(model.intercept_[0]))
        if value <= best * (1.0 + CLOSE):
            break
    return model, value


def out_of_core() -> list[dict[str, Any]]:
    """Peak memory of a process that does nothing else, and its passes over the candidates."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name))
        code = (
            "from benchmarks import greedy; greedy.from_map(greedy.Path(__import__('sys').argv[1]))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, check=True
        )
    megabytes, passes, took = map(float, run.stdout.split())
    what = f"out of core, {ROWS:,} x {COLUMNS:,} float32, M = 100 by tens"
    ratio = row(f"{what}: passes / (M / per_step)", passes, M / PER_STEP, PASSES)
    memory = row(f"{what}: resident memory, MB", megabytes, None, RESIDENT_MB)
    return [memory, {**ratio, "seconds": took}]


def write(folder: Path) -> None:
    """Correlated columns and a target of 150 of them, block by block."""
    rng = np.random.default_rng(0)
    theta = np.zeros(COLUMNS)
    theta[rng.permutation(COLUMNS)[:150]] = rng.standard_normal(150) * np.logspace(0, -1, 150)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (ROWS, COLUMNS))
    y = np.empty(ROWS)
    for start in range(0, ROWS, 5_000):
        part = slice(start, min(start + 5_000, ROWS))
        block = rng.random(X[part].shape, dtype=np.float32)
        block[:, 1:] += 0.5 * block[:, :-1]
        X[part], y[part] = block, block @ theta + 0.3 * rng.standard_normal(len(block))
    X.flush()
    np.save(folder / "y.npy", y)


def from_map(folder: Path) -> None:
    source = scan(folder / "X.npy", target=np.load(folder / "y.npy"))
    learner = LearnedFeatures("linear", Greedy(PER_STEP), n_components=M, task="regression")
    took = seconds(lambda: learner.fit(source))
    print(peak_megabytes(), learner.selection_.stats["passes"], took)


def run() -> list[dict[str, Any]]:
    return [*pursuit(), *held_out(), *logistic(), *out_of_core()]
