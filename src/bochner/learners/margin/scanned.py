"""`MarginSearch` over finitely many columns: harmonics, Taylor terms, inputs, drawn candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...families import Family
from ...families.base import check_option
from ...families.fourier import FourierFamily
from ...families.harmonics import HarmonicColumns, Harmonics
from ...feature_map import FeatureMap
from ...ops import FloatArray
from ..base import Request, Selection
from .finite import Equilibrium, Scan, equilibrium
from .games import Game
from .index_chains import IndexChains
from .ledger import Ledger
from .mixtures import Mixtures
from .repeats import no_regret

if TYPE_CHECKING:
    from .learner import MarginSearch

SEARCHES = ("auto", "peaks", "scan")
DYNAMICS = ("auto", "optimistic", "no_regret")
#: More harmonics than this are not scanned: chains walk over them.
MOST_SCANNED = 20_000


def scans(search: str, family: Family) -> bool:
    """Is this a search among finitely many columns?"""
    check_option("MarginSearch", "search", search, SEARCHES)
    return search == "scan" or (search == "auto" and not isinstance(family, FourierFamily))


def check_scan(learner: MarginSearch, family: Family) -> None:
    """Refuse settings that make no sense in a scan."""
    check_option("MarginSearch", "dynamics", learner.dynamics, DYNAMICS)
    if learner.invariant and not isinstance(family, Harmonics):
        raise ValueError(
            f"MarginSearch(invariant=True) gives all harmonics of a degree the same weight, but "
            f"{type(family).__name__} has none: use Harmonics, or invariant=False."
        )
    for name, off in (("early_stop", False), ("start", None)):
        if getattr(learner, name) != off:
            raise ValueError(
                f"MarginSearch({name}=...) is for a search of peaks; among finitely many columns "
                f"the game is played to its gap. Use {name}={off}, or search='peaks'."
            )


def scanned(
    learner: MarginSearch, ledger: Ledger, games: list[Game], request: Request
) -> tuple[FeatureMap, Selection]:
    """Play each game, and keep the heaviest columns of their mean measure."""
    check_scan(learner, request.family)
    walks = isinstance(request.family, Harmonics) and request.n_candidates > MOST_SCANNED
    columns = learner.chains if walks else request.n_candidates
    drawn = request.family.draw(columns, ledger.source.n_features, request.rng)
    candidates = FeatureMap(request.family, drawn, np.ones(drawn.n_columns))
    found: list[Equilibrium] = []
    for k, game in enumerate(games):
        request.hook.at("margin game" if len(games) == 1 else f"margin game {k + 1}")
        explore = _chains(learner, ledger, request) if walks else None
        played = _play(learner, ledger, game, candidates, request, explore)
        candidates = played.candidates
        found.append(played)
        if played.status == "stopped":
            break
    return _result(learner, candidates, found, request.n_components, walks)


def _chains(learner: MarginSearch, ledger: Ledger, request: Request) -> IndexChains:
    family = request.family
    assert isinstance(family, Harmonics)
    heat = 1.0 if isinstance(learner.temperature, str) else float(learner.temperature)
    return IndexChains(
        ledger,
        family,
        int(family.max_degree),
        request.rng,
        chains=learner.chains,
        steps=learner.steps,
        beta=1.0 / max(heat, 1e-12),
    )


def _play(
    learner: MarginSearch,
    ledger: Ledger,
    game: Game,
    candidates: FeatureMap,
    request: Request,
    explore: IndexChains | None,
) -> Equilibrium:
    labels = degrees if learner.invariant else None
    if learner.dynamics != "no_regret":
        return equilibrium(
            ledger, game, candidates, labels,
            gap=learner.gap, scans=learner.rounds, explore=explore, stop=reported(request),
        )  # fmt: skip
    return no_regret(
        ledger, game, candidates, labels,
        gap=learner.gap, rounds=learner.rounds, per_round=learner.per_round,
        most=request.n_components, explore=explore, stop=reported(request),
    )  # fmt: skip


def reported(request: Request) -> Callable[[Scan], bool]:
    """Tells the hook of each round; true where it says stop."""

    def stop(scan: Scan) -> bool:
        return request.hook.step(scan.n_columns, gap=scan.gap, lower=scan.lower, upper=scan.upper)

    return stop


def degrees(fm: FeatureMap) -> FloatArray:
    """The degree of each harmonic."""
    assert isinstance(fm.projection, HarmonicColumns)
    return np.asarray(fm.projection.indices.degree)


def _result(
    learner: MarginSearch,
    candidates: FeatureMap,
    found: list[Equilibrium],
    n_components: int,
    walks: bool,
) -> tuple[FeatureMap, Selection]:
    n = candidates.n_features
    q = np.mean([np.pad(one.weights, (0, n - len(one.weights))) for one in found], axis=0)
    v = np.mean([np.pad(one.scores, (0, n - len(one.scores))) for one in found], axis=0)
    columns = _kept(q, degrees(candidates) if learner.invariant else None, n_components)
    kept = q[columns] / q[columns].sum()
    taken = candidates.take(columns)
    fm = FeatureMap(taken.family, taken.projection, np.sqrt(kept))
    stats = {
        "gap": [one.gap for one in found],
        "lower": [one.values.lower for one in found],
        "upper": [one.values.upper for one in found],
        "rounds": [len(one.scans) for one in found],
        "nnz": int(np.count_nonzero(q)),
        "mass": float(q[columns].sum()),
    }
    if not walks:
        stats["columns"] = columns
    status = next((one.status for one in found if one.status != "certified"), "certified")
    path = tuple(one.scans for one in found)
    if walks:
        return fm, Selection(status, stats=stats, path=path)
    return fm, Selection(status, v, q, np.flatnonzero(q), stats, path)


def _kept(q: FloatArray, labels: Any, most: int) -> NDArray[np.intp]:
    """At most so many columns, heaviest first; whole groups where there are any."""
    if labels is None:
        order = np.argsort(-q, kind="stable")[:most]
        return order[q[order] > 0]
    groups = Mixtures.of_labels(labels)
    share = np.bincount(groups.group, weights=q)
    order = np.argsort(-share, kind="stable")
    order = order[share[order] > 0]
    fits = np.cumsum(groups.size[order]) <= most
    if not fits[0]:
        raise ValueError(
            f"MarginSearch(invariant=True) keeps whole degrees, and the best has "
            f"{int(groups.size[order[0]])} harmonics: raise n_components={most} to that."
        )
    return np.concatenate([np.flatnonzero(groups.group == g) for g in order[fits]])
