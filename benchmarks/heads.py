"""Linear heads on 200,000 x 500 float32 against scikit-learn's fastest solver at equal objective.

First every solver of scikit-learn is timed once, with the loosest tolerance of a ladder at which
its objective is within 1e-6 (relative) of the optimum; the fastest one becomes the baseline of the
alternating rounds. Ours runs with its defaults, which go on to about 1e-12, and with a tolerance
that just reaches 1e-6 as well. Objectives are recomputed in float64 from the coefficients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import linear_model

from benchmarks import timing
from bochner.linear import LinearModel, Logistic, Ridge
from bochner.rows import MemorySource

ROWS, COLUMNS, ALPHA = 200_000, 500, 1.0
CLOSE = 1e-6
TARGET = 0.8

#: scikit-learn's solvers with the tolerances to try, loosest first (None: it has no use for one).
RIDGE: dict[str, tuple[float | None, ...]] = {
    "cholesky": (None,),
    "svd": (None,),
    "lsqr": (1e-2, 1e-3, 1e-4, 1e-6),
    "sparse_cg": (1e-2, 1e-3, 1e-4, 1e-6),
    "sag": (1e-2, 1e-3, 1e-4),
}
LOGISTIC: dict[str, tuple[float | None, ...]] = {
    "lbfgs": (1e-1, 1e-2, 1e-3, 1e-4, 1e-6),
    "newton-cholesky": (1e-1, 1e-2, 1e-3, 1e-4),
    "newton-cg": (1e-1, 1e-2, 1e-3, 1e-4),
    "sag": (1e-2, 1e-3, 1e-4),
    "saga": (1e-2, 1e-3, 1e-4),
}


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    X *= np.logspace(-0.5, 0.5, COLUMNS, dtype=np.float32)
    X[:, 1:] += 0.5 * X[:, :-1]
    scores = X @ (rng.standard_normal(COLUMNS) / np.sqrt(COLUMNS)).astype(np.float32)
    number = (scores + rng.standard_normal(ROWS)).astype(np.float32)
    label = (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int64)
    return X, number, label


def ridge_objective(X: Any, y: Any, coef: Any, intercept: float) -> float:
    residual = y - scores(X, coef) - intercept
    return float(residual @ residual + ALPHA * np.sum(np.square(coef, dtype=np.float64)))


def logistic_objective(X: Any, y: Any, coef: Any, intercept: float) -> float:
    margin = (2 * y - 1) * (scores(X, coef) + intercept)
    loss = np.logaddexp(0.0, -margin).sum()
    return float(loss + 0.5 * ALPHA * np.sum(np.square(coef, dtype=np.float64)))


def scores(X: Any, coef: Any) -> Any:
    coef = np.asarray(coef, dtype=np.float64).ravel()
    return np.concatenate(
        [X[i : i + 20_000].astype(np.float64) @ coef for i in range(0, len(X), 20_000)]
    )


Objective = Callable[[Any, float], float]


def scikit_learn(
    make: Callable[..., Any],
    ladders: dict[str, tuple[float | None, ...]],
    X: Any,
    y: Any,
    objective: Objective,
    best: float,
) -> tuple[dict[str, float], dict[str, float | None]]:
    """Seconds and tolerance of each solver at the first rung that is close enough."""
    seconds: dict[str, float] = {}
    rungs: dict[str, float | None] = {}
    for solver, ladder in ladders.items():
        for tol in ladder:
            model = make(solver, tol)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                took = timing.seconds(lambda model=model: model.fit(X, y))
            excess = objective(model.coef_, float(np.ravel(model.intercept_)[0])) / best - 1.0
            if excess <= CLOSE:
                seconds[solver], rungs[solver] = took, tol
                break
            if took > 60.0:  # the next rung takes longer still
                break
    return seconds, rungs


def make_ridge(solver: str, tol: float | None) -> Any:
    more = {} if tol is None else {"tol": tol}
    return linear_model.Ridge(ALPHA, solver=solver, random_state=0, **more)


def make_logistic(solver: str, tol: float | None) -> Any:
    return linear_model.LogisticRegression(
        C=1.0 / ALPHA, solver=solver, tol=tol, max_iter=1000, random_state=0
    )


def compare(
    what: str,
    ours: dict[str, Callable[[], LinearModel]],
    make: Callable[..., Any],
    ladders: dict[str, tuple[float | None, ...]],
    X: Any,
    y: Any,
    objective: Callable[[Any, Any, Any, float], float],
) -> list[dict[str, Any]]:
    def at(coef: Any, intercept: float) -> float:
        return objective(X, y, coef, intercept)

    models = {name: fit() for name, fit in ours.items()}
    values = {name: at(m.coef, float(m.intercept[0])) for name, m in models.items()}
    best = min(values.values())
    once, rungs = scikit_learn(make, ladders, X, y, at, best)
    fastest = min(once, key=once.__getitem__)
    model = make(fastest, rungs[fastest])
    contestants: dict[str, Callable[[], Any]] = {
        **ours,
        "scikit-learn": lambda: model.fit(X, y),
        "product": lambda: X.T @ X,
    }
    times = timing.alternate(contestants, blocks=3, repeats=2)
    rows = []
    for name in ours:
        excess = values[name] / best - 1.0
        rows.append(
            timing.row(
                f"{what}, {name} / scikit-learn's {fastest}",
                times[name],
                times["scikit-learn"],
                TARGET,
                scikit_learn_solver=fastest,
                scikit_learn_tol=rungs[fastest],
                scikit_learn_seconds_once=once,
                relative_excess=excess,
                gap=models[name].gap,
                passes=models[name].stats["passes"],
            )
        )
        rows.append(timing.row(f"{what}, {name} / X.T @ X", times[name], times["product"], None))
    return rows


def run() -> list[dict[str, Any]]:
    X, number, label = data()
    numbers, labels = MemorySource(X, number), MemorySource(X, label)
    ridge = {"defaults": lambda: Ridge(ALPHA).fit(numbers, None)}
    logistic = {
        "defaults": lambda: Logistic(ALPHA).fit(labels, None),
        "tol=1e-7": lambda: Logistic(ALPHA, tol=1e-7).fit(labels, None),
    }
    return [
        *compare("Ridge", ridge, make_ridge, RIDGE, X, number, ridge_objective),
        *compare("Logistic", logistic, make_logistic, LOGISTIC, X, label, logistic_objective),
    ]
