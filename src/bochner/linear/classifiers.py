"""Logistic and squared-hinge heads: settings, and how they are fitted.

Few enough rows or columns: Newton on all of them. Otherwise a sample of the rows is solved first;
its solution is the start, and its Hessian there the coordinates in which L-BFGS needs about ten
passes over everything.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..feature_map import FeatureMap
from ..ops import FloatArray
from ..rows import Hook, RowSource
from .descent import Iterate, Stopping, lbfgs, newton, polished
from .design import Design, materialised
from .factor import sample_factor
from .losses import BinaryLogistic, Loss, Multinomial, SquaredHingeLoss
from .model import LinearModel, check_intercept
from .risk import Problem
from .survey import Survey, take_survey

#: Multiplications of one exact Hessian up to which "auto" takes Newton steps on all rows. Where the
#: classes are coupled L-BFGS does not need more steps, and its steps are far cheaper.
NEWTON_WORK = 5e8
COUPLED_WORK = 2e6


class _Classifier(BaseEstimator):
    """What the two heads share; ``_loss`` is theirs."""

    alpha: float
    tol: float
    max_iter: int
    fit_intercept: bool
    solver: str = "auto"

    def _loss(self, n_classes: int) -> Loss:
        raise NotImplementedError

    def fit(
        self,
        source: RowSource,
        fm: FeatureMap | None,
        *,
        n_classes: int | None = None,
        start: LinearModel | None = None,
        hook: Hook | None = None,
    ) -> LinearModel:
        """Minimise the penalised risk over the rows of a source; the settings stay as they are.

        Targets are class indices 0 .. K - 1; ``start`` is where to begin (a checkpoint, or the
        model of similar data); ``fm`` None means that the rows are the features.
        """
        self._check()
        source, fm = materialised(source, fm)
        design = Design.of(source, fm)
        survey = take_survey(
            source, _sample_size(source.n_rows, design.n_features + 1), n_classes, hook
        )
        loss = self._loss(survey.n_classes)
        problem = Problem(
            source, design, loss, self.alpha, fit_intercept=self.fit_intercept, hook=hook
        )
        stop = Stopping(self.tol, self.max_iter, hook)
        if self.solver == "newton" or (self.solver == "auto" and _is_small(problem, survey)):
            solver = "newton"
            first = _begin(problem, _given(problem, start), float(survey.class_weights.sum()))
            at = newton(problem, first, stop)
        else:
            solver = "lbfgs"
            at = _by_sample(problem, survey, start, stop)
        return _model(problem, survey, polished(problem, at), solver)

    def _check(self) -> None:
        name = type(self).__name__
        check_intercept(self)
        alpha: Any = self.alpha
        if not isinstance(alpha, Real) or not 0 < float(alpha) < float("inf"):
            raise ValueError(
                f"{name}(alpha={self.alpha!r}): expected a finite number above zero. Without a "
                "penalty, classes that a hyperplane separates have no optimum; for hardly any "
                "penalty give a small alpha such as 1e-6."
            )
        if self.solver not in ("auto", "lbfgs", "newton"):
            raise ValueError(
                f'{name}(solver={self.solver!r}): expected "auto", "lbfgs" or "newton".'
            )
        if not (self.tol > 0 and self.max_iter >= 0):
            raise ValueError(
                f"{name}(tol={self.tol!r}, max_iter={self.max_iter!r}): expected tol > 0 and "
                "max_iter >= 0."
            )


class Logistic(_Classifier):
    """Logistic regression: sum_i w_i loss_i + alpha / 2 |theta|^2, the intercept free.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, above zero; scikit-learn's C is 1 / alpha.
    tol : float, default=1e-15
        Stop when the Newton decrement, which estimates how far the objective is above its
        optimum, is below tol times the objective; of float32 rows, tol or 1e-12. Coefficients are
        then right to about the square root of that. 1e-7 saves a third of the passes.
    max_iter : int, default=500
        Steps at most.
    fit_intercept : bool, default=True
    solver : {"auto", "lbfgs", "newton"}, default="auto"
        "newton" makes the exact Hessian each step: for few columns or few rows.

    Two classes have one column of scores, more have one each (softmax).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import Logistic
    >>> from bochner.rows import MemorySource
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> Logistic(alpha=1.0).fit(MemorySource(X, y), None).status
    'optimal'
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        tol: float = 1e-15,
        max_iter: int = 500,
        fit_intercept: bool = True,
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.solver = solver

    def _loss(self, n_classes: int) -> Loss:
        return BinaryLogistic() if n_classes == 2 else Multinomial(n_classes)


