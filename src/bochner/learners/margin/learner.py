"""`MarginSearch`: frequencies found by the no-regret margin game instead of drawn."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import statistics
from ...families.base import check_option
from ...families.fourier import FourierFamily
from ...feature_map import FeatureMap
from ...ops import Dense, FloatArray, Projection
from ...rows import RowSource, draw_sample
from ..base import Learner, Needs, Request, Selection
from .games import Game, Hinge, Squared, SquaredHinge
from .judge import Judge
from .ledger import Ledger, state_as_coefficients
from .path import Path, Play, Round
from .peaks import Climb, Peaks
from .scanned import scanned, scans
from .search import APART, POLISH, Sample, Search, distinct, responses

LOSSES = ("auto", "hinge", "squared_hinge", "squared")
METHODS = ("momentum", "langevin")
#: The length of a step in units of 1 / L; of plain Langevin steps, per gradient of the share.
STEP = {"momentum": 3.0, "langevin": 30.0}
TEMPERATURE = {"momentum": 0.0, "langevin": 1.0}
#: Rows from which the typical distance of two rows is read.
LENGTH_ROWS = 2000


class MarginSearch(Learner):
    """Fourier features found by playing for the margin (Bullins, Zhang & Zhang 2018).

    Each round looks for peaks of v(w) = |sum_i a_i y_i exp(i w.x_i)|^2 by many parallel chains on a
    sample of the rows, polishes some of them on all rows, keeps them as features, and moves the
    weights a of the rows towards what these features leave unexplained.

    Parameters
    ----------
    C : float, default=1.0
        The box of the weights: the C of the support vector machine that the game belongs to.
    chains : int, default=64
        Searches that run side by side in a round.
    steps : int, default=40
        Steps of each.
    per_round : int, default=10
        Frequencies kept a round, each a best response to those before it.
    temperature : float or "auto", default="auto"
        The size of the noise in a step, as a share of the step; "auto" is 0 with momentum and 1
        (the size of the gradient step, as in the paper) for plain Langevin.
    init_scale : float or "auto", default="auto"
        Chains start from the family's base measure times this; "auto" tries seven.
    polish : bool, default=True
        Whether kept peaks take a few quasi-Newton steps on all rows.
    loss : {"auto", "hinge", "squared_hinge", "squared"}, default="auto"
        The game: of the l1-SVM, of the l2-SVM (strongly concave), or of ridge regression, the one
        for amounts. "auto" is "hinge" for classes.
    method : {"momentum", "langevin"}, default="momentum"
        How chains move, see `peaks`.
    rows : int, default=2000
        Distinct rows that chains look at, others in each round.
    band : float or None, default=None
        The longest frequency, in units of the inverse typical distance of two rows.
    class_weight : None, "balanced" or dict, default=None
        Factors on C by class (index).
    early_stop : bool, default=False
        Stop when held-out rows (``cv=`` of the estimator) predict no better.
    start : Selection or None, default=None
        What an earlier search on the same rows left: go on from there.
    search : {"auto", "peaks", "scan"}, default="auto"
        "scan" plays among finitely many columns: all harmonics up to a degree, Taylor terms, the
        columns of X, or candidates drawn from any family. "auto" scans where the family is not a
        Fourier one. The settings below are for scans.
    dynamics : {"optimistic", "no_regret"}, default="optimistic"
        "optimistic" solves the game to a certified ``gap``, see `dynamics`; "no_regret" is the
        paper's Algorithm 2, where a column that is found again becomes heavier, for ``rounds``
        rounds of ``per_round`` columns, or until a new one would be more than n_components.
    gap : float, default=0.01
        (upper - lower) / upper of the players' values at which a game ends.
    rounds : int, default=100
        Scans at most.
    invariant : bool, default=False
        Give all harmonics of a degree the same weight, so that the learned kernel is invariant
        under rotations; a weighted set of harmonics is not.

    Notes
    -----
    A search of peaks needs a Fourier family, of which only the bandwidth matters: with form="pair"
    a frequency makes two columns (cos, sin), with form="phase" one cosine, in the phase of its
    peak; nothing is drawn, so that n_candidates does not count. More than two classes play one game
    each against the rest, in turn. ``selection_.scores`` and ``weights`` are
    None: nothing was chosen among candidates. ``selection_.path`` has the rounds (`path.Round`) and
    the frequencies in the order found, so that ``feature_map_.truncate`` is the search for fewer.
    ``selection_.stats``: "gap" and "margin" at the end (one a game), "scale" and what each scale
    "reached", "rounds", "reduced" (steps taken back where the potential was not finite).

    The weights are bytes a row where the learner runs, for rows in memory, in files and on Dask.

    A scan reports ``selection_.scores`` (v at the end), ``weights`` and ``support`` over all
    candidates, columns by falling weight, and in ``stats`` "gap" (relative), "lower", "upper",
    "rounds", "nnz", "mass" (the share of the measure that is kept) and "columns" (the candidate
    behind each). Harmonics beyond 20,000 are not scanned: ``chains`` walk over their indices for
    ``steps`` steps a round, drawn to large v the more the lower ``temperature`` ("auto" is 1, in
    units of the mean v); then nothing is certified about columns that none of them has visited.

    Examples
    --------
    >>> from bochner.learners import MarginSearch
    >>> MarginSearch(per_round=5)
    MarginSearch(per_round=5)
    """

    needs: ClassVar[Needs] = Needs(passes=None, targets=True, row_state=True, reservoir=True)
    candidates_per_component: ClassVar[int] = 20

    def __init__(
        self,
        C: float = 1.0,
        chains: int = 64,
        steps: int = 40,
        per_round: int = 10,
        temperature: Any = "auto",
        init_scale: Any = "auto",
        polish: bool = True,
        *,
        loss: str = "auto",
        method: str = "momentum",
        rows: int = 2000,
        band: float | None = None,
        class_weight: Any = None,
        early_stop: bool = False,
        start: Any = None,
        search: str = "auto",
        dynamics: str = "optimistic",
        gap: float = 0.01,
        rounds: int = 100,
        invariant: bool = False,
    ) -> None:
        self.C = C
        self.chains = chains
        self.steps = steps
        self.per_round = per_round
        self.temperature = temperature
        self.init_scale = init_scale
        self.polish = polish
        self.loss = loss
        self.method = method
        self.rows = rows
        self.band = band
        self.class_weight = class_weight
        self.early_stop = early_stop
        self.start = start
        self.search = search
        self.dynamics = dynamics
        self.gap = gap
        self.rounds = rounds
        self.invariant = invariant

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        check_settings(self)
        if scans(self.search, request.family):
            request.hook.at("margin game: targets")
            ledger = Ledger.of(source, int(request.rng.integers(2**62)), request.hook)
            return scanned(self, ledger, _games(self, request, ledger), request)
        run = _Run.begin(self, source, request)
        wanted = run.family._check_count(request.n_components)
        status = "found"
        while len(run.frequencies) < wanted:
            run.play()
            last = run.rounds[-1]
            found = len(run.frequencies)
            if request.hook.step(found, wanted, gap=last.gap, v=last.v, margin=last.margin):
                status = "stopped"
                break
            if run.judge is not None and run.judge.has_enough(run.projection(found)):
                status = "early stop"
                break
        return run.result(status, wanted)


@dataclass(eq=False)
class _Run:
    """One search."""

    learner: MarginSearch
    family: FourierFamily
    search: Search
    plays: list[Play]
    scale: float
    reached: dict[float, float]
    frequencies: FloatArray
    angles: FloatArray
    rounds: list[Round]
    judge: Judge | None

    @classmethod
    def begin(cls, learner: MarginSearch, source: RowSource, request: Request) -> _Run:
        """Read what is known of the rows, set up the games, find the scale."""
        family, hook, rng = _fourier(request.family), request.hook, request.rng
        hook.at("margin game: targets")
        seeds = [int(seed) for seed in rng.integers(2**62, size=2)]
        ledger = Ledger.of(source, seeds[0], hook)
        L = typical_distance(source, seeds[1], request)
        how = _climb(learner, L)
        search = Search(ledger, family, L, how, learner.chains, learner.rows, rng, hook)
        games = _games(learner, request, ledger)
        dtype, d = source.schema.dtype, source.n_features
        run = cls(
            learner, family, search, [Play.begin(game) for game in games], 1.0, {},
            np.empty((0, d), dtype), np.empty(0), [], None,
        )  # fmt: skip
        if learner.early_stop:
            run.judge = Judge.of(source, request, seeds[1])
        hook.at("margin game")
        if learner.start is not None:
            run._resume(learner.start)
        elif isinstance(learner.init_scale, str):
            r = run.plays[0].game.coefficients(run.plays[0].a)
            run.scale, run.reached = search.best_scale(r)
        else:
            run.scale = float(learner.init_scale)
        return run

    def _resume(self, start: Any) -> None:
        path = getattr(start, "path", None)
        if not (isinstance(path, Path) and self._fits(path)):
            raise ValueError(
                "MarginSearch(start=...) must be the selection_ of an earlier MarginSearch on the "
                "same rows, in the same order, with the same targets; these are others."
            )
        self.plays = [play.copy() for play in path.plays]
        self.frequencies, self.angles = path.frequencies, path.angles
        self.rounds, self.scale = list(path.rounds), path.scale

    def _fits(self, path: Path) -> bool:
        mine, theirs = self.plays, path.plays
        width = path.frequencies.shape[1] == self.frequencies.shape[1]
        return (
            width
            and len(mine) == len(theirs)
            and all(np.array_equal(a.game.y, b.game.y) for a, b in zip(mine, theirs, strict=True))
        )

    def play(self) -> None:
        """One round of the game whose turn it is."""
        index = len(self.rounds) % len(self.plays)
        play, search = self.plays[index], self.search
        r = play.game.coefficients(play.a)
        if not np.any(r):
            r = play.game.coefficients(play.game.start())
        sample = search.sample(r)
        found = search.peaks(sample, self.scale)
        W = self._chosen(play, sample, found)
        if self.learner.polish:
            W = self._apart(search.polished(W, r, POLISH).frequencies)
        waves = FeatureMap(self.family, Projection(Dense(W), "pair"), np.ones(2 * len(W)))
        S = statistics.project(
            search.ledger.source, waves, state_as_coefficients,
            hook=search.hook, row_state=search.ledger.state(r),
        )[:, 0]  # fmt: skip
        f = search.ledger.scores(waves, S)
        v = S[0::2] ** 2 + S[1::2] ** 2
        mass = float(search.ledger.weight @ np.abs(r))
        best = max(float(v.max()), mass**2 * sample.largest(self.frequencies))
        upper, size = play.add(f, v, best)
        self.frequencies = np.concatenate([self.frequencies, W])
        self.angles = np.concatenate([self.angles, np.arctan2(S[1::2], S[0::2])])
        self.rounds.append(
            Round(
                index,
                len(self.frequencies),
                float(v.max()) / mass**2,
                play.lower,
                upper.value,
                upper.margin,
                size,
                found.reduced,
            )
        )

    def _chosen(self, play: Play, sample: Sample, found: Peaks) -> FloatArray:
        """Peaks that are neither each other's twins nor those of earlier ones."""
        W = self._apart(found.frequencies[np.argsort(-found.value, kind="stable")])
        count = self.learner.per_round
        return W[responses(play.game, play.a, sample, W, count, play.t + 1)]

    def _apart(self, W: FloatArray) -> FloatArray:
        """Those of W that are new; with less and less between them where none are."""
        nearest = APART / self.search.L
        for least in (nearest, nearest / 10.0, 0.0):
            kept = distinct(W, self.frequencies, least)
            if len(kept):
                break
        return W[kept]

    def projection(self, count: int) -> Projection:
        """The first frequencies found, as columns of the family's form."""
        W, scale = Dense(self.frequencies[:count]), self.family.bound
        if self.family.columns_per_atom == 2:
            return Projection(W, "pair", scale)
        return Projection(W, "cos", scale, -self.angles[:count])

    def result(self, status: str, wanted: int) -> tuple[FeatureMap, Selection]:
        projection = self.projection(wanted)
        M = projection.n_columns
        fm = FeatureMap(self.family, projection, np.full(M, 1.0 / np.sqrt(M)))
        last = {found.game: found for found in self.rounds}
        stats = {
            "gap": [last[k].gap for k in sorted(last)],
            "margin": [last[k].margin for k in sorted(last)],
            "scale": self.scale,
            "reached": self.reached,
            "rounds": len(self.rounds),
            "reduced": sum(found.reduced for found in self.rounds),
            "L": self.search.L,
        }
        path = Path(
            self.frequencies, self.angles, tuple(self.rounds), self.scale, tuple(self.plays)
        )
        return fm, Selection(status, stats=stats, path=path)


