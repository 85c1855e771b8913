"""Which files a path means, and what is said of a file that cannot be read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .block import Block

#: File endings, compressed or not, and the reader they go to.
FORMATS = {
    "parquet": (".parquet", ".pq", ".parq"),
    "csv": (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".tsv", ".tsv.gz"),
    "svmlight": tuple(
        f".{stem}{packed}"
        for stem in ("svm", "svmlight", "libsvm")
        for packed in ("", ".gz", ".bz2")
    ),
    "npy": (".npy",),
}


def format_of(path: Path) -> str | None:
    """The format that a file's ending names."""
    name = path.name.lower()
    return next((f for f, endings in FORMATS.items() if name.endswith(endings)), None)


def find_files(path: str | os.PathLike[str], given: str | None = None) -> tuple[str, list[str]]:
    """The format and the files, in sorted order, that a path, a directory or a glob means."""
    text = os.fspath(path)
    if "://" in text:
        raise ValueError(
            f"scan reads local files, but was given {text!r}. Open it with dask.dataframe "
            "(read_parquet, read_csv) and pass the collection, or copy the files here first."
        )
    found = _expand(Path(text).expanduser())
    formats = {given} if given else {format_of(f) for f in found}
    if not found or formats == {None} or len(formats) > 1:
        endings = ", ".join(ending for group in FORMATS.values() for ending in group)
        seen = f"found {[f.name for f in found[:5]]}" if found else "found no data file"
        raise ValueError(
            f"scan({text!r}) {seen}; expected files of one format, named by their ending "
            f"({endings}). Pass format='parquet', 'csv', 'svmlight' or 'npy' to say which it is."
        )
    return str(formats.pop()), [str(f) for f in found]


def _expand(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = (f for f in path.rglob("*") if f.is_file() and not _hidden(f.relative_to(path)))
        files = sorted(inside)
        _refuse_keys_in_folders(path, files)
        return files
    if glob.has_magic(str(path)):
        return sorted(Path(f) for f in glob.glob(str(path), recursive=True) if Path(f).is_file())
    raise FileNotFoundError(
        f"scan({str(path)!r}): there is no such file or directory (looked from {os.getcwd()!r})."
    )


def _refuse_keys_in_folders(root: Path, files: list[Path]) -> None:
    """Folders such as ``year=2024`` hold a column that the files do not: never drop it unsaid."""
    keys = {part for f in files for part in f.relative_to(root).parts[:-1] if "=" in part}
    if keys:
        raise ValueError(
            f"{root} keeps columns in the names of its folders ({', '.join(sorted(keys)[:3])}), "
            "which scan does not read. Read it with dask.dataframe.read_parquet and pass the "
            f"collection, or leave these columns out with a glob: scan('{root}/**/*.parquet')."
        )


def _hidden(path: Path) -> bool:
    """Files such as _SUCCESS, _metadata and .crc stand beside the data and are none."""
    return any(part.startswith(("_", ".")) for part in path.parts)


@contextmanager
def readable(path: str, expected: str) -> Iterator[None]:
    """Turn what a reader says of a broken file into advice that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError) as error:
        if str(error).startswith(path):
            raise
        raise ValueError(
            f"{path} cannot be read as {expected}: {error}. The file may be truncated, still "
            "being written, or of another format: check that it is complete, copy or write it "
            "again, or pass format= if its ending misleads."
        ) from error


def rows_per_block(block_bytes: int, row_bytes: int) -> int:
    """At least one row, else as many as the budget holds."""
    given: Any = block_bytes
    if not isinstance(given, int | float | np.number) or not given > 0:
        raise ValueError(f"block_bytes is {block_bytes!r}; expected a positive number of bytes.")
    return max(1, int(block_bytes // max(1, row_bytes)))


def cut(block: Block, n_rows: int) -> Iterator[Block]:
    """The same rows in blocks of at most ``n_rows``."""
    if block.n_rows <= n_rows:
        if block.n_rows:
            yield block
        return
    for start in range(0, block.n_rows, n_rows):
        rows = slice(start, min(start + n_rows, block.n_rows))
        yield block.replace(X=block.X[rows], offset=block.offset + start, **_sliced(block, rows))


def _sliced(block: Block, rows: slice) -> dict[str, Any]:
    parts = {"y": block.y, "weight": block.weight, "state": block.state}
    return {name: None if part is None else part[rows] for name, part in parts.items()}
