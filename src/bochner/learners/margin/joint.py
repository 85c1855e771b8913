"""`JointMargin`: the measure over drawn candidates that an SVM likes best, problem (9)."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...families.base import check_option
from ...feature_map import FeatureMap
from ...rows import RowSource
from ..alignment.dense import excess
from ..base import Learner, Needs, Request, Selection
from ..kept import USES, kept
from .balls import Ball
from .finite import Equilibrium, equilibrium
from .games import Game, Hinge
from .ledger import Ledger
from .scanned import reported
from .shared import Shared
from .targets import class_factors, classes_against


class JointMargin(Learner):
    """Weights over candidates learned together with a support vector machine, to a certified gap.

    Problem (9) of Sinha & Duchi (2016), with N candidates phi_m (the paper's N_w):

        min over q in P, max over a in K of   sum_i w_i a_i - 1/2 sum_m q_m S_m(a)^2

        S_m(a) = sum_i w_i y_i a_i phi_m(x_i),      P = {q in the simplex, mean((N q)^k) - 1 <= rho}
        K = {0 <= a_i <= C, sum_i w_i y_i a_i = 0}

    The two steps of `Alignment` (weights that align best, then a head) pay less than this and
    reach almost as much; this is what they are compared with in the paper's Table 2.

    Parameters
    ----------
    C : float, default=1.0
        The box of the dual weights: the C of the support vector machine.
    radius : float in [0, 1], default=0.01
        rho as a share of its largest useful value N^(k-1) - 1, as in `Alignment`: 0 is the support
        vector machine of the base kernel (even weights), 1 the game over the whole simplex. About
        1 / radius candidates share the weight.
    order : float, default=2
        k > 1.
    tol : float, default=0.01
        The relative duality gap (upper - lower) / upper to stop at.
    use : {"auto", "sample", "weight", "support", "top"}, default="auto"
        What becomes of q, as in `Alignment`.
    class_weight : None, "balanced" or dict, default=None
        Factors on C by class (index).
    rounds : int, default=100
        Passes over all candidates at most; each shows who should join those in play.
    steps : int, default=20000
        Steps of the dynamics at most, all rounds together.

    Notes
    -----
    **How.** Proximal steps of both players, the row player answering where u is going, started anew
    from the better of average and last point (`margin.dynamics`); the kernel player's step is
    exact (`margin.quotients`), and so are the row player's projection (`margin.project_dual`) and
    the best response of q, `alignment.solve` with scores v_m = S_m^2. Only columns that have weight
    are in play: held in memory where they fit, else made anew in passes over the rows. There are
    no Gram matrices. The dual weights are bytes a row where the learner runs, for rows in memory,
    in files and on Dask.

    **Certified.** For the q returned, any a and any coefficients u (zero where q is) and shift b,

        lower(a) = sum_i w_i a_i - max over q' in P of sum_m q'_m S_m(a)^2 / 2   <=  value
        value  <=  J(q)  <=  upper
        upper = sum_m u_m^2 / (2 q_m) + C sum_i w_i [1 - y_i (u'phi(x_i) + b)]_+

    with J(q) the maximum over a: q is suboptimal by at most upper - lower, whatever path led there.
    Both are measured, in the precision of the rows. Theorem 2 of the paper is about all q in P at
    once, and so about this one, too (`certificates.margin_risk` with the "rho" of the statistics).

    **Departures from the paper.** Rows have weights w (one of weight 2 is the row twice). The
    kernel is sum_m q_m phi_m phi_m' with weights that sum to one, as printed; a family scales its
    features by its own bound, which acts as a factor on C. More than two classes play one game each
    against the rest *with one q*, the sum of their values being minimised: q loses v_m = sum_c
    S_mc^2, so nothing else changes, and the certificate is for the sum.

    ``selection_.scores`` are v at the last pass, ``weights`` q, ``path`` the rounds (lower, upper,
    columns in play, steps). ``selection_.stats``: "gap" (relative), "lower", "upper", "rounds",
    "steps", "rho", "radius", "divergence", "effective" (1 / sum q^2), "nnz", "columns" (the
    candidate behind each column kept) and "use". ``status`` is "certified", or why it is not:
    "scans used up", "steps used up", "stopped".

    Examples
    --------
    >>> from bochner.learners import JointMargin
    >>> JointMargin(radius=0.05)
    JointMargin(radius=0.05)
    """

    needs: ClassVar[Needs] = Needs(passes=None, targets=True, row_state=True)
    candidates_per_component: ClassVar[int] = 20
    takes_candidates: ClassVar[bool] = True

    def __init__(
        self,
        C: float = 1.0,
        radius: float = 0.01,
        order: float = 2,
        tol: float = 0.01,
        *,
        use: str = "auto",
        class_weight: Any = None,
        rounds: int = 100,
        steps: int = 20_000,
    ) -> None:
        self.C = C
        self.radius = radius
        self.order = order
        self.tol = tol
        self.use = use
        self.class_weight = class_weight
        self.rounds = rounds
        self.steps = steps

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        self._check()
        if request.task.kind == "regression":
            raise ValueError(
                "JointMargin learns from classes, and these targets are amounts: use Alignment() "
                "or MarginSearch(loss='squared'), or task='classification' if they are classes."
            )
        hook, rng = request.hook, request.rng
        given = request.candidates_for(source.n_features)
        candidates = replace(given, weights=np.ones(given.n_features))  # the base measure is even
        N = candidates.n_features
        ball = _ball(N, float(self.radius), float(self.order))
        hook.at("joint margin: targets")
        ledger = Ledger.of(source, int(rng.integers(2**62)), hook)
        game = self._game(ledger, request)
        hook.at("joint margin")
        found = equilibrium(
            ledger, game, candidates, gap=float(self.tol), scans=self.rounds,
            stop=reported(request), ball=ball, steps=self.steps,
        )  # fmt: skip
        return self._result(found, ball, request)

    def _game(self, ledger: Ledger, request: Request) -> Game:
        y, w = ledger.y, ledger.weight
        against = classes_against("JointMargin", y, w, request.task)
        C = float(self.C) * class_factors(self.class_weight, y, w, "JointMargin")
        signs = [np.where(y == k, 1.0, -1.0) for k in against]
        return Hinge(signs[0], w, C) if len(signs) == 1 else Shared(np.stack(signs, 1), w, C)

    def _result(
        self, found: Equilibrium, ball: Ball, request: Request
    ) -> tuple[FeatureMap, Selection]:
        q, last = found.weights, found.scans[-1]
        spread = excess(len(q) * q - 1.0, ball.order)
        stats: dict[str, Any] = {
            "gap": float(found.gap),
            "lower": float(found.values.lower),
            "upper": float(found.values.upper),
            "rounds": len(found.scans),
            "steps": last.steps,
            "rho": ball.rho,
            "radius": float(self.radius),
            "divergence": float(np.mean(spread)),
            "effective": 1.0 / float(q @ q),
            "nnz": int(np.count_nonzero(q)),
        }
        chosen = Selection(found.status, found.scores, q, np.flatnonzero(q), path=found.scans)
        columns = kept(chosen, request.n_components, self.use, request.rng)
        stats |= {"columns": columns.columns, "use": columns.use}
        taken = found.candidates.take(columns.columns)
        fm = FeatureMap(taken.family, taken.projection, columns.weights)
        return fm, replace(chosen, stats=stats)

    def _check(self) -> None:
        check_option("JointMargin", "use", self.use, USES)
        _check("C", self.C, lambda C: 0.0 < C < np.inf, "a number above zero; 1.0 is a good start")
        _check("radius", self.radius, lambda r: 0.0 <= r <= 1.0, "a number in [0, 1]")
        _check("order", self.order, lambda k: 1.0 < k < np.inf, "a number above 1; the paper has 2")
        _check("tol", self.tol, lambda t: 0.0 <= t < 1.0, "a number in [0, 1); 0.01 is one percent")
        for name in ("rounds", "steps"):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            _check(name, value if whole else None, lambda m: m >= 1, "a whole number >= 1", value)


def _ball(N: int, radius: float, order: float) -> Ball:
    """rho = radius (N^(k-1) - 1)."""
    if order * np.log(N) > 600.0:
        raise ValueError(
            f"JointMargin(order={order!r}): N^order overflows for {N} candidates; give a lower one."
        )
    return Ball(N, radius * float(np.expm1((order - 1.0) * np.log(N))), order)


def _check(name: str, value: Any, ok: Any, what: str, given: Any = None) -> None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (number and ok(float(value))):
        raise ValueError(f"JointMargin({name}={value if given is None else given!r}): give {what}.")
