"""python -m benchmarks.figures: docs/speed.md from every table kept under benchmarks/results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from .__main__ import HEADS, cell

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FIRST = ("ops", "stream", "heads")  # what the others stand on; they follow by name
AROUND = ("command", "date", "machine", "threads", "versions", "blas")

INTRODUCTION = """# Measured speed and memory

Made by `python -m benchmarks.figures` from the tables under `benchmarks/results`; nothing here is
typed by hand. A ratio is ours over a baseline timed in the same run, contestants in alternating
blocks with pauses between, medians of all calls (`benchmarks/timing.py`). Where there is no
baseline the number itself is held against the target; a target is an upper limit. Each table says
by which command, when and on which machine it was measured. "NOT MET" is a target missed: it
stands here until it is reached.
"""

Row = dict[str, Any]


def tables(folder: Path) -> dict[str, list[Row]]:
    """suite -> rows of every JSON file that holds rows of benchmarks, in the order of the page."""

    def place(path: Path) -> tuple[int, str]:
        return (FIRST.index(path.stem) if path.stem in FIRST else len(FIRST), path.stem)

    found = {}
    for path in sorted(folder.glob("*.json"), key=place):
        rows = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(rows, list) and rows and all({*HEADS, *AROUND} <= set(r) for r in rows):
            found[path.stem] = rows
        else:
            print(f"{path.name} is left out: it is no list of rows with {', '.join(HEADS)}")
    return found


def line(cells: Any) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"


def section(suite: str, rows: list[Row]) -> Iterator[str]:
    yield f"## {suite}\n"
    for (command, date, machine, threads, versions, blas), same in groupby(
        rows, key=lambda row: tuple(row[name] for name in AROUND)
    ):
        yield f"`{command}`, {date}: {machine}, {threads} threads; {versions}; {blas}.\n"
        yield line(HEADS)
        yield "|" + "---|" * len(HEADS)
        yield from (line(cell(row[name]) for name in HEADS) for row in same)
        yield ""


def summary(kept: dict[str, list[Row]]) -> Iterator[str]:
    """How many targets are met, suite by suite, and every one that is not, by name."""
    yield "## In short\n"
    yield line(("suite", "targets met", "missed"))
    yield "|---|---|---|"
    for suite, rows in kept.items():
        judged = [row for row in rows if row["met"] is not None]
        missed = [f"{row['what']} ({reached(row)})" for row in judged if not row["met"]]
        met = f"{len(judged) - len(missed)} of {len(judged)}"
        yield line((f"[{suite}](#{suite})", met, "; ".join(missed) or "-"))
    yield ""


def reached(row: Row) -> str:
    value = row["ours"] if row["ratio"] is None else row["ratio"]
    return f"{cell(value)}, target {cell(row['target'])}"


def main() -> None:
    kept = tables(RESULTS)
    page = [INTRODUCTION, *summary(kept)]
    for suite, rows in kept.items():
        page += section(suite, rows)
    target = ROOT / "docs" / "speed.md"
    target.write_text("\n".join(page).rstrip("\n") + "\n", encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {len(kept)} suites ({', '.join(kept)})")


if __name__ == "__main__":
    main()
