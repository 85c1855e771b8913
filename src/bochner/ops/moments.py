"""moments: what a feature's column correlates with, the row itself included.

    sum_i r_i phi_m(x_i)         M
    sum_i r_i phi_m(x_i) x_i     M x d

One visit of the rows and one tile of features serve both; with (cos, sin) pairs they are the value
and the gradient of the Fourier potential |sum_i r_i exp(i w.x_i)|^2 at every frequency.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import checks, pool
from .projection import FloatArray, Projection
from .pull import Pulled
from .tasks import Worker, tasks
from .tiles import FormTile


def moments(
    X: Any, p: Projection, r: FloatArray, *, threads: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """(sum_i r_i phi_m(x_i), sum_i r_i phi_m(x_i) x_i): M and M x d, in float64."""
    rows = checks.rows_of(X, p)
    r = checks.thin(r, "r", rows.n, "row of X")
    k = p.n_columns // max(1, p.n_forms)
    sums, products = np.zeros(p.n_columns), np.zeros((p.n_columns, p.n_inputs))

    def task(item: tuple[FormTile, slice]) -> tuple[Any, FloatArray, FloatArray]:
        worker = Worker(rows, p, item[0])
        pulled = Pulled(rows, k * worker.tile.width, None)
        total = np.zeros(k * worker.tile.width)
        for at, phi in worker.columns(item[1]):
            phi *= r[at].astype(rows.dtype)
            total += phi.sum(axis=0)
            pulled.add(at, phi)
        return worker.positions, total, pulled.result()

    for at, total, part in pool.run(task, tasks(rows, p, products.nbytes), threads):
        sums[at] += p.scale * total
        products[at] += p.scale * part
    return sums, products
