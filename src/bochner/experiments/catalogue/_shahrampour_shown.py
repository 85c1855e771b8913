"""What pages of Shahrampour & Tarokh show under their tables: figure 1, and what follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import Result, of_curve, pictures
from ..curve import BETWEEN

RKS, LKRF, EERF, MFGA = "RKS", "LKRF", "EERF", "MFGA"
WIDER, MEDIAN = "greedy, Fourier too", "MFGA, median bandwidth"
RAW, CENTRED = "MFGA, raw gradient", "EERF, centred"
LINEAR, MEAN = "plain linear model", "mean of y"
FOUR = (RKS, LKRF, EERF, MFGA)


def picture(result: Result) -> Any:
    """Figure 1: a curve a method; exact kernels and linear models as lines across."""
    data = list(dict.fromkeys(line.data for line in result.lines))
    figure, axes = pictures.figure(len(data), width=5.2)
    for one, name in zip(np.atleast_1d(axes), data, strict=True):
        _curves(one, result, name)
    told = [axis.get_legend_handles_labels() for axis in np.atleast_1d(axes)]
    shown = {label: handle for found in told for handle, label in zip(*found, strict=True)}
    figure.legend(
        shown.values(), shown.keys(), loc="outside right upper", frameon=False, fontsize=8
    )
    return figure


def _curves(axes: Any, result: Result, data: str) -> None:
    lines = result.where(data=data)
    at_sizes = [line for line in lines if BETWEEN in line.method]
    last = MEDIAN if _at(result, data, MEDIAN) else CENTRED
    shown = [name for name in (*FOUR, WIDER, last) if _at(result, data, name)]
    for name, colour in zip(shown, pictures.COLOURS, strict=False):
        own = sorted((x for x in at_sizes if of_curve(x) == name), key=lambda x: x.n_features or 0)
        x, y = [line.n_features for line in own], [line.mean for line in own]
        errors = [line.standard_error or 0.0 for line in own]
        axes.errorbar(x, y, errors, color=colour, marker="o", ms=3.5, label=name)
    for line, style in zip(
        (x for x in lines if BETWEEN not in x.method and x.method != MEAN),
        ("--", ":", "-"),
        strict=False,
    ):
        axes.axhline(line.mean, color="#222222", lw=0.9, ls=style, label=line.method)
    axes.set(title=data, xlabel="features M", ylabel=lines[0].score)


def findings(result: Result) -> list[str]:
    """Who is lowest where, and how much of it is linear columns alone."""
    found = []
    for data in dict.fromkeys(line.data for line in result.lines):
        found += [_lowest(result, data), _columns(result, data), _against_linear(result, data)]
        found.append(_normalised(result, data))
    return found


def _at(result: Result, data: str, name: str) -> dict[int, Any]:
    """The lines of a curve by the size asked for."""
    lines = (x for x in result.where(data=data) if BETWEEN in x.method and of_curve(x) == name)
    return {int(line.method.split(BETWEEN)[1]): line for line in lines}


def largest(result: Result, data: str, name: str) -> Any:
    """The line of a curve at its largest M."""
    at = _at(result, data, name)
    return at[max(at)]


def _lowest(result: Result, data: str) -> str:
    curves = {name: _at(result, data, name) for name in FOUR}
    sizes = sorted(curves[MFGA])
    means = {M: {name: curves[name][M].mean for name in FOUR} for M in sizes}
    best = {M: min(of, key=of.__getitem__) for M, of in means.items()}
    for M, line in _at(result, data, CENTRED).items():
        if line.mean < means[M][best[M]]:
            best[M] = CENTRED
    won = [M for M in sizes if best[M] == MFGA]
    others = ", ".join(f"{best[M]} at {M}" for M in sizes if best[M] != MFGA)
    return (
        f"{data}: of the paper's feature methods MFGA is lowest at {len(won)} of {len(sizes)} sizes"
        + (f"; {others}" if others else "")
    )


def _columns(result: Result, data: str) -> str:
    kept = {name: largest(result, data, name).stats.get("columns") for name in (MFGA, WIDER)}
    told = [
        f"{name} {value[0] if isinstance(value, list) else value}"
        for name, value in kept.items()
        if value
    ]
    return f"{data}: columns chosen at the largest M (first repetition): {'; '.join(told)}"


def _normalised(result: Result, data: str) -> str:
    """What dividing columns by their deviation does, size by size."""
    ours, raw = _at(result, data, MFGA), _at(result, data, RAW)
    told = ", ".join(f"{raw[M].mean - ours[M].mean:+.2f} at {M}" for M in sorted(ours))
    return f"{data}: selection by the raw gradient less that of columns of deviation 1, %: {told}"


def _against_linear(result: Result, data: str) -> str:
    (plain,) = result.where(data=data, method=LINEAR)
    line = largest(result, data, MFGA)
    gain = plain.mean - line.mean
    return (
        f"{data}: the plain linear model on all {plain.n_features:.0f} columns has "
        f"{plain.mean:.2f} %, MFGA at M = {line.n_features:.0f} {line.mean:.2f} %: "
        + (
            f"{gain:.2f} % is what its other features add to linear ones"
            if gain >= 0.05
            else "its other features add nothing to linear ones"
        )
    )
