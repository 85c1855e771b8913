"""A result as text: a table for the terminal, Markdown, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .result import Line, Result

HEADS = (
    "data",
    "method",
    "ours",
    "s.e.",
    "paper",
    "reached",
    "features",
    "features, s",
    "head, s",
)


def cells(line: Line) -> list[str]:
    """The line as the table shows it; a whole fit that has no stages stands under "head"."""
    at = ", ".join(f"{k} = {_number(v)}" for k, v in line.point.items() if k != "data")
    paper = "" if line.paper is None else f"{line.paper.value:g} ({line.paper.where})"
    reached = {None: "", True: "yes", False: "no"}[line.reached]
    se = "" if line.standard_error is None else f"{line.standard_error:.2g}"
    size = "" if line.n_features is None else f"{line.n_features:.0f}"
    head = line.seconds.get("head", line.seconds.get("fit"))
    return [
        f"{line.data} ({at})" if at else line.data,
        line.method,
        f"{line.mean:.4g}",
        se,
        paper,
        reached,
        size,
        _seconds(line.seconds.get("features")),
        _seconds(head),
    ]


def text(result: Result) -> str:
    """For the terminal."""
    rows = [list(HEADS), *(cells(line) for line in result.lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
    table = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([result.experiment.title, "", *table, "", *_below(result)])


def markdown(result: Result, pictures: Sequence[str] = ()) -> str:
    """A page: the table, the pictures, what follows, and how it was made."""
    rows = [list(HEADS), ["---"] * len(HEADS), *(cells(line) for line in result.lines)]
    table = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    images = [f"![{name}]({name})" for name in pictures]
    below = [f"* {line}" for line in _below(result)]
    parts = [f"# {result.experiment.title}", result.experiment.paper, "\n".join(table)]
    return "\n\n".join([*parts, *images, "\n".join(below)]) + "\n"


def to_json(result: Result) -> str:
    """All of it, statistics included: a line of text for each line of the table."""
    told = [f"{json.dumps(name)}: {_listed(value)}" for name, value in result.to_dict().items()]
    return "{\n" + ",\n".join(told) + "\n}\n"


def _listed(value: Any) -> str:
    """JSON on one line; a list has each of its records on a line of its own."""
    if not isinstance(value, list):
        return json.dumps(value, default=_plain)
    return "[\n" + ",\n".join(json.dumps(one, default=_plain) for one in value) + "\n]"


def _below(result: Result) -> list[str]:
    """Findings, the score, notes on the data, and the circumstances."""
    scores = dict.fromkeys(line.score for line in result.lines)
    notes = {line.data: line.note for line in result.lines if line.note}
    repetitions = sorted({len(line.values) for line in result.lines})
    around = [f"ours: {', '.join(scores)}; repetitions: {', '.join(map(str, repetitions))}"]
    around += [f"{data}: {note}" for data, note in notes.items()]
    around += [f"{name}: {_number(v)}" for name, v in result.circumstances.items() if v != ""]
    return [*result.findings, *around]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a statistic of type {type(value).__name__} is not plain data for JSON")
