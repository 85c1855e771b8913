"""The lines of tables 3 to 6 of Sinha & Duchi 2016 for the data there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...datasets import load
from ...families import ArcCosine, Gaussian, Linear
from ...learners import Alignment
from .. import (
    Experiment,
    Features,
    Figure,
    Penalised,
    Result,
    SizeOf,
    Split,
    Trial,
    official,
    shuffled,
)
from ..bounded import Bounded
from ..splits import part_of, standardised

OURS = "alignment, D = nnz"
SAME, TEN = "random features, D = nnz", "random features, D = 10 nnz"
BOUNDED = "problem (7), D = nnz"
TUNED, ALL = "alignment, radius chosen", "all columns"
RIDGE = Penalised("ridge", tuple(10.0 ** (k / 2) for k in range(-12, -3)))
SPARSE = Penalised("ridge", (1e-5, 1e-4, 10.0**-3.5, 1e-3, 10.0**-2.5, 1e-2))
WIDE = Penalised("ridge", (1e-8, 1e-7, 1e-6, 1e-5))
LOGISTIC = Penalised("logistic", (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3), tol=1e-7)


@dataclass(frozen=True)
class Row:
    """A line of table 3 or 6, with what table 4 or 6 prints for it.

    ``radii`` are shares of N_w to choose from for a line of its own; choices are made on at most
    ``choice_rows`` rows, over so many ``cuts`` of them.
    """

    data: str
    family: Any
    head: Penalised
    ratio: float  # rho / N_w
    n_w: int
    subsample: float
    printed: Mapping[str, float]
    where: str = "table 4"
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    bounded: bool = False
    seeds: int = 3
    radii: tuple[float, ...] = ()
    choice_rows: int = 10_000
    cuts: int = 1


BANDWIDTHS = {"family__bandwidth": (2.0, 4.0, 8.0)}
DIGITS = ("mnist17", "mnist49", "mnist56")


def printed(ours: float, same: float, ten: float) -> dict[str, float]:
    """A line of table 4."""
    return {OURS: ours, SAME: same, TEN: ten}


ADULT = Row(
    "a9a",
    Gaussian(4.0),
    LOGISTIC,
    0.012,
    20_000,
    0.5,
    printed(15.54, 17.51, 16.08),
    grid=BANDWIDTHS,
    bounded=True,
)
ADS = Row(
    "internet_ads",
    Linear(),
    SPARSE,
    0.1,
    1555,
    1.0,
    printed(5.37, 8.05, 3.54),
    seeds=5,
    radii=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    cuts=3,
)
FARM = Row(
    "farm_ads",
    Linear(),
    SPARSE,
    0.005,
    54_877,
    1.0,
    printed(11.58, 23.36, 14.58),
    seeds=5,
    radii=(0.0005, 0.001, 0.002, 0.005),
    cuts=3,
)
REUTERS = Row(
    "rcv1",
    Linear(),
    SPARSE,
    0.0123,
    47_118,
    1.0,
    printed(9.27, 46.49, 23.69),
    seeds=5,
    radii=(0.0005, 0.001, 0.003, 0.0123),
    cuts=3,
)
MNIST = tuple(
    Row(name, ArcCosine(order=2), LOGISTIC, 0.03, 20_000, 0.25, printed(*figures))
    for name, figures in zip(
        DIGITS, ((3.24, 4.44, 1.76), (6.53, 21.55, 4.02), (6.81, 5.89, 3.03)), strict=True
    )
)
WEIGHT = Row(
    "weight_lifting",
    Gaussian(4.0),
    RIDGE,
    0.002,
    20_000,
    0.5,
    printed(13.08, 15.68, 2.89),
    grid=BANDWIDTHS,
    choice_rows=4000,
)
MNIST_LARGE = tuple(
    Row(
        name,
        ArcCosine(order=2),
        WIDE,
        0.001,
        20_000,
        0.5,
        {OURS: figure},
        "table 6",
        seeds=1,
        choice_rows=4000,
    )
    for name, figure in zip(DIGITS, (1.06, 1.91, 1.68), strict=True)
)
WEIGHT_LARGE = Row(
    "weight_lifting",
    Gaussian(4.0),
    WIDE,
    0.00015,
    20_000,
    1.0,
    {OURS: 2.04},
    "table 6",
    grid=BANDWIDTHS,
    seeds=1,
    choice_rows=4000,
)


def split_of(row: Row, quick: bool, seed: int) -> Split:
    """The official split, or three quarters of the rows; Gaussian kernels on standard columns."""
    data = load(row.data)
    split = shuffled(data, seed) if data.test is None else official(data)
    if row.data == "weight_lifting":  # the paper's task: exercise done well (class A) or not
        y, y_test = (split.y == "A").astype(int), (split.y_test == "A").astype(int)
        split = replace(split, y=y, y_test=y_test, groups=None)  # split by row: so are the choices
        split = split.scaled(standardised)
    if quick and len(split.y) > 800:
        split = replace(part_of(split, 800, seed), name=f"{split.name}, 800 rows")
    return split


def share(ratio: float, n_w: int) -> float:
    """The setting ``radius``, of N_w - 1, that is the paper's rho / N_w."""
    return ratio * n_w / (n_w - 1)


