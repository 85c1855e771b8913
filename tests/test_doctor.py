"""`doctor`: what it finds, and when it gives advice."""

import json

import numpy as np
import scipy
import sklearn

import bochner
from bochner import checkup as room
from bochner.checkup import doctor


def test_it_reports_what_is_there():
    report = doctor(seconds=0)
    assert report.versions["numpy"] == np.__version__
    assert report.versions["scipy"] == scipy.__version__
    assert report.versions["scikit-learn"] == sklearn.__version__
    assert report.threads == bochner.ops.usable_threads()
    assert report.speed == {}
    assert json.loads(json.dumps(report.to_dict()))["threads"] == report.threads
    page = str(report)
    for word in ("versions", "cpu", "blas", "gpu", "extras", "advice"):
        assert f"\n{word} " in f"\n{page}"


def test_it_measures():
    speed = doctor(seconds=0.1).speed
    assert len(speed) == 3
    assert all(value > 0 for value in speed.values())


def test_it_knows_an_old_kernel_on_a_new_processor(monkeypatch):
    blas = [{"name": "openblas", "version": "0", "kernel": "Haswell", "threads": 2, "file": "x"}]
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(room, "_cpu_flags", lambda: frozenset({"avx2", "avx512f"}))
    assert any("OPENBLAS_CORETYPE=SkylakeX" in line for line in room._advice(blas, 1))
    monkeypatch.setattr(room, "_cpu_flags", lambda: frozenset({"avx2"}))
    assert not any("OPENBLAS_CORETYPE" in line for line in room._advice(blas, 1))
    monkeypatch.setattr(room, "_cpu_flags", lambda: frozenset({"avx512f"}))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SkylakeX")
    assert not any("OPENBLAS_CORETYPE" in line for line in room._advice(blas, 1))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert any("because OPENBLAS_CORETYPE is 'Haswell'" in line for line in room._advice(blas, 1))
