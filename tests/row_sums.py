"""Row sums and tables that the tests of the row sources share."""

import time

import numpy as np

from bochner.rows import Frame, RowSum


class Moments(RowSum):
    """Rows, weight, X'w, X'(w y), X' diag(w) X of numeric blocks."""

    def start(self):
        return None

    def update(self, state, block):
        X = block.X.toarray() if hasattr(block.X, "toarray") else np.asarray(block.X)
        assert hasattr(block.X, "toarray") or block.X.flags.c_contiguous
        X, w = X.astype(np.float64), block.weights()
        y = np.zeros(len(w)) if block.y is None else np.asarray(block.y, dtype=np.float64)
        wy = (w * y.T).T.reshape(len(w), -1)
        now = np.concatenate(
            [[len(w), w.sum()], X.T @ w, (X.T @ wy).ravel(), (X.T * w @ X).ravel()]
        )
        return self.merge(state, now)

    def merge(self, a, b):
        if a is None or b is None:
            return b if a is None else a
        a += b
        return a

    def finalise(self, state):
        return np.zeros(2) if state is None else state


class Order(RowSum):
    """Which rows came where: the first feature of every row, by (partition, offset)."""

    def start(self):
        return []

    def update(self, state, block):
        column = block.X.columns[0] if isinstance(block.X, Frame) else block.X[:, [0]]
        column = column.toarray() if hasattr(column, "toarray") else np.asarray(column)
        return [*state, (block.partition, block.offset, column.ravel().copy())]

    def merge(self, a, b):
        return a + b

    def finalise(self, state):
        return sorted(state, key=lambda item: item[:2])


class SlowMoments(Moments):
    """The same, slowly enough to kill a worker in the middle of it."""

    def __init__(self, seconds):
        self.seconds = seconds

    def update(self, state, block):
        time.sleep(self.seconds)
        return super().update(state, block)


def moments(X, y=None, weight=None):
    """Those sums of plain arrays: what `Moments` gives, whatever held the rows."""
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if weight is None else np.asarray(weight)
    y = np.zeros(len(X)) if y is None else y
    wy = (w * np.asarray(y, dtype=np.float64).T).T.reshape(len(w), -1)
    return np.concatenate([[len(w), w.sum()], X.T @ w, (X.T @ wy).ravel(), (X.T * w @ X).ravel()])
