"""Readers of prepared files: ``NAME.npz`` (arrays without pickle) and ``NAME.csv.gz``."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .dataset import Dataset
from .folders import prepared_file

Arrays = Mapping[str, Any]


def read(name: str) -> Dataset:
    """The data set of that name."""
    return READERS[name](name)


def arrays(file: str) -> Arrays:
    """All arrays of a prepared file."""
    with np.load(prepared_file(f"{file}.npz"), allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


def csv_rows(file: str) -> list[list[str]]:
    """The lines of a table, its head first."""
    path: Path = prepared_file(f"{file}.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def _table(name: str) -> Dataset:
    z = arrays(name)
    names = tuple(str(n) for n in z.get("feature_names", ()))
    return Dataset(name, z["X"].astype(np.float32), z["y"], names=names)


def _numbers(name: str) -> Dataset:
    data = _table(name)
    y = data.y.astype(np.float64)
    return Dataset(name, data.X, y, names=data.names, task="regression")


def _official(name: str) -> Dataset:
    z = arrays(name)
    X, y = np.concatenate([z["X_train"], z["X_test"]]), np.r_[z["y_train"], z["y_test"]]
    return Dataset(name, X, y, np.arange(len(z["y_train"]), len(y)))


def _a9a(name: str) -> Dataset:
    data = _official(name)
    return Dataset(name, data.X.astype(np.float32), data.y, data.test)


def _farm_ads(name: str) -> Dataset:
    z = arrays(name)
    return Dataset(name, _csr(z, ""), z["y"])


def _csr(z: Arrays, part: str) -> Any:
    triplet = (z[f"{part}data"].astype(np.float32), z[f"{part}indices"], z[f"{part}indptr"])
    return sparse.csr_array(triplet, shape=tuple(int(n) for n in z[f"{part}shape"]))


def _rcv1(name: str) -> Dataset:
    z = arrays("rcv1_vw_small")
    X = sparse.csr_array(sparse.vstack([_csr(z, "train_"), _csr(z, "test_")], format="csr"))
    y = np.r_[z["y_train"], z["y_test"]]
    note = "stand-in for reuters: a small extract of RCV1"
    return Dataset(name, X, y, np.arange(len(z["y_train"]), len(y)), note=note)


def _internet_ads(name: str) -> Dataset:
    z = arrays("internet_ads_partial")
    note = "partial: the 1966 distinct patterns recovered of 3279 rows, without geometry columns"
    names = tuple(str(n) for n in z["feature_names"][-z["X_unique"].shape[1] :])
    return Dataset(name, z["X_unique"].astype(np.float32), z["y_unique"], names=names, note=note)


def _weight_lifting(name: str) -> Dataset:
    z = arrays("weight_lifting")
    note = "the 19,622-row release; the paper has 39,242 rows"
    names = tuple(str(n) for n in z["feature_names"])
    y = z["classes"][z["y"]]
    return Dataset(name, z["X"], y, groups=z["user"], names=names, note=note)


def _epileptic(name: str) -> Dataset:
    z = arrays("epileptic")
    y = (z["y"] == 1).astype(np.int8)
    return Dataset(name, z["X"].astype(np.float32), y, groups=z["recording"])


def _online_news(name: str) -> Dataset:
    z = arrays("online_news_partial")
    names = tuple(str(n) for n in z["feature_names"])
    return Dataset(name, z["X"], z["y"], names=names, note="partial: 33,451 of 39,644 rows")


def _online_news_shares(name: str) -> Dataset:
    """How often an article was shared, where that is known."""
    z = arrays("online_news_partial")
    known = np.isfinite(z["shares"])
    names = tuple(str(n) for n in z["feature_names"])
    note = f"partial: the {int(known.sum()):,} of 39,644 rows whose shares are known"
    y = z["shares"][known].astype(np.float64)
    return Dataset(name, z["X"][known], y, names=names, note=note, task="regression")


def _year(name: str) -> Dataset:
    z = arrays("year_msd_subset4680")
    note = "stand-in: not YearPredictionMSD but a small relative of it, 54 distinct columns of 90"
    return Dataset(name, z["X"], z["y"].astype(np.float64), note=note, task="regression")


def _splice(name: str) -> Dataset:
    z = arrays(name)
    return Dataset(name, z["seq"], z["classes"][z["y"]])


def _promoters(name: str) -> Dataset:
    z = arrays(name)
    return Dataset(name, z["X"], z["classes"][z["y"]])


def _aptamer_pairs(name: str) -> Dataset:
    """Aptamers of pairs with proteins; y is whether the pair binds."""
    train, test = (csv_rows(f"aptamer_li2014_{part}")[1:] for part in ("train", "test"))
    rows = train + test
    X = np.array([row[0].upper().replace("U", "T") for row in rows], dtype=object)
    y = np.array([row[2] for row in rows])
    note = (
        "stand-in for the paper's aptamers: the aptamers of pairs with proteins; most are in pairs "
        "of both classes, so that the aptamer alone says next to nothing"
    )
    return Dataset(name, X, y, np.arange(len(train), len(rows)), groups=X, note=note)


def _aptamer_dna(name: str) -> Dataset:
    """Aptamers against other DNA."""
    rows = csv_rows("aptamer_vs_dna")[1:]
    X = np.array([row[0].upper().strip() for row in rows], dtype=object)
    y = np.array([row[1] for row in rows])
    note = (
        "stand-in for the paper's aptamers: aptamers against other DNA, which is shorter: any "
        "letter far from the start tells them apart"
    )
    return Dataset(name, X, y, groups=X, note=note)


def _adult(name: str) -> Dataset:
    """UCI adult: six numbers, and one column for each value of the others ("?" is a value)."""
    train, test = (csv_rows(f"adult_{part}_raw") for part in ("train", "test"))
    head, rows = train[0], train[1:] + test[1:]
    columns = list(zip(*rows, strict=True))
    parts, names = [], []
    for title, column in zip(head[:-1], columns[:-1], strict=True):
        if title in ADULT_NUMBERS:
            parts.append(np.array(column, dtype=np.float32)[:, None])
            names.append(title)
            continue
        values, indices = np.unique(np.array(column), return_inverse=True)
        parts.append(np.eye(len(values), dtype=np.float32)[indices])
        names += [f"{title}={value}" for value in values]
    y = np.array([value.startswith(">50K") for value in columns[-1]]).astype(np.int8)
    test_rows = np.arange(len(train) - 1, len(rows))
    return Dataset(name, np.hstack(parts), y, test_rows, names=tuple(names))


ADULT_NUMBERS = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)

READERS: dict[str, Callable[[str], Dataset]] = {
    "a9a": _a9a,
    "adult": _adult,
    "aptamer_pairs": _aptamer_pairs,
    "aptamer_vs_dna": _aptamer_dna,
    "bike": _numbers,
    "california_housing": _numbers,
    "elevators": _numbers,
    "epileptic": _epileptic,
    "farm_ads": _farm_ads,
    "internet_ads": _internet_ads,
    "kin8nm": _numbers,
    "letter": _table,
    "magic": _table,
    "mnist": _official,
    "online_news": _online_news,
    "online_news_shares": _online_news_shares,
    "promotergene": _promoters,
    "rcv1": _rcv1,
    "satimage": _table,
    "spam": _table,
    "splice": _splice,
    "weight_lifting": _weight_lifting,
    "year": _year,
}
