"""What this machine can do for bochner, in one page: `print(bochner.doctor())`."""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

CORE = ("bochner", "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")
EXTRAS = {
    "dask": ("dask", "distributed"),
    "gpu": ("torch",),
    "onnx": ("onnx", "onnxruntime"),
    "parquet": ("pyarrow",),
    "plot": ("matplotlib",),
}
#: Values of OPENBLAS_CORETYPE that ask for AVX-512, in lower case.
AVX512_KERNELS = ("skylakex", "cooperlake", "sapphirerapids")


@dataclass(frozen=True)
class Report:
    """The findings of `doctor`; ``str`` is the page, `to_dict` the facts."""

    versions: dict[str, str | None]
    extras: dict[str, bool]
    blas: list[dict[str, Any]]
    threads: int
    cpu: str
    gpu: str | None
    speed: dict[str, float] = field(default_factory=dict)
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            "versions  " + ", ".join(f"{k} {v or 'missing'}" for k, v in self.versions.items())
        ]
        lines += [f"cpu       {self.cpu}, {self.threads} threads for bochner"]
        for lib in self.blas:
            lines.append(
                f"blas      {lib['name']} {lib['version']}, {lib['kernel']} kernels, "
                f"{lib['threads']} threads ({lib['file']})"
            )
        lines.append(f"gpu       {self.gpu or 'none found'}")
        lines.append("extras    " + ", ".join(f"{k}: {_yes(v)}" for k, v in self.extras.items()))
        lines += [f"speed     {name}: {value:.3g}" for name, value in self.speed.items()]
        lines += [f"advice    {line}" for line in self.advice] or ["advice    nothing to change"]
        return "\n".join(lines)


def doctor(*, seconds: float = 10.0) -> Report:
    """Look at versions, BLAS, threads, GPU and extras, and measure for about ``seconds``.

    ``seconds=0`` skips the measurement.

    Examples
    --------
    >>> import bochner
    >>> report = bochner.doctor(seconds=0)
    >>> report.threads >= 1
    True
    """
    from .ops.pool import usable_threads

    blas = blas_libraries()
    speed = measure(seconds) if seconds > 0 else {}
    return Report(
        versions={name: _version(name) for name in ("python", *CORE)},
        extras={k: all(_version(p) for p in packages) for k, packages in EXTRAS.items()},
        blas=blas,
        threads=usable_threads(),
        cpu=_cpu_name(),
        gpu=_gpu(),
        speed=speed,
        advice=tuple(_advice(blas, usable_threads())),
    )


def blas_libraries() -> list[dict[str, Any]]:
    """The BLAS libraries loaded, with the kernels that they picked for this processor."""
    import scipy.linalg  # noqa: F401 - SciPy brings a BLAS of its own: load it before looking
    from threadpoolctl import threadpool_info

    return [
        {
            "name": info["internal_api"],
            "version": info.get("version") or "unknown",
            "kernel": info.get("architecture") or "unknown",
            "threads": info["num_threads"],
            "file": Path(info["filepath"]).name,
        }
        for info in threadpool_info()
        if info["user_api"] == "blas"
    ]


def measure(seconds: float) -> dict[str, float]:
    """Nanoseconds an element of a plain product and of `project`, in alternating blocks."""
    from . import ops
    from .families import Gaussian

    rng = np.random.default_rng(0)
    n, d, m = 4096, 64, 4096
    X = rng.standard_normal((n, d)).astype(np.float32)
    R = rng.standard_normal((n, 1)).astype(np.float32)
    projection = Gaussian(bandwidth=8.0).draw(m, d, rng)
    W = np.ascontiguousarray(projection.operator.to_matrix().T, dtype=np.float32)
    Z = np.empty((n, m), dtype=np.float32)
    first = _seconds(lambda: ops.project(X, projection, R))
    contestants = {
        "plain product, ns an element": lambda: np.matmul(X, W, out=Z),
        "project, ns an element": lambda: ops.project(X, projection, R),
    }
    best = dict.fromkeys(contestants, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in contestants.items():
            time.sleep(0.1)  # let the other's threads stop spinning
            call()
            best[name] = min(best[name], *(_seconds(call) for _ in range(3)))
    figures = {name: value / (n * m) * 1e9 for name, value in best.items()}
    return {"first call of project (with compilation), s": first, **figures}


def _seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _advice(blas: list[dict[str, Any]], threads: int) -> list[str]:
    lines = []
    old = [b for b in blas if b["name"] == "openblas" and b["kernel"] in ("Haswell", "Zen")]
    chosen = os.environ.get("OPENBLAS_CORETYPE", "")
    if old and "avx512f" in _cpu_flags() and chosen.lower() not in AVX512_KERNELS:
        given = f" because OPENBLAS_CORETYPE is {chosen!r}" if chosen else ""
        lines.append(
            f"this processor has AVX-512 but OpenBLAS uses {old[0]['kernel']} kernels{given}: "
            "setting OPENBLAS_CORETYPE=SkylakeX before Python starts can double the speed of "
            "products"
        )
    cores = os.cpu_count() or 1
    if threads < cores and not os.environ.get("BOCHNER_NUM_THREADS"):
        lines.append(f"this process may use {threads} of {cores} processors (affinity or quota)")
    return lines


def _version(package: str) -> str | None:
    if package == "python":
        return platform.python_version()
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith("flags"):
            return frozenset(line.split(":", 1)[1].split())
    return frozenset()


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    """The name of the GPU, without importing torch when it is not there."""
    if _version("torch") is None:
        return None
    torch: Any = sys.modules.get("torch") or __import__("torch")
    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else None


def _yes(value: bool) -> str:
    return "yes" if value else "no"