def typical_distance(source: RowSource, seed: int, request: Request) -> float:
    """L = sqrt(2 sum_j var x_j), the root mean square distance of two rows of a sample."""
    sample = draw_sample(source, LENGTH_ROWS, seed, hook=request.hook)
    X = sample.X.toarray() if hasattr(sample.X, "toarray") else np.asarray(sample.X)
    share = sample.weight / sample.weight.sum()
    X = X.astype(np.float64)
    L = float(np.sqrt(2.0 * (share @ (X - share @ X) ** 2).sum()))
    if not (np.isfinite(L) and L > 0):
        raise ValueError(
            "MarginSearch needs rows that differ: all columns are constant on a sample of "
            f"{len(sample)} distinct rows (or not finite). Check X."
        )
    return L


def _fourier(family: Any) -> FourierFamily:
    if not isinstance(family, FourierFamily):
        raise ValueError(
            f"MarginSearch(search='peaks') looks for frequencies, which {type(family).__name__} "
            "does not have: use Gaussian, Laplace, Cauchy or Matern, or search='scan'."
        )
    return family


def _climb(learner: MarginSearch, L: float) -> Climb:
    auto = isinstance(learner.temperature, str)
    heat = TEMPERATURE[learner.method] if auto else float(learner.temperature)
    longest = np.inf if learner.band is None else float(learner.band) / L
    return Climb(learner.method, learner.steps, STEP[learner.method], heat, longest)