class SquaredHinge(_Classifier):
    """Squared hinge: sum_i w_i sum_c max(0, 1 - y_ic f_c(x_i))^2 + alpha / 2 |theta|^2.

    More than two classes: one against the rest, one column each. Parameters as of `Logistic`;
    scikit-learn's ``LinearSVC(C=1 / alpha)`` has the same objective, but penalises its intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import SquaredHinge
    >>> from bochner.rows import MemorySource
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> model = SquaredHinge(alpha=0.1).fit(MemorySource(X, y), None)
    >>> model.decision(None, X).ravel() > 0
    array([False, False,  True,  True])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        tol: float = 1e-15,
        max_iter: int = 500,
        fit_intercept: bool = True,
    ) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept

    def _loss(self, n_classes: int) -> Loss:
        return SquaredHingeLoss(1 if n_classes == 2 else n_classes)


def _sample_size(n_rows: int | None, D: int) -> int:
    """Rows of the sample for D unknowns a class.

    With m rows the condition number left over is ((1 + q) / (1 - q))^2, q = sqrt(D / m): 40 D rows
    halve the passes that 10 D need, as long as the sample's Hessian costs only a pass or two.
    """
    affordable = 40 * D if n_rows is None else 50 * n_rows // D
    return max(10 * D, min(40 * D, affordable), 10_000)


def _is_small(problem: Problem, survey: Survey) -> bool:
    """Is an exact Hessian cheap, in multiplications and in the factorisation of its block?"""
    C, D = problem.shape
    blocks = C * (C + 1) // 2 if problem.loss.coupled else C
    order = C * D if problem.loss.coupled else D
    work = survey.n_rows * float(D) ** 2 * blocks + float(order) ** 3 * (C * D // order) / 3
    return work <= (COUPLED_WORK if problem.loss.coupled else NEWTON_WORK)


def _by_sample(
    problem: Problem, survey: Survey, start: LinearModel | None, stop: Stopping
) -> Iterate:
    """L-BFGS from the solution of the sample, in the coordinates of its Hessian there.

    The sample itself is solved in the coordinates of a quarter of it, to a thousandth: it is no
    closer than that to the solution of all rows.
    """
    sample = problem.on(survey.sample)
    if start is None:
        rough = _begin(sample, np.zeros(problem.shape))
        factor = sample_factor(problem.on(survey.head(4)), rough.point)
        guess = lbfgs(sample, rough, factor, Stopping(1e-3, 50)).point
    else:
        guess = _given(problem, start)
    at = _begin(problem, guess, float(survey.class_weights.sum()))
    return lbfgs(problem, at, sample_factor(sample, at.point), stop)


def _given(problem: Problem, start: LinearModel | None) -> FloatArray:
    """The point of a model to start from, or zero."""
    point = np.zeros(problem.shape)
    if start is None:
        return point
    if start.coef.shape != point[:, :-1].shape:
        raise ValueError(
            f"start has coefficients of shape {start.coef.shape}, this fit needs "
            f"{point[:, :-1].shape}: start from a model of the same features and classes."
        )
    point[:, :-1] = start.coef
    if problem.fit_intercept:
        point[:, -1] = start.intercept
    return point - point.mean(axis=0) if problem.loss.coupled else point


def _begin(problem: Problem, point: FloatArray, total_weight: float | None = None) -> Iterate:
    """The risk at a point; at zero instead where the point is worse than that.

    At zero every row has the same loss, so the comparison takes no pass.
    """
    at = Iterate(point, problem.evaluate(point))
    if total_weight is not None:
        one_row = problem.loss.evaluate(np.zeros((1, len(point))), np.zeros(1, int), np.ones(1))
        if not at.risk.value <= total_weight * one_row[0]:
            at = Iterate(np.zeros_like(point), problem.evaluate(np.zeros_like(point)))
    if not (np.isfinite(at.risk.value) and np.isfinite(at.risk.gradient).all()):
        raise ValueError(
            "the loss is not finite at the start: the features hold NaN or infinity, or overflow "
            "their dtype. Remove or impute those values, or rescale the columns."
        )
    return at


def _model(problem: Problem, survey: Survey, at: Iterate, solver: str) -> LinearModel:
    """The result, with its certificate."""
    point = at.point
    if problem.loss.coupled:  # equal steps of all intercepts change nothing: centre them
        point[:, -1] -= point[:, -1].mean()
    gap = problem.gap(at.risk)
    stats = {
        "objective": at.risk.value,
        "gradient_norm": float(np.linalg.norm(at.risk.gradient)),
        "relative_gap": gap / max(abs(at.risk.value), 1e-300),
        "decrement": at.decrement,
        "n_rows": survey.n_rows,
        "passes": problem.passes + 1,
        "solver": solver,
        "alpha": float(problem.alpha),
    }
    return LinearModel(point[:, :-1], point[:, -1], at.status, at.n_iter, gap, stats)
