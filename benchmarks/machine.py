"""The circumstances of a run: what a ratio depends on."""

from __future__ import annotations

import datetime as dt
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bochner.ops import usable_threads


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions() -> str:
    found = [f"python {platform.python_version()}"]
    for name in ("bochner", "numpy", "scipy", "scikit-learn", "numba", "pyarrow"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def blas() -> str:
    import scipy.linalg  # noqa: F401  (so that its BLAS is seen as well)
    from threadpoolctl import threadpool_info

    libraries = [i for i in threadpool_info() if i["user_api"] == "blas"]
    names = ("internal_api", "version", "architecture")
    return ", ".join(
        " ".join(str(i.get(name) or "") for name in names) + f" x{i['num_threads']}"
        for i in libraries
    )


def circumstances() -> dict[str, Any]:
    return {
        "machine": f"{processor()}, {platform.system()} {platform.machine()}",
        "date": dt.date.today().isoformat(),
        "versions": versions(),
        "blas": blas(),
        "threads": usable_threads(),
    }