def _games(learner: MarginSearch, request: Request, ledger: Ledger) -> list[Game]:
    y, w, C, task = ledger.y, ledger.weight, float(learner.C), request.task
    if task.kind == "regression":
        if learner.loss not in ("auto", "squared"):
            raise ValueError(f"MarginSearch(loss={learner.loss!r}) is for classes; use 'squared'.")
        spread = float(np.sqrt(w @ (y - (w @ y) / w.sum()) ** 2 / w.sum()))
        if spread == 0.0:
            raise ValueError("MarginSearch needs targets that differ, but all are equal.")
        return [Squared((y - (w @ y) / w.sum()) / spread, w, C)]
    if learner.loss == "squared":
        raise ValueError("MarginSearch(loss='squared') is for amounts; use 'hinge'.")
    kind = SquaredHinge if learner.loss == "squared_hinge" else Hinge
    present = np.flatnonzero(np.bincount(y.astype(np.intp), weights=w) > 0)
    if len(present) < 2:
        raise ValueError(
            "MarginSearch needs rows of at least two classes, got one: a margin lies between two."
        )
    box = C * class_factors(learner.class_weight, y, w)
    against = [1.0] if (task.n_classes or 0) <= 2 else [float(k) for k in present]
    return [kind(np.where(y == k, 1.0, -1.0), w, box) for k in against]


