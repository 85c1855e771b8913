"""What `bochner.rows` imports, and what it leaves alone until used."""

import subprocess
import sys

import pytest

OPTIONAL = ("pyarrow", "dask", "distributed", "pandas", "polars", "torch", "numba", "sklearn")


def _after(code):
    check = f"import sys; print([m for m in {OPTIONAL} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def test_importing_the_room_imports_no_optional_package():
    code = "import bochner.rows, bochner.rows.scan, bochner.rows.adapt, bochner.rows.cluster"
    assert _after(code) == "[]"


@pytest.mark.parametrize(
    "use",
    [
        "as_source(np.ones((3, 2)), np.ones(3), allow_frame=True)",
        "scan([(np.ones((3, 2)), np.ones(3))])",
        "scan(np.ones((3, 2)), -1)",
        "as_source([[1.0, 2.0]], allow_frame=False)",
    ],
)
def test_arrays_need_no_optional_package(use):
    code = (
        "import numpy as np\nfrom bochner.rows.scan import scan\n"
        f"from bochner.rows.adapt import as_source\nnext({use}.blocks(0))"
    )
    assert _after(code) == "[]"


def test_a_limit_on_threads_nests_and_stays_in_its_thread():
    from concurrent.futures import ThreadPoolExecutor

    from bochner.rows.threads import current_limit, limited

    assert current_limit() is None
    with limited(3):
        with limited(5):
            assert current_limit() == 3
        with limited(1), ThreadPoolExecutor(1) as other:
            assert current_limit() == 1
            assert other.submit(current_limit).result() is None
        assert current_limit() == 3
    assert current_limit() is None
