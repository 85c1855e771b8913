"""The rooms: imports point one way, and optional packages stay out until they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "bochner"

# In the order of DESIGN: a room may import itself and anything further to the right.
ORDER = [
    {"__main__", "cli", "report", "experiments"},
    {"checkup", "estimators"},
    {"search"},
    {"learners"},
    {"linear", "certificates"},
    {"statistics"},
    {"feature_map"},
    {"families"},
    {"ops"},
    {"datasets"},
    {"rows"},
]
RANK = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
OPTIONAL = ("torch", "dask", "distributed", "pyarrow", "matplotlib", "onnx", "polars")


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of bochner that a file imports, anywhere in it."""
    package = ("bochner", *path.relative_to(SRC).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            if module[:1] == ("bochner",):
                found |= {module[1]} if len(module) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            found |= {n[1] for n in names if n[0] == "bochner" and len(n) > 1}
    return found


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    for other in imported_rooms(path) - {room, "__version__"}:
        if room == "__main__":
            continue
        assert other in RANK, f"{path.name} imports {other}, which is no room"
        assert RANK[other] > RANK[room], f"{room} must not import {other}"


def test_every_room_has_a_place() -> None:
    rooms = {room_of(p) for p in SRC.rglob("*.py")} - {"__init__"}
    assert rooms <= set(RANK)


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(run.stdout.split())


IMPORT_ALL = """
import bochner
from bochner import FeatureMap, KernelClassifier, KernelRegressor, LearnedFeatures, doctor, scan
import bochner.families, bochner.learners, bochner.linear, bochner.rows, bochner.statistics
import bochner.datasets, bochner.experiments
"""


def test_optional_packages_stay_out() -> None:
    # scikit-learn itself may import some of them where they are installed: that is not ours
    baseline = loaded_after("import sklearn, sklearn.linear_model, sklearn.kernel_approximation")
    ours = loaded_after(IMPORT_ALL) - baseline
    assert not {m for m in ours if m.split(".")[0] in OPTIONAL}


def test_numba_waits_for_the_first_call() -> None:
    assert "numba" not in loaded_after(IMPORT_ALL)


def test_fitting_in_memory_needs_no_optional_package() -> None:
    baseline = loaded_after("import sklearn, sklearn.linear_model, sklearn.kernel_approximation")
    fit = (
        "import numpy as np; from bochner import KernelClassifier\n"
        "X = np.random.default_rng(0).normal(size=(40, 3))\n"
        "KernelClassifier(n_components=8, random_state=0).fit(X, X[:, 0] > 0).predict(X)"
    )
    ours = loaded_after(fit) - baseline
    assert not {m for m in ours if m.split(".")[0] in OPTIONAL}


def test_every_public_name_exists() -> None:
    import bochner

    for name in bochner.__all__:
        assert getattr(bochner, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = bochner.nothing_of_the_kind
