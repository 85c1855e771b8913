"""Figure 1 and table 2 of Shahrampour & Tarokh 2018: error against M for the data there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV

from ...datasets import Dataset, load
from ...families import Gaussian, Linear, Taylor, Union
from ...learners import Alignment, Energy, Greedy
from .. import (
    ERROR_PERCENT,
    RELATIVE,
    Experiment,
    Figure,
    Model,
    Penalised,
    Picture,
    Result,
    Split,
    Trial,
    by_group,
    curve,
    of_curve,
    official,
    pictures,
    shuffled,
)
from ..curve import BETWEEN
from ..kernel_machines import gaussian, gaussian_and_linear
from ..splits import part_of, standardised

RKS, LKRF, EERF, MFGA = "RKS", "LKRF", "EERF", "MFGA"
WIDER = "greedy, Fourier too"
LINEAR, MEAN = "plain linear model", "mean of y"
FOUR = (RKS, LKRF, EERF, MFGA)
LOGISTIC = Penalised("logistic", (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3), tol=1e-7)
RIDGE = Penalised("ridge", tuple(10.0 ** (k / 2) for k in range(-18, -3)))
QUICK_ROWS = 600
TABLE = "table 2"


@dataclass(frozen=True)
class Row:
    """A data set of table 2 (or beside it), with its sizes M, M_0 and N_0 / N."""

    data: str
    sizes: tuple[int, ...]
    m_0: int  # candidates of LKRF and EERF
    share: float  # of the rows, for exact kernels
    seeds: int = 3
    groups: bool = False  # split by recording
    printed: Mapping[str, float] | None = None
    most_rows: int = 8000


def split_of(row: Row, quick: bool, seed: int) -> Split:
    """Standard columns, and amounts scaled to [-1, 1]: all of it as the training rows say."""
    data = load(row.data)
    if quick:
        data = _part(data, 4 * QUICK_ROWS, seed)
    split = official(data) if data.test is not None else _split(row, data, seed)
    if quick:
        split = replace(part_of(split, QUICK_ROWS, seed), name=f"{data.name}, {QUICK_ROWS} rows")
    split = split.scaled(_filled).scaled(standardised)
    if row.groups:
        split = replace(split, name=f"{split.name}, by recording")
    if split.task == "classification":
        return split
    low, high = float(split.y.min()), float(split.y.max())
    y, y_test = (2.0 * (y - low) / (high - low) - 1.0 for y in (split.y, split.y_test))
    return replace(split, y=y, y_test=y_test)


def _split(row: Row, data: Dataset, seed: int) -> Split:
    return by_group(data, seed) if row.groups else shuffled(data, seed)


def _part(data: Dataset, n: int, seed: int) -> Dataset:
    """Some rows, where that does not touch an official split or groups."""
    if data.test is not None or data.groups is not None or len(data.y) <= n:
        return data
    rows = np.random.default_rng(seed).permutation(len(data.y))[:n]
    return replace(data, X=data.X[rows], y=data.y[rows])


def _filled(X: Any) -> Callable[[Any], Any]:
    """Missing numbers as the medians of the training rows."""
    with np.errstate(invalid="ignore"):
        medians = np.nanmedian(X, axis=0)
    return lambda A: np.where(np.isnan(A), medians, A).astype(A.dtype)


def methods(row: Row, task: str, quick: bool) -> list[Any]:
    """All of table 2, plain linear models, and the greedy learner on one dictionary more."""
    classes = task == "classification"
    head, most = (LOGISTIC if classes else RIDGE), max(row.sizes)
    m_0 = min(row.m_0, 300) if quick else row.m_0
    near = Gaussian("neighbours")
    explicit = [Taylor(1, "neighbours"), Linear()] if classes else [Taylor(2, "neighbours")]
    greedy = Greedy(max(1, most // 10) if classes else 1)
    top = Alignment(1.0 / (4.0 * most), use="top")

    def of(name: str, family: Any, learner: Any, candidates: Any) -> list[Any]:
        return list(curve(name, family, learner, candidates, row.sizes, head))

    return [
        *of(RKS, near, "uniform", most),
        *of(LKRF, near, top, max(m_0, most)),
        *of(EERF, near, Energy(), max(m_0, most)),
        *of(MFGA, Union(explicit), greedy, "all"),
        *of(WIDER, Union([*explicit, near]), greedy, 3 * m_0 if classes else 2 * m_0),
        gaussian(row.share, row.most_rows),
        gaussian_and_linear(row.share, row.most_rows),
        *linear_models(classes),
    ]


def linear_models(classes: bool) -> list[Any]:
    """On the standardised columns as they are."""

    def size(model: Any) -> int:
        return int(model.coef_.shape[-1])

    if classes:
        grid = {"C": (1e-3, 1e-2, 1e-1, 1.0)}
        return [Model(LINEAR, lambda seed: LogisticRegression(max_iter=2000), grid, size=size)]
    ridge = Model(LINEAR, lambda seed: RidgeCV(tuple(10.0**k for k in range(-3, 6))), size=size)
    return [ridge, Model(MEAN, lambda seed: DummyRegressor())]


def trial(row: Row, quick: bool) -> Trial:
    """A seed is another draw of random features, and another split where none is official."""
    small = replace(row, sizes=row.sizes[-2:], most_rows=300) if quick else row
    task = "regression" if row.data in AMOUNTS else "classification"
    most = max(row.sizes)
    paper = {
        name if name in ("GK", "GLK") else f"{name}{BETWEEN}{most}": Figure(value, TABLE)
        for name, value in (row.printed or {}).items()
    }
    return Trial(
        lambda seed: split_of(row, quick, seed),
        methods(small, task, quick),
        {} if quick else paper,
        seeds=range(1 if quick else row.seeds),
        score=RELATIVE if task == "regression" else ERROR_PERCENT,
    )


AMOUNTS = ("online_news_shares", "year", "california_housing", "kin8nm")


def printed(*figures: float) -> dict[str, float]:
    """A column of table 2."""
    return dict(zip((*FOUR, "GK", "GLK"), figures, strict=True))


# --- what is shown ---


def picture(result: Result) -> Any:
    """Figure 1: a curve a method; exact kernels and linear models as lines across."""
    data = list(dict.fromkeys(line.data for line in result.lines))
    figure, axes = pictures.figure(len(data))
    for one, name in zip(np.atleast_1d(axes), data, strict=True):
        _curves(one, result, name)
    return figure


def _curves(axes: Any, result: Result, data: str) -> None:
    lines = result.where(data=data)
    at_sizes = [line for line in lines if BETWEEN in line.method]
    for name, colour in zip((*FOUR, WIDER), pictures.COLOURS, strict=False):
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
    axes.legend(frameon=False, fontsize=7)


def findings(result: Result) -> list[str]:
    """Who is lowest where, and how much of it is linear columns alone."""
    found = []
    for data in dict.fromkeys(line.data for line in result.lines):
        found += [_lowest(result, data), _columns(result, data), _against_linear(result, data)]
    return [sentence for sentence in found if sentence]


def _at(result: Result, data: str, name: str) -> dict[int, Any]:
    """The lines of a curve by the size asked for."""
    lines = (x for x in result.where(data=data) if BETWEEN in x.method and of_curve(x) == name)
    return {int(line.method.split(BETWEEN)[1]): line for line in lines}


def _lowest(result: Result, data: str) -> str:
    curves = {name: _at(result, data, name) for name in FOUR}
    sizes = sorted(curves[MFGA])
    means = {M: {name: curves[name][M].mean for name in FOUR} for M in sizes}
    best = {M: min(of, key=of.__getitem__) for M, of in means.items()}
    won = [M for M in sizes if best[M] == MFGA]
    others = ", ".join(f"{best[M]} at {M}" for M in sizes if best[M] != MFGA)
    return (
        f"{data}: of the four feature methods MFGA is lowest at {len(won)} of {len(sizes)} sizes"
        + (f"; {others}" if others else "")
    )


def _columns(result: Result, data: str) -> str:
    kept = {
        name: line.stats.get("columns")
        for name in (MFGA, WIDER)
        if (at := _at(result, data, name)) and (line := at[max(at)])
    }
    told = [
        f"{name} {value[0] if isinstance(value, list) else value}"
        for name, value in kept.items()
        if value
    ]
    return f"{data}: columns chosen at the largest M (first repetition): {'; '.join(told)}"


def _against_linear(result: Result, data: str) -> str:
    (plain,) = result.where(data=data, method=LINEAR)
    at = _at(result, data, MFGA)
    line = at[max(at)]
    return (
        f"{data}: the plain linear model on all {plain.n_features:.0f} columns has "
        f"{plain.mean:.2f} %, MFGA at M = {max(at)} {line.mean:.2f} %: the difference, "
        f"{plain.mean - line.mean:+.2f} %, is all that is not linear features alone"
    )


def compared(
    name: str,
    what: str,
    rows: Sequence[Row],
    more: Callable[[Result], Sequence[str]] = lambda result: (),
) -> Experiment:
    """An experiment of some data sets of table 2."""
    return Experiment(
        name,
        f"Shahrampour & Tarokh 2018, figure 1 and table 2: {what}",
        "Columns are standardised; Gaussian bandwidth: mean distance to the 50th nearest "
        "neighbour; M_0, M and N_0 / N of table 2 (at most 8,000 rows for exact kernels). "
        "Candidates of MFGA: first-order Taylor and linear columns for classes, the second-order "
        "Taylor map for amounts. Penalties are chosen on a quarter of the training rows (the "
        'paper says "we tune the regularization and report the best result", apparently on test '
        'rows). "features, s" is the learning of all M features at the largest M (one fit for all '
        'sizes), "head, s" the training on them.',
        lambda quick: [trial(row, quick) for row in rows[: 1 if quick else None]],
        (Picture("error", picture),),
        lambda result: [*findings(result), *more(result)],
    )
