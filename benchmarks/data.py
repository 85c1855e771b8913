"""The real data sets that benchmarks and the README's picture use, where they are at hand."""

import os
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("BOCHNER_DATA", Path(__file__).parents[2] / "shared" / "data"))


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of a data set that comes as one table."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise SystemExit(
            f"{path.name} is not in the data folder: set BOCHNER_DATA to the folder that holds it"
        )
    with np.load(path) as z:
        return z["X"].astype(np.float64), z["y"]