def methods(row: Row, quick: bool) -> list[Any]:
    """Ours with table 3's settings, and random features of the same family and head."""
    n_w = min(row.n_w, 2000) if quick and not isinstance(row.family, Linear) else row.n_w
    use = "support" if row.head.kind == "ridge" else "weight"  # appendix C: ridge absorbs sqrt(q)
    learner = Alignment(share(row.ratio, n_w), subsample=row.subsample, use=use)
    more: Any = (row.head, row.grid, row.choice_rows, row.cuts)
    same = SizeOf(OURS)
    made: list[Any] = [
        Features(OURS, row.family, learner, n_w, "all", *more),
        Features(SAME, row.family, "uniform", "auto", same, *more),
    ]
    if TEN in row.printed:
        ten = SizeOf(OURS, 10, row.n_w if isinstance(row.family, Linear) else None)
        made.append(Features(TEN, row.family, "uniform", "auto", ten, *more))
    if row.radii:
        radii = {"learner__radius": [share(ratio, n_w) for ratio in row.radii]}
        tuned = Features(TUNED, row.family, learner, n_w, "all", row.head, radii, *more[2:])
        made += [tuned, Features(ALL, row.family, "uniform", "auto", n_w, *more)]
    if row.bounded:
        made.append(Bounded(BOUNDED, row.family, same))
    return made


def trial(row: Row, quick: bool, make: Callable[[Row, bool], list[Any]]) -> Trial:
    """A seed is another draw of the candidates, and another split where none is official."""
    paper = {name: Figure(value, row.where) for name, value in row.printed.items()}
    return Trial(
        lambda seed: split_of(row, quick, seed),
        make(row, quick),
        {} if quick else paper,
        seeds=range(1 if quick else row.seeds),
        point={"rho/N": row.ratio},
    )


def findings(result: Result) -> list[str]:
    """Whether ours, on a tenth of the features, is as good as random features."""
    found = []
    for line in result.where(method=OURS):
        others = [o for o in result.where(method=TEN, data=line.data) if o.point == line.point]
        for other in others:
            gap = line.mean - other.mean
            found.append(
                f"{line.data}: ours at {line.n_features:.0f} features minus random features at "
                f"{other.n_features:.0f}: {gap:+.2f} %"
            )
    return found


def _cuts(row: Row) -> str:
    return f", over {row.cuts} such cuts" if row.cuts > 1 else ""


def compared(name: str, what: str, rows: Sequence[Row]) -> Experiment:
    """An experiment of some lines of the tables."""
    return Experiment(
        name,
        f"Sinha & Duchi 2016, {what}: alignment against random features",
        "Settings of the paper: base kernel, N_w, rho / N_w, model, share of the rows in problem "
        "(4). Penalties, and the bandwidth of a Gaussian kernel for every method, are chosen on a "
        f"quarter of (at most {rows[0].choice_rows:,} of) the training rows{_cuts(rows[0])}. "
        "Alignment is centred; features keep their weights sqrt(q), except under ridge (appendix "
        "C).",
        lambda quick: [trial(row, quick, methods) for row in rows[: 1 if quick else None]],
        findings=findings,
    )
