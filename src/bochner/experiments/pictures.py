"""Plots of a result; matplotlib is imported when one is drawn, and not before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..rows.optional import need
from .result import Result

COLOURS = ("#d1495b", "#30638e", "#8d99ae", "#3d7a4f", "#b07d2b", "#222222")


def figure(
    columns: int = 1, height: float = 3.6, width: float = 4.6, rows: int = 1
) -> tuple[Any, Any]:
    """A figure with so many axes in a row, in the house style, without a display.

    Of several rows the axes are an array, rows x columns; ``height`` is of all together.
    """
    need("matplotlib", "plot", "a picture of an experiment")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height), layout="constrained")
    FigureCanvasAgg(made)
    grid = made.subplots(rows, columns, squeeze=False)
    for one in grid.flat:
        one.grid(alpha=0.25)
        one.spines[["top", "right"]].set_visible(False)
    if rows > 1:
        return made, grid
    return made, grid[0][0] if columns == 1 else grid[0]


def curves(
    axes: Any, result: Result, x: str, methods: Sequence[str] | None = None, **point: Any
) -> None:
    """Mean and standard error against ``x``: a name of ``point``, or "features"."""
    lines = result.where(**point)
    names = methods or list(dict.fromkeys(line.method for line in lines))
    for name, colour in zip(names, COLOURS * len(names), strict=False):
        of = [line for line in lines if line.method == name]
        found = sorted((_place(line, x), line.mean, line.standard_error or 0.0) for line in of)
        if found:
            places, means, errors = zip(*found, strict=True)
            axes.errorbar(places, means, errors, color=colour, marker="o", ms=3.5, label=name)
    axes.set(xlabel=x, ylabel=lines[0].score if lines else "")
    axes.legend(frameon=False, fontsize=8)


def save(result: Result, folder: Path) -> list[str]:
    """All pictures as PNG and SVG in a folder; the names of the PNG files."""
    made = []
    for picture in result.experiment.pictures:
        drawn = picture.draw(result)
        stem = f"{result.experiment.name}_{picture.name}"
        drawn.savefig(folder / f"{stem}.png", dpi=110)
        drawn.savefig(folder / f"{stem}.svg", metadata={"Date": None})
        made.append(f"{stem}.png")
    return made


def _place(line: Any, x: str) -> float:
    return float(line.n_features if x == "features" else line.point[x])
