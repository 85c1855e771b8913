"""Figure 2 of Letarte et al. 2019: error against the share of rows that are landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .. import Experiment, Picture, Result, Split, Trial, pictures
from ..landmarks import KernelSVM, LandmarkModel
from ._letarte import PAPER_GAMMAS, SVM, split_of

BETAS = (0.3, 1.0, 3.0)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.25)
NAMES = {"RBF-R": "random", "RBF-C": "kmeans", "PB-R": "random", "PB-C": "kmeans"}


@lru_cache(maxsize=16)
def split(quick: bool, seed: int) -> Split:
    """The same object for every share, so that the SVM is fitted once."""
    return split_of("internet_ads", False, quick, seed)


def trials(quick: bool) -> Sequence[Trial]:
    def one(share: float) -> Trial:
        methods = [
            LandmarkModel(name, (64,) if learned else (), BETAS if learned else (1.0,), share, kind)
            for name, kind in NAMES.items()
            for learned in [name.startswith("PB")]
        ]
        return Trial(
            lambda seed: split(quick, seed),
            [KernelSVM(SVM, PAPER_GAMMAS), *methods],
            seeds=range(1 if quick else 10),
            point={"landmarks, %": 100 * share},
        )

    return [one(share) for share in ((0.05, 0.25) if quick else SHARES)]


def curve(result: Result) -> Any:
    figure, axes = pictures.figure()
    pictures.curves(axes, result, "landmarks, %", list(NAMES))
    svm = result.where(method=SVM)[0].mean
    axes.axhline(svm, color="#222222", lw=0.8)
    axes.text(1, svm, "SVM", va="bottom", fontsize=7)
    axes.set(title="internet ads (1,966 distinct rows)", ylim=(0, None))
    return figure


def findings(result: Result) -> list[str]:
    """How often learning helps, and how much it varies from split to split."""
    pairs = [("RBF-R", "PB-R"), ("RBF-C", "PB-C")]
    found = []
    for plain, learned in pairs:
        gains = [
            a.mean - b.mean
            for a, b in zip(result.where(method=plain), result.where(method=learned), strict=True)
        ]
        better = sum(gain > 0 for gain in gains)
        found.append(
            f"{learned} is better than {plain} at {better} of {len(gains)} shares, by "
            f"{min(gains):.2f} to {max(gains):.2f} %"
        )
    return found


EXPERIMENT = Experiment(
    "letarte_ads",
    "Letarte, Morvant & Germain 2019, figure 2: how many landmarks",
    "Landmarks by lot (-R) or centroids (-C); the kernel itself (RBF) or learned similarities of "
    "64 frequencies (PB); prior, beta and the penalty of ridge regression on signs (the "
    "paper: a linear SVM) by held-out rows, columns "
    "as they come. The rows are those distinct ones that could be recovered of the paper's set.",
    trials,
    (Picture("landmarks", curve),),
    findings,
)
