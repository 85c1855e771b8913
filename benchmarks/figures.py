"""python -m benchmarks.figures: docs/speed.md from the tables kept under benchmarks/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .__main__ import HEADS, SUITES, cell

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

INTRODUCTION = """# Measured speed and memory

Made by `python -m benchmarks.figures` from the tables under `benchmarks/results`; nothing here is
typed by hand. A ratio is ours over a baseline timed in the same run, contestants in alternating
blocks with pauses between, medians of all calls (`benchmarks/timing.py`). Where there is no
baseline the number itself is held against the target. "NOT MET" is a target missed: it stands here
until it is reached.
"""


def section(suite: str, rows: list[dict[str, Any]]) -> str:
    around = rows[0]
    lines = [
        f"## {suite}",
        "",
        f"`{around['command']}`, {around['date']}: {around['machine']}, {around['threads']} "
        f"threads; {around['versions']}; {around['blas']}.",
        "",
        "| " + " | ".join(HEADS) + " |",
        "|" + "---|" * len(HEADS),
    ]
    lines += ["| " + " | ".join(cell(row.get(name)) for name in HEADS) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    kept = {suite: RESULTS / f"{suite}.json" for suite in SUITES}
    sections = [
        section(suite, json.loads(path.read_text(encoding="utf-8")))
        for suite, path in kept.items()
        if path.exists()
    ]
    target = ROOT / "docs" / "speed.md"
    target.write_text("\n".join([INTRODUCTION, *sections]), encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {len(sections)} suites")


if __name__ == "__main__":
    main()
