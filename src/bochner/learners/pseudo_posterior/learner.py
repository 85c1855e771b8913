"""`PseudoPosterior`: draw candidates, weigh frequencies by their loss in closed form, keep some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...certificates import Certificate
from ...families.base import check_option
from ...feature_map import FeatureMap
from ...ops import FloatArray
from ...rows import RowSource, draw_sample
from ..alignment import held_out as judging
from ..base import Learner, Needs, Request, Selection
from ..held_out import HeldOut, MarkHeld
from ..kept import kept
from ..label_kernel import LabelKernel, Target
from .certified import second_order
from .passes import Sums, loss_sums
from .posterior import PosteriorPath, check_beta, figures
from .similarity import similarity_target

USES = ("sample", "weight", "top")
TARGETS = ("raw", "centered")


class PseudoPosterior(Learner):
    """Weights exp(-beta sqrt(n) loss) over candidate frequencies (Letarte et al. 2019, eq. 19).

    One pass over the rows, O(n) a candidate, any number of classes; then any beta is O(N). The loss
    of a frequency is its kernel alignment loss, see `losses`; cosine and sine share it.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        Inverse temperature in units of sqrt(n). "auto" judges eight of them by ridge regression on
        held-out rows, those whose effective sample size runs from all candidate frequencies down
        to as many as are kept: beyond that end the same few frequencies would be drawn over and
        over (on mnist 4-9 the effective sample size of 4,000 is 148 at beta = 1, 1.4 at 10).
    use : {"sample", "weight", "top"}, default="sample"
        What becomes of the weights Q. "sample": draws from Q with replacement, where a frequency
        drawn c times is there once with weight c; "weight": the largest weights, as weights;
        "top": the same frequencies, unweighted.
    target : {"raw", "centered"} or LabelKernel, default="raw"
        The similarity of two targets. "raw" is 1 within a class and -1 between (for amounts see
        `similarity`), which is what the theory is about; "centered" takes the mean off first, which
        helps where classes are of unequal size but leaves [-1, 1].

    Notes
    -----
    Needs a Fourier family: a loss belongs to a frequency. ``selection_.scores`` are the alignments
    1 - 2 loss of the candidate columns, ``selection_.weights`` Q over the columns,
    ``selection_.path`` the posteriors by beta; ``selection_.stats`` has "beta", "effective" (the
    effective sample size 1 / sum Q^2, in frequencies), "kl" (from the uniform prior), "loss" (of
    Q), "n", "use", "columns" (the candidate behind each column) and, with beta="auto", "betas" and
    their held-out "errors"; "kept_effective", "kept_kl" and "kept_loss" are
    those of the frequencies kept.

    Examples
    --------
    >>> from bochner.learners import PseudoPosterior
    >>> PseudoPosterior(beta=1.0)
    PseudoPosterior(beta=1.0)
    """

    needs: ClassVar[Needs] = Needs(passes=2, targets=True)
    candidates_per_component: ClassVar[int] = 20

    def __init__(self, beta: Any = "auto", use: str = "sample", target: Any = "raw") -> None:
        self.beta = beta
        self.use = use
        self.target = target

    def learn(self, source: RowSource, request: Request) -> tuple[FeatureMap, Selection]:
        self._check(request)
        run = _Run.begin(self, source, request)
        found = run.path_of(run.all)
        judged: dict[str, Any] = {}
        beta = self.beta
        if isinstance(beta, str):
            beta, judged = run.best_beta()
        selection = found.at(float(beta))
        fm, columns = run.keep(found, float(beta), request.rng)
        stats = {**selection.stats, **judged, **run.facts(fm, columns), "use": self.use}
        return fm, replace(selection, stats=stats, path=found)

    def certificate(
        self, selection: Selection, n_rows: int, feature_bound: float, delta: float
    ) -> Certificate | None:
        """Theorem 3 for the frequencies kept, with every assumption that it breaks.

        It holds for any measure over the candidates at once: so it is computed for the one in use,
        and beta may have been chosen in any way. Several values of t share delta.
        """
        return second_order(selection, delta)

    def _check(self, request: Request) -> None:
        check_option("PseudoPosterior", "use", self.use, USES)
        if not isinstance(self.target, LabelKernel):
            check_option("PseudoPosterior", "target", self.target, TARGETS)
        if not (isinstance(self.beta, str) and self.beta == "auto"):
            check_beta(self.beta)
        D, k = request.n_components, request.family.columns_per_atom
        if D % k:
            raise ValueError(
                f"n_components={D}: in pair form a frequency is two columns (cos, sin) that share "
                f'their loss. Ask for {D + 1}, or use form="phase", one column a frequency.'
            )


@dataclass(frozen=True, eq=False)
class _Run:
    """One fit: the candidates with their sums over the rows to learn from, and over all."""

    learner: PseudoPosterior
    source: RowSource
    request: Request
    candidates: FeatureMap
    held_out: HeldOut | None
    learned: Sums
    all: Sums

    @classmethod
    def begin(cls, learner: PseudoPosterior, source: RowSource, request: Request) -> _Run:
        """Draw candidates and run the passes."""
        rng, hook, family = request.rng, request.hook, request.family
        projection = family.draw(request.n_candidates, source.n_features, rng)
        candidates = FeatureMap(family, projection, np.ones(projection.n_columns))
        held_out = request.held_out if isinstance(learner.beta, str) else None
        target = similarity_target(learner.target, source, request.task, hook)
        hook.at("losses")
        sums = loss_sums(source, candidates, target, held_out, hook)
        return cls(learner, source, request, candidates, held_out, *sums)

    @property
    def per_atom(self) -> int:
        return self.request.family.columns_per_atom

    def facts(self, fm: FeatureMap, columns: FloatArray) -> dict[str, Any]:
        """What a certificate has to know of this fit; "kept_...": of the frequencies in use."""
        k, losses, target = self.per_atom, self.all.losses, self.all.target
        q = np.zeros(len(losses))
        q[columns[::k] // k] = k * np.square(fm.weights[::k])
        q /= q.sum()
        return {
            "n": self.all.n,
            "weighted": self.source.schema.weighted,
            "centered": target.centered,
            "similarity": _similarity(self.learner.target, self.request),
            "form": "pair" if k == 2 else "phase",
            "columns": columns,
            **{f"kept_{name}": value for name, value in figures(q, losses).items()},
        }

    def path_of(self, sums: Sums, betas: Any = ()) -> PosteriorPath:
        """Posteriors from these sums; at the betas worth trying unless others are given."""
        found = PosteriorPath(sums.losses, sums.n, np.asarray(betas, float), self.per_atom)
        if len(found):
            return found
        N, D = len(found.losses), self.request.n_components // self.per_atom
        sizes = np.geomspace(N, max(2.0, D), judging.N_RADII) if N > 2 else [N]
        return replace(found, betas=np.array([found.beta_of(min(N * 0.999, s)) for s in sizes]))

    def best_beta(self) -> tuple[float, dict[str, Any]]:
        """The beta that does best on held-out rows, and how each did."""
        assert self.held_out is not None
        request, source = self.request, self.source
        N, D = request.n_candidates, request.n_components
        size = judging.sample_rows(source.n_rows, N, D, source.n_features)
        request.hook.at("beta")
        seeds = [int(seed) for seed in request.rng.integers(2**62, size=2)]
        marked = source.mapped(MarkHeld(self.held_out), source.schema)
        sample = draw_sample(marked, size, seeds[0], targets=True, hook=request.hook)
        found = self.path_of(self.learned)
        maps = [partial(self._map_at, found, float(beta), seeds[1]) for beta in found.betas]
        judged_by = Target(request.task, None, False)  # the targets themselves
        best, errors = judging.choose(
            sample, judged_by, source.schema.n_targets, maps, request.scoring
        )
        return float(found.betas[best]), {"betas": found.betas, "errors": errors}

    def _map_at(self, found: PosteriorPath, beta: float, seed: int) -> FeatureMap:
        return self.keep(found, beta, np.random.default_rng(seed))[0]  # the same draws for each

    def keep(
        self, found: PosteriorPath, beta: float, rng: np.random.Generator
    ) -> tuple[FeatureMap, FloatArray]:
        """The feature map, and the candidate column behind each of its columns."""
        k = self.per_atom
        Q = found.weights(beta)
        atoms = Selection("posterior", -found.losses, Q, np.flatnonzero(Q))
        chosen = kept(atoms, self.request.n_components // k, self.learner.use, rng)
        columns = (chosen.columns[:, None] * k + np.arange(k)).ravel()
        taken = self.candidates.take(columns)
        weights = np.repeat(chosen.weights / np.sqrt(k), k)
        return FeatureMap(taken.family, taken.projection, weights), columns


def _similarity(given: Any, request: Request) -> str:
    if isinstance(given, LabelKernel):
        return "factor"
    return "classes" if request.task.kind == "classification" else "amounts"
