"""Do the certificates hold? 1,000 draws of rows whose distribution is known.

A KL bound is tried for all measures Q over the candidates at once: it fails on a draw if there is
any Q for which it is wrong. Whole fits are judged by the certificate they carry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from ... import certificates as c
from ...estimators.classifier import KernelClassifier
from ...estimators.features import LearnedFeatures
from ...families import Gaussian
from ...learners import PseudoPosterior, pseudo_posterior
from ...learners.pair_loss import kernel_bound
from ...ops import FloatArray
from .. import ERROR_PERCENT, Experiment, Figure, Outcome, Result, Score, Split, Trial
from ..known_truth import Mixture, worst_kl, worst_power

DELTA, DRAWS, N_CANDIDATES, LANDMARKS = 0.05, 1000, 200, 10
BINOMIAL, RULE = "binomial tail inversion", (1.0, 0.3, -0.8)
FAILS = Score("draws on which it fails, %", ERROR_PERCENT.of)
WORLD = Mixture(np.array([0.65, 0.35]), np.array([[0.0, 0.0], [1.5, 0.5]]), np.array([1.0, 0.6]))
FREQUENCIES = np.random.default_rng(0).standard_normal((N_CANDIDATES, 2))
PLACES = tuple(
    zip(*(part.tolist() for part in WORLD.draw(LANDMARKS, np.random.default_rng(1))), strict=True)
)
Fails = Callable[[int, int], FloatArray]


@lru_cache(maxsize=4)
def pairs(n: int, draws: int) -> FloatArray:
    """L^ of every frequency on each draw of n rows, draws x N."""
    return np.stack([_sums(n, r)[0] for r in range(draws)])


@lru_cache(maxsize=4)
def fixed_rows(n: int, draws: int) -> FloatArray:
    """L^ of every frequency over pairs with each landmark, draws x landmarks x N."""
    return np.stack([_sums(n, r)[1] for r in range(draws)])


@lru_cache(maxsize=2200)
def _sums(n: int, draw: int) -> tuple[FloatArray, FloatArray]:
    """Both kinds of losses from one set of class sums."""
    X, y = WORLD.draw(n, np.random.default_rng([n, draw]))
    waves = np.exp(1j * (X @ FREQUENCIES.T))
    S = np.stack([waves[y == label].sum(axis=0) for label in (0, 1)], axis=1)
    own = []
    for place, label in PLACES:
        signed = S[:, label] - S[:, 1 - label]
        own.append(0.5 - 0.5 * (np.exp(-1j * (FREQUENCIES @ place)) * signed).real / n)
    return pseudo_posterior.losses(S, n), np.array(own)


@dataclass(frozen=True)
class Bound:
    """A bound tried on draws 0, 1, ...; ``fails(n, draws)`` says on which it is wrong."""

    name: str
    n: int
    fails: Fails

    def fit(self, split: Split, seed: int, earlier: Mapping[str, Outcome]) -> Outcome:
        draws = len(split.y_test)
        return Outcome(
            lambda places: self.fails(self.n, draws)[places], None, {}, keep=range(draws)
        )


def draws_of(name: str, draws: int) -> Split:
    """The "test rows" are draws, and a bound is right when it fails on none."""
    numbers = np.arange(draws)
    return Split(name, numbers[:2], numbers[:2], numbers, np.zeros(draws, dtype=bool))


def of_all_measures(n: int) -> list[Bound]:
    """The bounds that hold for all Q at once."""
    truth, t = WORLD.losses(FREQUENCIES), float(np.sqrt(n))
    at = np.array([WORLD.losses_at(FREQUENCIES, np.array(x), label) for x, label in PLACES])

    def second(n: int, draws: int) -> Any:
        slack = c.pac_bayes_second_order(0.0, 0.0, n, DELTA, t=t).details["slack"]
        return worst_kl(truth, pairs(n, draws), t) > t * slack

    def union(n: int, draws: int) -> Any:
        slack = c.pac_bayes_union(0.0, 0.0, n, DELTA, t=t).details["slack"]
        return 2.0 * worst_kl(truth, pairs(n, draws), t / 2.0) > t * slack

    def first(n: int, draws: int) -> Any:
        slack = c.pac_bayes_first_order(0.0, 0.0, n + 1, DELTA, t=t).details["slack"]
        return worst_kl(at[0], fixed_rows(n, draws)[:, 0], t) > t * slack

    def every(n: int, draws: int) -> Any:
        zeros = np.zeros(LANDMARKS)
        slack = c.landmark(zeros, zeros, n, DELTA, t=t).details["slack"]
        return (worst_kl(at, fixed_rows(n, draws), t) > t * slack).any(axis=1)

    def power(mu: float) -> Fails:
        def fails(n: int, draws: int) -> Any:
            bound = c.f_divergence(0.0, 0.0, n, mu, DELTA, n_classes=2).bound
            return worst_power(truth, pairs(n, draws), mu) > bound

        return fails

    named: dict[str, Fails] = {"Theorem 1": first, "bound under (12)": every, "Corollary 2": union}
    named |= {"Theorem 3": second, "Theorem 4, corrected, mu = 1.5": power(1.5)}
    named |= {"Corollary 5": power(2.0), "Theorem 4, corrected, mu = 4": power(4.0)}
    return [Bound(name, n, fails) for name, fails in named.items()]


def of_one(n: int) -> list[Bound]:
    """Bounds for what was fixed before: a kernel, landmarks, a classifier."""
    rule, b = np.array(RULE[:2]), RULE[2]
    Q = pseudo_posterior.posterior(WORLD.losses(FREQUENCIES), n, 1.0)
    error = WORLD.error(rule, b)

    def kernel(n: int, draws: int) -> Any:
        slack = c.fixed_kernel(0.0, n, DELTA).bound
        return WORLD.losses(FREQUENCIES) @ Q > pairs(n, draws) @ Q + slack

    def landmarks(n: int, draws: int) -> Any:
        at = np.array([WORLD.losses_at(FREQUENCIES, np.array(x), label) for x, label in PLACES])
        slack = c.fixed_landmarks(0.0, n, DELTA).bound
        return (at @ Q).mean() > (fixed_rows(n, draws) @ Q).mean(axis=1) + slack

    def held_out(n: int, draws: int) -> Any:
        found = [_margins(n, draw, rule, b) for draw in range(draws)]
        return np.array([error > c.held_out_error(int((m <= 0).sum()), n).bound for m in found])

    def linear(n: int, draws: int) -> Any:
        found = [_margins(n, draw, rule, b) for draw in range(draws)]
        return np.array([error > c.pac_bayes_linear(m, DELTA).bound for m in found])

    named = {"a kernel on rows set aside": kernel, "landmarks on rows set aside": landmarks}
    named |= {BINOMIAL: held_out, "small-kl bound of a linear head": linear}
    return [Bound(name, n, fails) for name, fails in named.items()]


def _margins(n: int, draw: int, rule: FloatArray, b: float) -> FloatArray:
    """y (w.x + b) / |w, b| |x, 1|."""
    X, y = WORLD.draw(n, np.random.default_rng([n, draw]))
    lengths = np.sqrt(rule @ rule + b * b) * np.sqrt(np.square(X).sum(axis=1) + 1.0)
    return np.asarray((2.0 * y - 1.0) * (X @ rule + b) / lengths)


def of_signs(n: int) -> list[Bound]:
    """One frequency whose features are +-1 with mean .707: Theorem 4 at mu = 4, KL = 0."""

    def over(n: int, draws: int) -> FloatArray:
        S = 2.0 * np.random.default_rng(n).binomial(n, (1.0 + np.sqrt(0.5)) / 2.0, draws) - n
        return np.asarray(0.25 - (0.5 - 0.5 * (S**2 - n) / (n * (n - 1.0))))

    def printed(n: int, draws: int) -> Any:  # (1 / 4n)^(1-1/mu) delta^-(1-1/mu)
        return over(n, draws) > (1.0 / (4.0 * n * DELTA)) ** 0.75

    def corrected(n: int, draws: int) -> Any:
        return over(n, draws) > c.f_divergence(0.0, 0.0, n, 4.0, DELTA, n_classes=2).bound

    return [
        Bound("Theorem 4 as printed, mu = 4", n, printed),
        Bound("Theorem 4, corrected, mu = 4", n, corrected),
    ]


def of_fits(n: int) -> list[Bound]:
    """Whole fits, temperature chosen with the rows, and the certificates they carry."""

    @lru_cache(maxsize=1)
    def features(draws: int) -> list[dict[str, bool]]:
        found = []
        for draw in range(draws):
            X, y = WORLD.draw(n, np.random.default_rng([n, draw]))
            made = LearnedFeatures(
                Gaussian(1.0, form="pair"), PseudoPosterior(), 100, 20, random_state=draw
            )
            fails = {}
            for name, certify in (("learner", False), ("kernel", True)):
                bound = made.set_params(certify=certify).fit(X, y).certificates_[name].bound
                fails[name] = _true_loss(made) > bound
            found.append(fails)
        return found

    def learner(n: int, draws: int) -> Any:
        return np.array([one["learner"] for one in features(draws)])

    def kernel(n: int, draws: int) -> Any:
        return np.array([one["kernel"] for one in features(draws)])

    def classifier(n: int, draws: int) -> Any:
        X_new, y_new = WORLD.draw(20_000, np.random.default_rng(0))
        fails = []
        for draw in range(draws):
            X, y = WORLD.draw(n, np.random.default_rng([n, draw]))
            model = KernelClassifier(
                Gaussian(1.0), "uniform", n_components=20, certify=True, random_state=draw
            )
            error = float(np.mean(model.fit(X, y).predict(X_new) != y_new))
            fails.append(error > model.certificates_["error"].bound)
        return np.array(fails)

    return [
        Bound("PseudoPosterior(): certificate_ of the learner", n, learner),
        Bound("the same, certify=True: of the kernel", n, kernel),
        Bound("KernelClassifier(certify=True): of the error", n, classifier),
    ]


def _true_loss(fitted: Any) -> float:
    """The alignment loss of the kernel in use, from its frequencies and weights."""
    fm = fitted.feature_map_
    W, q = np.asarray(fm.atoms["frequencies"]), 2.0 * np.square(fm.weights)
    q = q.reshape(len(W), -1).sum(axis=1) / kernel_bound(fm)
    return float(WORLD.losses(W) @ (q / q.sum()))


def trials(quick: bool) -> Sequence[Trial]:
    draws = 100 if quick else DRAWS

    def one(name: str, n: int, bounds: Sequence[Bound]) -> Trial:
        allowed = {bound.name: Figure(100.0 * DELTA, "delta") for bound in bounds}
        return Trial(
            lambda seed: draws_of(name, draws), bounds, allowed, point={"n": n}, score=FAILS
        )

    sizes = (50,) if quick else (50, 1000)
    made = [one("two normal classes", n, [*of_all_measures(n), *of_one(n)]) for n in sizes]
    made.append(one("two normal classes, whole fits", 400, of_fits(400)))
    signs = (1000, 10_000) if quick else (1000, 10_000, 100_000, 1_000_000)
    return [*made, *(one("signs with mean .707", n, of_signs(n)) for n in signs)]


def findings(result: Result) -> list[str]:
    """What holds, what does not."""
    draws = len(result.kept[0][1])
    most = 100.0 * (DELTA + 3.0 * np.sqrt(DELTA * (1.0 - DELTA) / draws))  # three standard errors
    wrong = [line for line in result.lines if line.mean > most]
    told = sorted({line.method for line in wrong})
    ours = len({line.method for line in result.lines} - set(told))
    shares = ", ".join(f"{line.mean:.1f} % at n = {line.point['n']:,}" for line in wrong)
    found = [
        f"{ours} bounds fail on no more than {100 * DELTA:.0f} % of the draws (within three s.e.)"
    ]
    found += [f"{', '.join(told)} fails: {shares}"] if told else []
    sizes = sorted({line.point["n"] for line in result.where(method=BINOMIAL)})
    exact = ", ".join(f"{100 * binomial_fails(n):.2f} % at n = {n:,}" for n in sizes)
    return [*found, f"{BINOMIAL} has no slack: it fails with probability {exact}, exactly"]


def binomial_fails(n: int) -> float:
    """The chance that so few of n rows are wrong that the bound is below the error of the rule."""
    error = WORLD.error(np.array(RULE[:2]), RULE[2])
    few = [k for k in range(n + 1) if error > c.held_out_error(k, n, DELTA).bound]
    return float(stats.binom.cdf(max(few), n, error)) if few else 0.0


EXPERIMENT = Experiment(
    "letarte_coverage",
    "Letarte, Morvant & Germain 2019: do the bounds hold?",
    f"{DRAWS} draws of n rows from distributions whose alignment losses are known exactly; delta = "
    f"{DELTA}. A bound for all measures over {N_CANDIDATES} frequencies fails where there is any "
    f"measure for which it is wrong (found in closed form); t = sqrt(n), {LANDMARKS} landmarks. "
    "The paper's column is what a bound promises.",
    trials,
    findings=findings,
)
