"""Where files are looked for: BOCHNER_DATA first, then the cache."""

from __future__ import annotations

import os
from pathlib import Path

from .dataset import DataUnavailableError


def given_folder() -> Path | None:
    """The folder named by BOCHNER_DATA."""
    named = os.environ.get("BOCHNER_DATA")
    return Path(named) if named else None


def prepared_file(name: str) -> Path:
    """A prepared file, or an error that says what to do."""
    folder = given_folder()
    if folder is not None and (folder / name).exists():
        return folder / name
    where = "BOCHNER_DATA is not set" if folder is None else f"it is not in {folder}"
    raise DataUnavailableError(
        f"{name} is not at hand: {where}. Set BOCHNER_DATA to the folder that holds it."
    )
