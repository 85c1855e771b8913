"""The main job on built-in data: ``python -m bochner``."""

from __future__ import annotations

import time

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from . import KernelClassifier


def main() -> None:
    """Fit a classifier on scikit-learn's breast cancer table and say how it went."""
    X, y = load_breast_cancer(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = parts
    start = time.perf_counter()
    model = KernelClassifier(random_state=0).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    print(f"breast cancer: {len(X_train)} rows to learn from, {len(X_test)} to test on")
    print(f"test accuracy  {model.score(X_test, y_test):.3f}")
    print(f"features       {model.feature_map_.n_features}")
    print(f"fit time       {seconds:.2f} s (first call, compilation included)")


if __name__ == "__main__":
    main()
