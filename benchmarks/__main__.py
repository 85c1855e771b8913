"""python -m benchmarks SUITE [--json FILE]: run one suite, print and keep its rows."""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from .machine import circumstances

FOLDER = Path(__file__).parent
#: Every module of this folder that has a ``run()`` is a suite; nothing has to be registered.
SUITES = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef run(" in path.read_text())
HEADS = ("what", "ours", "baseline", "ratio", "target", "met")


def cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "met" if value else "NOT MET"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def table(rows: list[dict[str, Any]]) -> str:
    cells = [list(HEADS)] + [[cell(row.get(name)) for name in HEADS] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADS))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here as well")
    arguments = parser.parse_args(argv)
    rows = importlib.import_module(f"benchmarks.{arguments.suite}").run()
    around = circumstances()
    around["command"] = shlex.join(["python", "-m", "benchmarks", *(argv or sys.argv[1:])])
    print(table(rows))
    print("\n" + "\n".join(f"{name}: {value}" for name, value in around.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps([{**row, **around} for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
