"""The README: its Python runs as printed, and every file it shows is there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_as_printed(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="the example reads Parquet")
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    table.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    names = {
        "LogisticRegression": LogisticRegression,
        "StandardScaler": StandardScaler,
        "X": X[::2],
        "X_new": X[1::2],
        "make_pipeline": make_pipeline,
        "y": y[::2],
    }
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(code, "README.md", "exec"), names)
    assert names["model"].certificate_.bound < 1.0
    sets = names["model"].predict_set(X[1::2])
    truth = sets[np.arange(len(sets)), y[1::2]]  # classes are 0 and 1
    assert truth.mean() >= 0.9


def test_every_file_it_names_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    files = [link for link in links if "://" not in link] + re.findall(r"`(docs/[\w./]+)`", README)
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []
