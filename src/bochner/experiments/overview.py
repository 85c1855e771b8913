"""One page over all results that were kept: every figure of a paper beside ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from .describe import Figure
from .result import Line
from .tables import HEADS, cells

HEAD = """# Results: ours beside the papers

Made by `python -m bochner.experiments --overview FOLDER` from the JSON files of that folder;
nothing is typed by hand. Shown are the lines for which a paper prints a figure; less is better. The
pages have all others, among them plain linear models and tuned baselines, and say which data are a
part of the original or stand in for it. A figure is reached where the mean of ours is not above it.
"""
SHOWN = HEADS[: HEADS.index("reached") + 1]


def overview(folder: Path) -> str:
    """The page, with a section for each result that has figures of a paper."""
    sections, reached = [], []
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        lines = [line for line in map(_line, result["lines"]) if line.reached is not None]
        reached += [line.reached for line in lines]
        if lines:
            sections.append("\n".join(_section(path.stem, result["title"], lines)))
    total = f"{sum(map(bool, reached))} of {len(reached)} figures are reached.\n"
    return "\n".join([HEAD, total, *sections])


def _line(stored: Mapping[str, Any]) -> Line:
    known = {field.name: stored[field.name] for field in fields(Line) if field.name in stored}
    paper = known["paper"]
    if paper is not None and paper["where"] == "delta":  # what a bound allows, not a paper's figure
        paper = None
    return Line(**{**known, "paper": None if paper is None else Figure(**paper)})


def _section(name: str, title: str, lines: list[Line]) -> Iterator[str]:
    yield f"## [{title}]({name}.md)\n"
    for row in ([*SHOWN], ["---"] * len(SHOWN), *(cells(line)[: len(SHOWN)] for line in lines)):
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"
    yield ""
