"""The README's picture: test error and fit time against the number of features, on `magic`.

    python -m benchmarks.picture

Every method sees the same standardised rows and the same splits (75 % to fit, 25 % to test, five
seeds), the same median bandwidth and the same penalty alpha = C = 1. Nothing is chosen on test
rows. Writes docs/picture.svg and benchmarks/results/picture.csv.
"""

import csv
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.data import load
from bochner import KernelClassifier
from bochner.families import Gaussian

ROOT = Path(__file__).parents[1]
SIZES = (50, 100, 200, 500, 1000)
SEEDS = range(5)


def contestants(gamma: float, size: int, seed: int) -> dict[str, Callable[[], object]]:
    def after(map_):
        return make_pipeline(map_, LogisticRegression(max_iter=1000))

    family = Gaussian((0.5 / gamma) ** 0.5, form="pair", sampling="orthogonal")
    return {
        "bochner KernelClassifier": lambda: KernelClassifier(
            family, n_components=size, head="logistic", preprocess=None, random_state=seed
        ),
        "RBFSampler + LogisticRegression": lambda: after(
            RBFSampler(gamma=gamma, n_components=size, random_state=seed)
        ),
        "Nystroem + LogisticRegression": lambda: after(
            Nystroem(gamma=gamma, n_components=size, random_state=seed)
        ),
    }


def measure() -> list[dict[str, object]]:
    X, y = load("magic")
    KernelClassifier(n_components=10).fit(X[::100], y[::100])  # compilation is not what we compare
    rows = []
    for seed in SEEDS:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.25, random_state=seed, stratify=y
        )
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        family = KernelClassifier(Gaussian("median"), n_components=2, preprocess=None)
        bandwidth = family.fit(X_train, y_train).feature_map_.family.bandwidth
        gamma = 0.5 / bandwidth**2
        for size in SIZES:
            for name, make in contestants(gamma, size, seed).items():
                rows.append(one(name, make(), size, seed, X_train, y_train, X_test, y_test))
        svc = SVC(gamma=gamma)
        rows.append(one("SVC (exact kernel)", svc, 0, seed, X_train, y_train, X_test, y_test))
    return rows


def one(name, model, size, seed, X_train, y_train, X_test, y_test) -> dict[str, object]:
    time.sleep(0.2)  # let the threads of the contestant before stop spinning
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    error = 100 * (1 - model.score(X_test, y_test))
    print(f"{name:34s} {size:5d} seed {seed}  {error:6.2f} %  {seconds:6.2f} s")
    return {"method": name, "features": size, "seed": seed, "error": error, "seconds": seconds}


def draw(rows: list[dict[str, object]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "bochner"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    names = list(dict.fromkeys(r["method"] for r in rows))
    for name, colour in zip(names, ("#d1495b", "#30638e", "#8d99ae", "#222222"), strict=False):
        for axes, key in ((left, "error"), (right, "seconds")):
            points = sorted({r["features"] for r in rows if r["method"] == name})
            values = [
                [r[key] for r in rows if r["method"] == name and r["features"] == p] for p in points
            ]
            mean = np.array([np.mean(v) for v in values])
            error = np.array([np.std(v, ddof=1) / len(v) ** 0.5 for v in values])
            if points == [0]:
                axes.axhline(mean[0], color=colour, ls="--", lw=1.2, label=name)
                continue
            axes.errorbar(points, mean, error, color=colour, marker="o", ms=4, lw=1.6, label=name)
    left.set(xscale="log", xlabel="features", ylabel="test error, %", title="magic, 19,020 rows")
    right.set(xscale="log", yscale="log", xlabel="features", ylabel="fit time, s")
    right.set_title("same rows, same bandwidth")
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xticks(SIZES, [str(s) for s in SIZES])
        axes.minorticks_off()
    left.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    rows = measure()
    out = ROOT / "benchmarks" / "results" / "picture.csv"
    out.parent.mkdir(exist_ok=True)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, ROOT / "docs" / "picture.svg")


if __name__ == "__main__":
    main()
