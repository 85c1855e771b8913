"""Online news popularity: the number of shares, and whether an article is popular."""

from __future__ import annotations

from ..result import Result
from ._shahrampour import Row, compared
from ._shahrampour_shown import MEAN

SIZES = (20, 60, 100, 200)


def scale(result: Result) -> list[str]:
    """What the paper prints, and why no figure here can be held against it."""
    means = [line for line in result.where(method=MEAN) if line.score.startswith("relative")]
    return [
        "the paper prints 3.08 (RKS), 2.07 (LKRF), 1.63 (EERF), 0.57 (MFGA), 0.23 (GK) and 0.14 % "
        'for an "error" that it does not define; '
        f"ours: the mean of y alone has {line.mean:.2f} % on {line.data}"
        for line in means
    ]


EXPERIMENT = compared(
    "shahrampour_news",
    "online news popularity",
    (
        Row("online_news", SIZES, 20_000, 0.3, seeds=2, most_rows=4000, wider=4000),
        Row("online_news_shares", SIZES, 20_000, 0.3, seeds=2, most_rows=4000, wider=4000),
    ),
    scale,
)
