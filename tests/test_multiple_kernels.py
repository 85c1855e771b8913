"""The multiple-kernel baselines: weights against slow truths, and a gap that really bounds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import SVC

from bochner.experiments import Split
from bochner.experiments.multiple_kernels import (
    AlignedSVM,
    BaseKernel,
    JointSVM,
    alignment_weights,
    base_kernels,
    gram,
    joint_weights,
)
from bochner.experiments.multiple_kernels.joint import _best_intercept
from bochner.experiments.multiple_kernels.kernels import check_memory


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def slow_kernel(kind, x, z, s):
    if kind == "linear":
        return x @ z / np.sqrt((x @ x) * (z @ z))
    if kind == "polynomial":
        return (1 + x @ z) ** 2 / ((1 + x @ x) * (1 + z @ z))
    return np.exp(-((x - z) @ (x - z)) / (2 * s**2))


@pytest.mark.parametrize("kind", ["linear", "polynomial", "gaussian"])
def test_kernels_against_a_slow_truth(kind) -> None:
    X, _ = rows(12)
    Y, _ = rows(9, seed=1)
    kernel = BaseKernel(kind, 1.7)
    truth = np.array([[slow_kernel(kind, x, z, 1.7) for z in Y] for x in X])
    np.testing.assert_allclose(kernel(X, Y), truth, rtol=1e-9)
    np.testing.assert_allclose(kernel(sparse.csr_array(X), sparse.csr_array(Y)), truth, rtol=1e-9)
    np.testing.assert_allclose(np.diag(kernel(X, X)), 1.0, rtol=1e-9)


def test_alignment_weights_against_a_slow_truth(monkeypatch) -> None:
    monkeypatch.setattr("bochner.experiments.multiple_kernels.aligned.BLOCK", 13)
    X, y = rows(50)
    kernels = base_kernels(X)
    Y = np.outer(y, y)
    truth = []
    for kernel in kernels:
        K = np.array([[slow_kernel(kernel.kind, a, b, kernel.bandwidth) for b in X] for a in X])
        truth.append(np.sum(K * Y) / (np.linalg.norm(K) * np.linalg.norm(Y)))
    weights = alignment_weights(kernels, X, y)
    np.testing.assert_allclose(weights, np.array(truth) / np.sum(truth), rtol=1e-9)
    assert weights.sum() == pytest.approx(1.0)


def objective(grams, eta, y, C):
    """J(eta), by an SVM solved to high precision."""
    K = np.tensordot(eta, grams, axes=1)
    svm = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
    a = np.zeros(len(y))
    a[svm.support_] = svm.dual_coef_[0]
    return np.abs(a).sum() - 0.5 * a @ K @ a


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-5])
def test_the_gap_really_bounds(C, gap) -> None:
    X, y = rows()
    grams = np.array([gram(kernel, X, np.float64) for kernel in base_kernels(X)])
    made = joint_weights(grams, y, C, gap)
    assert made.status == "optimal"
    assert made.gap <= gap
    assert made.weights.min() >= 0
    assert made.weights.sum() == pytest.approx(1.0, abs=1e-12)
    best = min(
        objective(grams, np.array(eta), y, C)
        for eta in np.vstack([np.random.default_rng(0).dirichlet([0.5] * 3, 60), made.weights])
    )
    at = objective(grams, made.weights, y, C)
    slack = 1e-9 * made.upper
    assert made.lower <= best + slack  # a lower bound of every value
    assert made.lower <= at + slack <= made.upper + 2 * slack
    assert at - best <= gap * made.upper + slack


def test_joint_weights_reach_the_optimum_of_a_general_solver() -> None:
    X, y = rows(60)
    grams = np.array([gram(kernel, X, np.float64) for kernel in base_kernels(X)])
    made = joint_weights(grams, y, 1.0, 1e-6)

    def dual(point):  # minus the saddle's value: alpha'1 - t / 2 with S_m(alpha) <= t
        return -point[:-1].sum() + 0.5 * point[-1]

    Q = [K * np.outer(y, y) for K in grams]
    found = minimize(
        dual,
        np.append(np.full(60, 1e-3), 1.0),
        jac=lambda p: np.append(-np.ones(60), 0.5),
        bounds=[(0, 1.0)] * 60 + [(0, None)],
        constraints=[
            {"type": "eq", "fun": lambda p: y @ p[:-1], "jac": lambda p: np.append(y, 0.0)},
            *(
                {
                    "type": "ineq",
                    "fun": lambda p, A=A: p[-1] - p[:-1] @ A @ p[:-1],
                    "jac": lambda p, A=A: np.append(-2 * A @ p[:-1], 1.0),
                }
                for A in Q
            ),
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    assert made.lower <= -found.fun * (1 + 1e-6)
    assert made.upper >= -found.fun * (1 - 1e-6)


def test_intercept_is_the_best_one() -> None:
    rng = np.random.default_rng(0)
    for n_up in (1, 7, 19):
        f, y = rng.standard_normal(20), np.where(np.arange(20) < n_up, 1.0, -1.0)
        b = _best_intercept(f, y, np.append(y - f, 0.0))
        tried = np.linspace(-5, 5, 4001)
        loss = np.maximum(0, 1 - y * (f + tried[:, None])).sum(axis=1)
        assert np.maximum(0, 1 - y * (f + b)).sum() <= loss.min() + 1e-9


@pytest.mark.parametrize("method", [AlignedSVM(most_rows=150), JointSVM(most_rows=150)])
def test_methods_learn_what_no_linear_kernel_can(method) -> None:
    X, y = rows(600)
    names = np.where(y > 0, "same", "other")
    split = Split("xor", X[:400], names[:400], X[400:], names[400:])
    made = method.fit(split, 0, {})
    assert np.mean(made.predict(split.X_test) != split.y_test) < 0.35
    assert made.stats["rows"] == 150
    np.testing.assert_allclose(sum(made.stats["weights"]), 1.0)


def test_memory_is_refused_before_it_is_taken() -> None:
    assert check_memory(1000, 8.0, 1e9, "this") == 8e6
    with pytest.raises(MemoryError, match=r"Use at most 11,180 rows"):
        check_memory(10**6, 8.0, 1e9, "this")
    X, y = rows(100)
    with pytest.raises(MemoryError, match="ABMKSVM"):
        AlignedSVM(budget=1000.0).fit(Split("s", X, y, X, y), 0, {})
