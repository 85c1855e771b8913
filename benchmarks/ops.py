"""The hot loops: times against the bare matrix product, extra memory, and growth of the cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bochner import ops
from bochner.ops import Dense, Projection, Structured, reference

from .timing import alternate, peak_resident, row, seconds

N = 8192
PROJECT_TARGETS = {32: 0.80, 123: 1.10, 784: 1.15}
PULL_TARGETS = {784: 2.4}
ERROR_ROWS = 512  # columns checked against the definition: all 8192 would take gigabytes


def gaussian(n: int, d: int, n_forms: int) -> tuple[Any, Projection, Any]:
    """float32 rows, candidates of a Gaussian kernel with phases, one column of coefficients."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), np.float32)
    W = rng.standard_normal((n_forms, d), np.float32) / np.float32(np.sqrt(d))
    b = rng.uniform(0, 2 * np.pi, n_forms).astype(np.float32)
    R = rng.standard_normal((n, 1)).astype(np.float32)
    return X, Projection(Dense(W), "cos", np.sqrt(2.0), b), R


def structured(d: int, n_forms: int) -> Projection:
    rng = np.random.default_rng(0)
    p = 1 << (d - 1).bit_length()
    signs = rng.choice(np.array([-1, 1], np.int8), (n_forms // p, 3, p))
    radii = np.sqrt(rng.chisquare(d, n_forms) / d).astype(np.float32)
    b = rng.uniform(0, 2 * np.pi, n_forms).astype(np.float32)
    return Projection(Structured(d, signs, radii), "cos", np.sqrt(2.0), b)


def relative_error(ours: Any, truth: Any) -> float:
    return float(np.linalg.norm(ours - truth) / np.linalg.norm(truth))


def products(d: int) -> list[dict[str, Any]]:
    """project and pull against np.matmul(X, W, out=Z) on the same number of threads."""
    X, p, R = gaussian(N, d, N)
    W = np.ascontiguousarray(p.operator.to_matrix().T)
    Z = np.empty((N, N), np.float32)
    one = np.ones((N, 1), np.float32)
    sums = {"frequencies": np.zeros((N, d)), "offsets": np.zeros(N)}  # as the product has its Z
    pair = Projection(Dense(p.operator.to_matrix()[: N // 2]), "pair", 1.0)
    contestants: dict[str, Callable[[], Any]] = {
        "matmul": lambda: np.matmul(X, W, out=Z),
        "project": lambda: ops.project(X, p, R),
        "pull": lambda: ops.pull(X, p, R, one, out=sums),
        "fresh": lambda: ops.pull(X, p, R, one),
        "pair": lambda: ops.project(X, pair, R),
    }
    if d == 784:
        fast = structured(d, N)
        contestants["structured"] = lambda: ops.project(X, fast, R)
    t = alternate(contestants, blocks=5, repeats=2)
    base, size = t["matmul"], f"{N} x {N}, d = {d}"
    part = p.take(np.arange(ERROR_ROWS))
    error = relative_error(ops.project(X, p, R)[:ERROR_ROWS], reference.project(X, part, R))
    rows = [
        row(f"project / matmul, {size}", t["project"], base, PROJECT_TARGETS[d]),
        row(f"project error, {size}", error, None, 1e-5),
        row(f"pull / matmul, {size}", t["pull"], base, PULL_TARGETS.get(d)),
        row(f"pull into fresh memory / matmul, {size}", t["fresh"], base, PULL_TARGETS.get(d)),
        row(f"project of {N // 2} pairs / matmul, {size}", t["pair"], base, None),
    ]
    if d == 784:
        rows.append(row(f"structured / dense project, {size}", t["structured"], t["project"], 0.4))
    return rows


def memory() -> list[dict[str, Any]]:
    """Extra resident memory of project, small and large: within a budget and flat."""
    rows = []
    for n, n_forms in ((20_000, 2_000), (200_000, 20_000)):
        X, p, R = gaussian(n, 8, n_forms)
        ops.project(X[:64], p, R[:64])
        with peak_resident() as peak:
            ops.project(X, p, R)
        what = f"extra memory of project, {n} x {n_forms}, MB"
        rows.append(row(what, peak["extra"], None, 64.0))
    return rows


def growth() -> list[dict[str, Any]]:
    """The exponent of time in rows x candidates, fitted as each grows 16-fold.

    The least of seven rounds over all sizes: a busy moment of the machine hits no size alone.
    """
    rows = []
    for what, sizes in (
        ("rows", [(1024 * 2**k, 4096) for k in range(5)]),
        ("candidates", [(4096, 1024 * 2**k) for k in range(5)]),
    ):
        calls = [partial(ops.project, *gaussian(n, 64, m)) for n, m in sizes]
        rounds = [[seconds(call) for call in calls] for _ in range(8)]
        times = np.min(rounds[1:], axis=0)  # the first one warms up
        exponent = float(np.polyfit(np.arange(5) * np.log(2), np.log(times), 1)[0])
        rows.append(row(f"exponent of project as {what} grow 16-fold", exponent, None, 1.05))
    return rows


def first_calls() -> list[dict[str, Any]]:
    """What the first `project` and `pull` cost: once ever, and once in each later process."""
    script = "from bochner import ops; print(ops.first_call_seconds())"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        took = [
            float(subprocess.check_output([sys.executable, "-c", script], env=environment))
            for _ in range(2)
        ]
    whats = ("first call ever, which compiles, seconds", "first call of a process, seconds")
    return [row(what, one, None, None) for what, one in zip(whats, took, strict=True)]


def run() -> list[dict[str, Any]]:
    measured = (r for d in PROJECT_TARGETS for r in products(d))
    return [*first_calls(), *memory(), *measured, *growth()]
