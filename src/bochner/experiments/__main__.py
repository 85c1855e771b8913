"""python -m bochner.experiments NAME [--quick] [--json FILE] [--markdown FILE] [--out FOLDER]."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ..datasets import DataUnavailableError
from . import find, names, pictures, run, tables
from .overview import overview


def main(argv: Sequence[str] | None = None) -> int:
    """Run one experiment, print its table, and keep what was asked for."""
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(given)
    if arguments.overview:
        (arguments.overview / "README.md").write_text(overview(arguments.overview), "utf-8")
        return 0
    if arguments.name is None:
        for name in names():
            print(f"{name:28s} {find(name).title}")
        return 0
    try:
        leaves = _all(arguments.name)
        if len(leaves) > 1 and (arguments.json or arguments.markdown):
            raise ValueError(
                f"{arguments.name} has {len(leaves)} parts, which do not fit into one file: give "
                "--out FOLDER instead of --json or --markdown."
            )
        for name in leaves:
            _one(name, arguments, given)
        return 0
    except (DataUnavailableError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


def _all(name: str) -> list[str]:
    """The experiment, or the parts of an umbrella, down to the last."""
    parts = find(name).parts
    return [leaf for part in parts for leaf in _all(part)] if parts else [name]


def _one(name: str, arguments: argparse.Namespace, given: Sequence[str]) -> None:
    command = shlex.join(["python", "-m", "bochner.experiments", *_told(given, name)])
    tell = None if arguments.silent else lambda line: print(line, file=sys.stderr, flush=True)
    result = run(name, quick=arguments.quick, command=command, tell=tell)
    print(tables.text(result))
    drawn: list[str] = []
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        drawn = pictures.save(result, arguments.out)
        (arguments.out / f"{name}.md").write_text(tables.markdown(result, drawn), "utf-8")
        (arguments.out / f"{name}.json").write_text(tables.to_json(result), "utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(tables.markdown(result), "utf-8")
    if arguments.json:
        arguments.json.write_text(tables.to_json(result), "utf-8")


def _told(given: Sequence[str], name: str) -> list[str]:
    """The command as the page shows it: what to run, not where its files went."""
    kept, skip = [], False
    for word in given:
        if skip or word.startswith(("--json=", "--markdown=", "--out=")):
            skip = False
        elif word in ("--json", "--markdown", "--out"):
            skip = True
        elif word != "--silent":
            kept.append(word if word.startswith("-") else name)
    return kept


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bochner.experiments", description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="without one, list them all")
    parser.add_argument("--quick", action="store_true", help="a minute, on less data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the result as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table as Markdown")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="both, and the pictures")
    parser.add_argument("--overview", type=Path, metavar="FOLDER", help="a page of what is there")
    parser.add_argument("--silent", action="store_true", help="no progress on stderr")
    return parser


if __name__ == "__main__":
    sys.exit(main())
