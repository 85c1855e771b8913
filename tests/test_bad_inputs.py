"""Bad input on every estimator: an error that says what to do, and nothing changed or left behind.

What a source refuses by itself is in `test_rows_refusals`; here is what estimators add.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bochner import KernelClassifier, KernelRegressor, LearnedFeatures, scan
from bochner.families import Gaussian, Laplace, Linear
from bochner.learners import Alignment
from bochner.linear import Ridge

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 4))
LABEL = np.where(X[:, 0] > 0, "a", "b")
AMOUNT = X[:, 0] + X[:, 1] ** 2
GAP = X.copy()
GAP[5, 2] = np.nan
ESTIMATORS = {
    LearnedFeatures: LABEL,
    KernelClassifier: LABEL,
    KernelRegressor: AMOUNT,
}
each = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def refused(kind, rows, advice, y=None, error=ValueError, weight=None, **settings):
    y = ESTIMATORS[kind] if y is None else y
    model = kind(**{"n_components": 8, "random_state": 0, **settings})
    before = set(vars(model))
    with pytest.raises(error, match=advice):
        model.fit(rows, y, weight)
    assert set(vars(model)) == before


@each
@pytest.mark.parametrize(
    ("spoil", "advice"),
    [
        (lambda X: np.where(X > 2, np.inf, X), "contains infinity.*Clip"),
        (lambda X: sparse.csr_array(GAP), "contains NaN.*SimpleImputer.*dense rows to Kernel"),
        (lambda X: X[:, 0], "2D array"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X[:, :0], "0 feature"),
        (lambda X: np.ones_like(X), "rows are equal.*Give a number"),
        (lambda X: np.array([["a", "b"]] * N, dtype=object), "X holds text: give a DataFrame"),
        (lambda X: X.astype(str), r"X holds text.*X.astype\(float\)"),
        (lambda X: X + 1j, "Complex data not supported.*imaginary part as columns"),
        (lambda X: [[1, 2], [3]] * (N // 2), "rows of unlike lengths"),
        (lambda X: 1e300 * X, r"squares (overflow|leave the range)"),
        (lambda X: 1e-300 * X, "squares leave the range"),
        (lambda X: np.arange(4 * N).reshape(N, 4) + 2**60, r"beyond 2\*\*53"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows(kind, spoil, advice):
    rows = spoil(X)
    empty = getattr(rows, "shape", (N,))[0] == 0
    refused(kind, rows, advice, ESTIMATORS[kind][:0] if empty else None)


def test_float32_rows_whose_squares_overflow():
    refused(LearnedFeatures, (1e37 * X).astype(np.float32), "leave the range of float32. Rescale")


@each
@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"n_components": 2**70}, "more columns than any machine"),
        ({"n_components": 9, "n_candidates": 4}, "Lower n_components or raise n_candidates"),
        ({"family": Gaussian(0.0)}, "positive and finite"),
        ({"family": "gausian"}, "Did you mean 'gaussian'"),
        ({"family": Laplace(1.0, norm="l1", sampling="structured")}, "not isotropic.*Use"),
        ({"family": Linear(), "n_components": 5}, "more than the 4 candidates"),
        ({"family": Gaussian(form="pair"), "n_components": 7}, "Ask for 6 or 8"),
        ({"learner": "unifrom"}, "Did you mean 'uniform'"),
        ({"device": "cuda"}, "device=None"),
        ({"verbose": -1}, "0, 1 or 2"),
        ({"n_jobs": 0}, "other than 0"),
        ({"random_state": -1}, "must not be negative"),
        ({"verbose": "yes"}, "0, 1 or 2"),
    ],
)
def test_settings(kind, settings, advice):
    refused(kind, X, advice, **settings)


@each
@pytest.mark.parametrize("weight", [-np.ones(N), np.zeros(N), np.full(N, np.nan), np.ones(3)])
def test_weights(kind, weight):
    refused(kind, X, "sample_weight|[Ss]ample weights", weight=weight)


@pytest.mark.parametrize(
    ("kind", "y", "advice"),
    [
        (KernelClassifier, np.full(N, "a"), "only one class"),
        (KernelClassifier, AMOUNT, "fractions.*Use KernelRegressor"),
        (KernelClassifier, np.where(X[:, 0] > 0, np.nan, 1.0), "contains NaN"),
        (KernelClassifier, np.where(X[:, 0] > 0, None, "a"), "contains NaN"),
        (KernelClassifier, pd.date_range("2020", periods=N), "date is neither a class nor"),
        (KernelRegressor, pd.date_range("2020", periods=N), "date is neither a class nor"),
        (KernelRegressor, LABEL, "holds text.*KernelClassifier"),
        (KernelRegressor, np.where(X[:, 0] > 1, np.inf, AMOUNT), "contains infinity"),
        (KernelRegressor, AMOUNT[:-1], "the same"),
    ],
)
def test_targets(kind, y, advice):
    refused(kind, X, advice, y)


def test_many_different_numbers_are_an_amount_unless_they_are_text():
    rows, y = RNG.standard_normal((3_003, 2)), np.repeat(np.arange(1_001.0), 3)
    refused(KernelClassifier, rows, r"look like an amount.*y.astype\(str\)", y)
    with pytest.raises(ValueError, match="look like an amount"):
        KernelClassifier().fit(scan([(rows, y)]))


@each
def test_a_memory_map_with_a_gap(kind, tmp_path):
    """Validation turns a map into a plain array, so that its blocks must still be looked at."""
    np.save(tmp_path / "rows.npy", GAP)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    settings = {"family": Gaussian(1.0)} | ({} if kind is LearnedFeatures else {"preprocess": None})
    if kind is not LearnedFeatures:  # which does not look at the rows here until it transforms
        refused(kind, rows, "row 5, column 2 is nan.*Impute", **settings)
    model = kind(n_components=8, **settings).fit(X, ESTIMATORS[kind])
    with pytest.raises(ValueError, match="row 5, column 2 is nan"):
        model.transform(rows) if kind is LearnedFeatures else model.predict(rows)


def test_what_a_scan_is_told(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame(X, columns=list("pqrs")).assign(label=LABEL)
    table.to_parquet(tmp_path / "rows.parquet")
    for path in (tmp_path / "rows.parquet", table):
        with pytest.raises(TypeError, match="expected the name of one"):
            scan(path, target=AMOUNT)
        with pytest.raises(ValueError, match="weight 'label'.*expected numbers"):
            list(scan(path, weight="label").blocks(0))
        for dtype in ("floatt", "int32"):
            with pytest.raises(ValueError, match="expected 'float32', 'float64', or None"):
                scan(path, dtype=dtype)


@each
@pytest.mark.parametrize(
    ("weight", "advice"),
    [
        (-np.ones(N), "Give one finite number, not negative"),
        (np.full(N, np.nan), "Give one finite number, not negative"),
        (np.ones(9), "Give one finite number"),
        (np.ones((N, 2)), "Give one finite number"),
        ("balanced", "class_weight"),
    ],
)
def test_weights_that_are_none(kind, weight, advice):
    refused(kind, X, advice, weight=weight)


@each
def test_what_is_no_table_of_rows(kind):
    for given in (None, {"a": [1.0]}, {1.0}):
        refused(kind, given, "X is .*expected an array", error=TypeError)
    table = pd.DataFrame(X, columns=list("aabc"))
    refused(kind, table, "several columns named .'a'.*Rename")
    refused(kind, X, "Alignment is a class; give an instance", learner=Alignment, error=TypeError)
    refused(kind, X, "frequencies overflow; give at least", family=Gaussian(1e-320))


def test_targets_of_which_no_task_can_be_told():
    mixed = np.array(["a", 1] * (N // 2), dtype=object)
    refused(KernelClassifier, X, "mixes text and numbers", mixed)
    learns = {"learner": "alignment"}
    refused(LearnedFeatures, X, "mixes text and numbers", mixed, **learns)
    refused(LearnedFeatures, X, "a date is neither", np.arange(N).astype("M8[D]"), **learns)
    two = np.column_stack([LABEL == "a", LABEL == "b"]).astype(int)
    refused(LearnedFeatures, X, r"shape \(60, 2\).*task='regression'", two, **learns)


def test_amounts_whose_squares_overflow():
    refused(KernelRegressor, X, "squares would overflow.*Divide it", 1e200 * AMOUNT)
    tiny = KernelRegressor(n_components=8, random_state=0).fit(X, 1e-100 * AMOUNT)
    plain = KernelRegressor(n_components=8, random_state=0).fit(X, AMOUNT)
    np.testing.assert_allclose(tiny.predict(X), 1e-100 * plain.predict(X), rtol=1e-6)


def test_a_choice_without_held_out_rows():
    refused(KernelRegressor, X, "hold out a larger share", cv=1e-9)


@each
def test_an_intercept_is_there_or_not(kind):
    if kind is not LearnedFeatures:
        refused(kind, X, "give True or False", head=Ridge(fit_intercept="no"))


def test_coefficients_of_a_map_have_a_row_for_each_column():
    fm = LearnedFeatures(n_components=8, random_state=0).fit(X).feature_map_
    for T in (np.ones((3, 2)), np.ones(7), np.ones((8, 1, 1))):
        with pytest.raises(ValueError, match=r"expected \(8, C\)"):
            fm.map_rows(X, T)
        with pytest.raises(ValueError, match=r"expected \(8, C\)"):
            fm.pull(X, np.ones((N, 2)), T)
