"""Optional packages: imported when first needed, looked for without importing."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def need(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which cannot be imported here ({error}). "
            f'Install it with: pip install "bochner[{extra}]"'
        ) from error


def is_instance(obj: Any, module: str, *names: str) -> bool:
    """Is obj of one of these classes? A module nobody imported cannot have made it."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return False
    classes = (getattr(loaded, name, None) for name in names)
    return isinstance(obj, tuple(c for c in classes if isinstance(c, type)))


def is_pandas(obj: Any) -> bool:
    """A pandas DataFrame."""
    return is_instance(obj, "pandas", "DataFrame")


def is_polars(obj: Any) -> bool:
    """A polars DataFrame."""
    return is_instance(obj, "polars", "DataFrame")


def is_arrow(obj: Any) -> bool:
    """An Arrow table or record batch."""
    return is_instance(obj, "pyarrow", "Table", "RecordBatch")


def is_table(obj: Any) -> bool:
    """A DataFrame or an Arrow table, in memory."""
    return is_pandas(obj) or is_polars(obj) or is_arrow(obj)


def is_dask(obj: Any) -> bool:
    """A Dask collection of any kind."""
    base = sys.modules.get("dask.base")
    return base is not None and bool(base.is_dask_collection(obj))


def is_dask_array(obj: Any) -> bool:
    """A Dask array."""
    return is_instance(obj, "dask.array", "Array")


def is_dask_frame(obj: Any) -> bool:
    """A Dask DataFrame."""
    return is_instance(obj, "dask.dataframe", "DataFrame")
