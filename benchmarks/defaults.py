"""How two defaults were chosen, by cross-validation inside the training part of real tables.

    python -m benchmarks.defaults            both
    python -m benchmarks.defaults target     one of them: "penalty" or "target"

penalty: the penalty behind KernelClassifier(head="auto"); error in % / log loss for each alpha.
target: Alignment(target="auto"), centred or raw labels; error in % and its standard error.
Test parts are never looked at.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.alignment import adult
from benchmarks.data import load
from bochner import KernelClassifier, LearnedFeatures
from bochner.families import Gaussian
from bochner.learners import Alignment
from bochner.linear import Logistic

ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01)
TABLES = ("magic", "spam", "satimage", "letter")
ROWS = 6_000


def training_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """75 % of a table (of a9a its training part), at most 6,000 rows."""
    if name == "a9a":
        X, y, _, _ = adult()
    else:
        X, y = load(name)
        X, _, y, _ = train_test_split(
            X.astype(np.float32), y, test_size=0.25, random_state=0, stratify=y
        )
    if len(X) > ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=ROWS, random_state=0, stratify=y)
    return X, y


def folds(X: np.ndarray, y: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return StratifiedKFold(count, shuffle=True, random_state=0).split(X, y)


def cross_validated(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """(error in %, log loss), the mean over three folds."""
    found = []
    for fit, held in folds(X, y, 3):
        model = KernelClassifier(head=Logistic(alpha, tol=1e-8), random_state=0)
        P = model.fit(X[fit], y[fit]).predict_proba(X[held])
        index = np.searchsorted(model.classes_, y[held])
        loss = -np.log(np.maximum(P[np.arange(len(index)), index], 1e-12))
        found.append((100 * np.mean(P.argmax(axis=1) != index), loss.mean()))
    return np.mean(found, axis=0)


def penalty() -> None:
    for name in TABLES:
        X, y = training_rows(name)
        cells = [(alpha, *cross_validated(X, y, alpha)) for alpha in ALPHAS]
        print(f"{name:9s}", "   ".join(f"{a:g}: {e:.2f} / {loss:.4f}" for a, e, loss in cells))


def by_target(X: np.ndarray, y: np.ndarray, D: int, target: str) -> list[float]:
    """Errors in % on each of five folds; another draw of 5,000 candidates for each."""
    errors = []
    for seed, (fit, held) in enumerate(folds(X, y, 5)):
        features = LearnedFeatures(
            Gaussian("median"), Alignment(0.01, target=target), 5_000, D, random_state=seed
        )
        head = LogisticRegression(C=100.0, max_iter=500)
        model: Any = make_pipeline(StandardScaler(), features, head).fit(X[fit], y[fit])
        errors.append(100.0 * (1.0 - model.score(X[held], y[held])))
    return errors


def target() -> None:
    for name in ("a9a", *TABLES):
        X, y = training_rows(name)
        for D in (100, 300):
            centred, raw = (np.array(by_target(X, y, D, t)) for t in ("centered", "raw"))
            gain = raw - centred  # the folds and the candidates are the same
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            means = f"centred {centred.mean():.2f}   raw {raw.mean():.2f}"
            print(f"{name:9s} D = {D}   {means}   raw - centred {gain.mean():+.2f} +- {error:.2f}")


def main(names: list[str]) -> None:
    made: dict[str, Callable[[], None]] = {"penalty": penalty, "target": target}
    for name in names or made:
        made[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
