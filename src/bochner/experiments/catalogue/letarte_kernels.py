"""Figure 3 of Letarte et al. 2019: error against the number of frequencies drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import Experiment, Picture, Result, Split, Trial, pictures
from ..drawn import Drawn
from ..landmarks import KernelSVM
from ._letarte import GAMMAS, SVM, split_of

KINDS = {"random": "uniform", "pseudo-posterior": "posterior", "aligned": "aligned"}
SIZES = {
    "breast": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000),
    "mnist49": (1, 2, 5, 10, 20, 50, 100, 200, 500),
}
SPLITS = {"breast": 12, "mnist49": 2}
#: Test errors at D of a re-run over 12 splits with scaled features: random, learned, aligned.
BEFORE = {
    ("breast", 5): (9.0, 5.7, 4.5),
    ("breast", 20): (4.2, 3.8, 3.3),
    ("mnist49", 20): (13.2, 9.8, 9.3),
}


@lru_cache(maxsize=16)
def split(name: str, quick: bool, seed: int) -> Split:
    """The same object for every D, so that losses are made once."""
    return split_of(name, True, quick, seed)


def trials(quick: bool) -> Sequence[Trial]:
    made = []
    for name in ("breast",) if quick else SIZES:
        for D in (5, 20) if quick else SIZES[name]:
            N = 2000 if quick else 20_000
            few = 3 if name == "breast" else 1
            methods: list[Any] = [
                Drawn(told, kind, D, N, choices=few) for told, kind in KINDS.items()
            ]
            made.append(
                Trial(
                    lambda seed, name=name: split(name, quick, seed),  # type: ignore[misc]
                    [KernelSVM(SVM, GAMMAS, choices=few), *methods],
                    seeds=range(1 if quick else SPLITS[name]),
                    point={"D": D},
                )
            )
    return made


def curve(result: Result) -> Any:
    """Test error in full lines, training error in dashed ones."""
    names = list(dict.fromkeys(line.data for line in result.lines))
    figure, axes = pictures.figure(len(names))
    for name, one in zip(names, np.atleast_1d(axes), strict=True):
        pictures.curves(one, result, "D", list(KINDS), data=name)
        for method, colour in zip(KINDS, pictures.COLOURS, strict=False):
            lines = result.where(data=name, method=method)
            train = [100.0 * float(np.mean(line.stats["train error"])) for line in lines]
            one.plot([line.point["D"] for line in lines], train, color=colour, ls="--", lw=1)
        svm = result.where(data=name, method=SVM)[0].mean
        one.axhline(svm, color="#222222", lw=0.8)
        one.text(1, svm, "SVM", va="bottom", fontsize=7)
        one.set(xscale="log", title=f"{name} (dashed: training rows)", ylim=(0, None))
    return figure


def findings(result: Result) -> list[str]:
    """Against a former run of the same comparison, where there is one."""
    found = []
    for (name, D), figures in BEFORE.items():
        for method, before in zip(("random", "pseudo-posterior", "aligned"), figures, strict=True):
            for line in result.where(data=name, method=method, D=D):
                found.append(
                    f"{name}, D = {D}, {method}: {line.mean:.2f} % (an earlier re-run: {before} %)"
                )
    return found


EXPERIMENT = Experiment(
    "letarte_kernels",
    "Letarte, Morvant & Germain 2019, figure 3: frequencies drawn from a learned measure",
    "N = 20,000 frequencies of the prior (the bandwidth that an SVM chooses on held-out rows), D "
    "drawn with replacement from it, from the pseudo-posterior, or from the aligned measure; 2 D "
    "columns, ridge regression on signs. Beta, rho and the penalty are chosen on a fifth of (at "
    "most 3,000 of) the training rows for each D, on breast on three such. Columns are "
    "standardised (breast) or ink (mnist).",
    trials,
    (Picture("error", curve),),
    findings,
)
