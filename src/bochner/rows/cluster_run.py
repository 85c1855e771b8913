"""Running a tree of sums on whichever scheduler is active, with progress and interruption."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from .optional import need

if TYPE_CHECKING:
    from .progress import Hook
    from .source import RowSource

#: A sum of tens of megabytes in the graph is meant; Dask warns from 10 MB on.
LARGE_GRAPH = "1GiB"
#: Seconds between two looks at how far a cluster has come.
LOOK_EVERY = 1.0


def run(root: Any, source: RowSource, hook: Hook | None) -> Any:
    """Compute the total; an interrupt, or a callback that asks to stop, cancels the work."""
    dask = need("dask", "dask", "Computing on a Dask collection")
    with _large_graphs(dask):
        if hook is None or not hook.callbacks:
            return dask.compute(root)[0]
        client = _active_client(dask, root)
        if client is not None:
            return _on_cluster(client, root, source, hook)
        with _local_progress(source, hook):
            return dask.compute(root)[0]


def _large_graphs(dask: Any) -> Any:
    """No warning about the size of a graph, where there is a cluster that could warn.

    Only once `distributed` is loaded: a setting made before would hide its defaults, and undoing
    it would take them away.
    """
    if "distributed" not in sys.modules:
        return nullcontext()
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH})


def _active_client(dask: Any, root: Any) -> Any:
    """The distributed client whose scheduler would run this, if one would."""
    scheduler = dask.base.get_scheduler(collections=[root])
    owner = getattr(scheduler, "__self__", None)
    return owner if hasattr(owner, "run_on_scheduler") else None


def _report(hook: Hook, source: RowSource, folded: int) -> None:
    """Rows where Dask knows the sizes, else the share of the partitions."""
    total = source.n_rows
    done = folded if total is None else round(total * folded / source.n_partitions)
    hook.rows(done, source.n_partitions if total is None else total)


def _local_progress(source: RowSource, hook: Hook) -> Any:
    callbacks = need("dask.callbacks", "dask", "Computing on a Dask collection")
    folded = 0

    def after(key: Any, *_: Any) -> None:
        nonlocal folded
        if str(key[0] if isinstance(key, tuple) else key).startswith("bochner-fold-"):
            folded += 1
            _report(hook, source, folded)

    return callbacks.Callback(posttask=after)


def _on_cluster(client: Any, root: Any, source: RowSource, hook: Hook) -> Any:
    future = client.compute(root)
    token = root.key[0].rpartition("-")[2] if isinstance(root.key, tuple) else root.key
    done_before = -1
    try:
        while True:
            try:
                total = future.result(timeout=LOOK_EVERY)
                _report(hook, source, source.n_partitions)
                return total
            except TimeoutError:
                folded = client.run_on_scheduler(_count_folded, token=token)
            if folded > done_before:
                _report(hook, source, folded)
                done_before = folded
    except BaseException:
        future.cancel()
        raise


def _count_folded(dask_scheduler: Any, token: str) -> int:
    """Runs on the scheduler: how many folds of this tree have been done."""
    group = dask_scheduler.task_groups.get(f"bochner-fold-{token}")
    if group is None:
        return 0
    states = group.states
    return int(states["memory"] + states["released"] + states.get("forgotten", 0))
