"""Streaming: the same `project` over rows in memory, in a memory map and in Parquet files.

2,000,000 rows x 100 columns of float32 (800 MB), 512 Gaussian candidates, one column of R. The
baseline is the same rows in memory, read block by block as any source is. Throughput is compared
in one process in alternating blocks; resident memory is the peak of a process of its own that
only streams. The files are written first, so the page cache of the system may hold them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import timing
from bochner import FeatureMap, scan, statistics
from bochner.families import Gaussian
from bochner.rows import MemorySource, RowSource

ROWS, COLUMNS, CANDIDATES = 2_000_000, 100, 512
RESIDENT_MB = 1024.0


def feature_map() -> FeatureMap:
    rng = np.random.default_rng(0)
    return FeatureMap.uniform(Gaussian(10.0), CANDIDATES, COLUMNS, rng)


def write(folder: Path, rows: int) -> tuple[Path, Path, Path]:
    """The rows as a memory map with its targets, and as Parquet with a target column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X_path, y_path, parquet = folder / "X.npy", folder / "y.npy", folder / "rows.parquet"
    X = np.lib.format.open_memmap(X_path, "w+", np.float32, (rows, COLUMNS))
    y = np.empty(rows, dtype=np.float32)
    rng, names = np.random.default_rng(0), [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([(name, pa.float32()) for name in [*names, "y"]])
    with pq.ParquetWriter(parquet, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, 100_000):
            part = slice(start, min(start + 100_000, rows))
            X[part] = rng.standard_normal(X[part].shape, dtype=np.float32)
            y[part] = np.sign(X[part, 0])
            columns = [*X[part].T, y[part]]
            writer.write_table(pa.table([pa.array(c) for c in columns], schema=schema))
    X.flush()
    np.save(y_path, y)
    return X_path, y_path, parquet


def open_source(kind: str, folder: Path) -> RowSource:
    if kind == "parquet":
        return scan(folder / "rows.parquet", target="y")
    mode = "r" if kind == "memory map" else None
    X = np.load(folder / "X.npy", mmap_mode=mode)
    return MemorySource(X, np.load(folder / "y.npy"))


def one_pass(source: RowSource, fm: FeatureMap) -> np.ndarray:
    return statistics.project(source, fm)


def peak_megabytes() -> float:
    """The high-water mark of this process (getrusage would report its parent's as well)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def resident(kind: str, folder: Path) -> dict[str, float]:
    """Peak resident megabytes of a process that streams once, all of it, and only its growth."""
    code = (
        "import sys; from pathlib import Path\n"
        "from benchmarks import stream\n"
        "fm, folder = stream.feature_map(), Path(sys.argv[2])\n"
        "stream.one_pass(stream.MemorySource(stream.np.zeros((9, stream.COLUMNS), 'f4'),"
        " stream.np.ones(9)), fm)\n"
        "before = stream.peak_megabytes()\n"
        "stream.one_pass(stream.open_source(sys.argv[1], folder), fm)\n"
        "print(stream.peak_megabytes(), stream.peak_megabytes() - before)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, kind, str(folder)], capture_output=True, text=True, check=True
    )
    total, growth = map(float, run.stdout.split())
    return {"total": total, "growth": growth}


def run(rows: int = ROWS) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        fm = feature_map()
        kinds = ("memory", "memory map", "parquet")
        sources = {kind: open_source(kind, folder) for kind in kinds}
        results = {kind: one_pass(source, fm) for kind, source in sources.items()}
        for kind in kinds[1:]:  # a fast wrong answer is no answer
            difference = np.linalg.norm(results[kind] - results["memory"])
            assert difference <= 1e-6 * np.linalg.norm(results["memory"]), (kind, difference)
        calls = {kind: (lambda s=source: one_pass(s, fm)) for kind, source in sources.items()}
        seconds = timing.alternate(calls, blocks=3, repeats=2)
        table = []
        for kind, target in (("memory map", 1 / 0.85), ("parquet", None)):
            what = f"{rows:,} x {COLUMNS} from a {kind}, against memory, s"
            ratio = timing.row(what, seconds[kind], seconds["memory"], target)
            table.append({**ratio, "throughput": seconds["memory"] / seconds[kind]})
        for kind in kinds[1:]:
            megabytes = resident(kind, folder)
            what = f"resident memory while streaming a {kind}, MB"
            row = timing.row(what, megabytes["total"], None, RESIDENT_MB)
            table.append({**row, "growth_mb": megabytes["growth"]})
        return table
