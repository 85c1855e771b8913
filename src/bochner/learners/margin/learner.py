"""`MarginSearch`: frequencies found by the no-regret margin game instead of drawn."""

from __future__ import annotations

from typing import Any, ClassVar

from ...feature_map import FeatureMap
from ...ops import single_threaded_blas
from ...rows import RowSource
from ..base import Learner, Needs, Request, Selection
from .ledger import Ledger
from .run import Run
from .scanned import scanned, scans
from .settings import check_peaks, check_settings
from .targets import games_of


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
        for amounts. For classes "auto" is "squared_hinge" where the leader is followed, else
        "hinge".
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
        What an earlier search left, on the same rows, with the same game and dynamics: go on.
    repeats : bool, default=False
        Whether a frequency found before may be the best response again, as in the paper's game: it
        becomes heavier then, and n_components counts how often frequencies are played, so that
        there may be fewer columns. For few dimensions, where the same few peaks are best again and
        again; with False each is another one.
    search : {"auto", "peaks", "scan"}, default="auto"
        "scan" plays among finitely many columns: all harmonics up to a degree, Taylor terms, the
        columns of X, or candidates drawn from any family. "auto" scans where the family is not a
        Fourier one. ``gap``, ``rounds`` and ``invariant`` are for scans.
    dynamics : {"auto", "leader", "no_regret", "optimistic"}, default="auto"
        How the weights of the rows move. In a search of peaks: "leader" makes them those of the
        head on all frequencies so far, see `leader`; "no_regret" is the paper's online gradient
        ascent; "auto" is "leader" except with loss="hinge". In a scan: "optimistic" ("auto")
        solves the game to a certified ``gap``, see `dynamics`; "no_regret" is the paper's
        Algorithm 2, where a column that is found again becomes heavier, for ``rounds`` rounds of
        ``per_round`` columns, or until a new one would be more than n_components.
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
    the frequencies in the order found, so that ``feature_map_.truncate`` is the search for fewer
    (but for the weights of columns where ``repeats``).
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
        repeats: bool = False,
        search: str = "auto",
        dynamics: str = "auto",
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
        self.repeats = repeats
        self.search = search
        self.dynamics = dynamics
        self.gap = gap
        self.rounds = rounds
        self.invariant = invariant

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        check_settings(self)
        finite = scans(self.search, request.family)
        if not finite:
            check_peaks(self)
        if finite:
            request.hook.at("margin game: targets")
            ledger = Ledger.of(source, int(request.rng.integers(2**62)), request.hook)
            return scanned(self, ledger, games_of(self, request, ledger), request)
        with single_threaded_blas():  # else its idle threads spin beside the pool of the passes
            return self._searched(source, request)

    def _searched(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        run = Run.begin(self, source, request)
        wanted = run.family._check_count(request.n_components)
        status = "found"
        while len(run.order) < wanted:
            run.play()
            last = run.rounds[-1]
            if request.hook.step(
                len(run.order), wanted, gap=last.gap, v=last.v, margin=last.margin
            ):
                status = "stopped"
                break
            if run.judge is not None and run.judge.has_enough(run.projection(len(run.frequencies))):
                status = "early stop"
                break
        return run.result(status, wanted)