def class_factors(class_weight: Any, y: FloatArray, w: FloatArray) -> Any:
    """A factor on C for each row; 1.0 for none."""
    if class_weight is None:
        return 1.0
    index = y.astype(np.intp)
    totals = np.bincount(index, weights=w)
    if isinstance(class_weight, str):
        check_option("MarginSearch", "class_weight", class_weight, ("balanced",))
        return (totals.sum() / np.count_nonzero(totals) / np.maximum(totals, 1e-300))[index]
    if not isinstance(class_weight, dict):
        raise TypeError(
            f"class_weight must be None, 'balanced' or a dict by class index, got {class_weight!r}."
        )
    factors = np.array([float(class_weight.get(k, 1.0)) for k in range(len(totals))])
    if not np.all(factors > 0):
        raise ValueError(f"class_weight must hold numbers above zero, got {class_weight!r}.")
    return factors[index]


def check_settings(learner: MarginSearch) -> None:
    """Refuse settings that make no sense, with what would."""
    check_option("MarginSearch", "loss", learner.loss, LOSSES)
    check_option("MarginSearch", "method", learner.method, METHODS)
    for name in ("chains", "steps", "per_round", "rows", "rounds"):
        value = getattr(learner, name)
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not (whole and value >= 1):
            raise ValueError(f"MarginSearch({name}={value!r}): give a whole number >= 1.")
    _above("gap", learner.gap, "0.01 leaves one part in a hundred", least=0.0)
    _above("C", learner.C, "it bounds the weight of a row; 1.0 is a good start")
    for name in ("init_scale", "temperature"):
        value = getattr(learner, name)
        if not (isinstance(value, str) and value == "auto"):
            _above(name, value, 'or give "auto"', least=0.0 if name == "temperature" else None)
    if learner.band is not None:
        _above("band", learner.band, "or None for no limit")


def _above(name: str, value: Any, advice: str, least: float | None = None) -> None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    high = number and np.isfinite(float(value)) and float(value) >= (least or 0.0)
    if not high or (least is None and float(value) == 0.0):
        bound = ">= 0" if least is not None else "above zero"
        raise ValueError(f"MarginSearch({name}={value!r}): give a number {bound}; {advice}.")
