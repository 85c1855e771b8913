"""`Alignment`: scores against label kernels row by row, columns, radius, and the paper's ring."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import naive_alignment as naive
from bochner import KernelClassifier, KernelRegressor, LearnedFeatures, scan, statistics
from bochner.families import ArcCosine, Cauchy, Gaussian, Laplace, Linear, Matern
from bochner.learners import Alignment
from bochner.learners.alignment import LabelKernel, solve
from bochner.learners.base import Request, Task
from bochner.ops import reference
from bochner.rows import Hook, MemorySource
from make import rng, rows

FAMILIES = [Gaussian(1.0), Laplace(1.0), Cauchy(1.0), Matern(1.5, 1.0), ArcCosine(0), ArcCosine(1)]
FAMILIES += [ArcCosine(2), Linear(), Gaussian(1.0, form="pair")]


def learn(X, y, task, learner=None, *, weight=None, family=None, D=8, N=32, **options):
    """(feature map, selection) of the learner by itself."""
    learner = Alignment(radius=0.1) if learner is None else learner
    family = Gaussian(1.0) if family is None else family
    N = min(N, family.n_available(X.shape[1]) or N)
    request = Request(family, N, min(D, N), task, rng(0), Hook())
    return learner.learn(MemorySource(X, y, weight, **options), request)


def all_features(X, family, N, seed=0):
    """The candidates that a learner draws, n x N."""
    generator = rng(seed)
    generator.integers(2**62)  # the key of the subsample comes first
    projection = family.draw(N, X.shape[1], generator)
    return reference.features(X, projection)


CLASSES = Task("classification", 3)
PAIR = Task("classification", 2)
AMOUNT = Task("regression")
X = rows(60, 3)
Y3 = np.minimum(rng(1).integers(0, 4, 60), 2)  # unequal classes
Y2 = (rng(2).random(60) < 0.2).astype(int)
T1 = X[:, 0] ** 2 + 50.0
T2 = np.column_stack([T1, 1e3 * X[:, 1]])

CASES = {
    "two raw": (Y2, PAIR, "raw", naive.class_kernel(Y2)),
    "two centred": (Y2, PAIR, "centered", naive.centred(naive.class_kernel(Y2))),
    "three raw": (Y3, CLASSES, "raw", naive.class_kernel(Y3)),
    "three centred": (Y3, CLASSES, "centered", naive.centred(naive.class_kernel(Y3))),
    "amount raw": (T1, AMOUNT, "raw", naive.amount_kernel(T1, False)),
    "amount centred": (T1, AMOUNT, "centered", naive.amount_kernel(T1, True)),
    "amounts centred": (T2, AMOUNT, "auto", naive.amount_kernel(T2, True)),
    "factor raw": (T2, AMOUNT, LabelKernel(centered=False), T2 @ T2.T),
    "factor": (T2, AMOUNT, LabelKernel(), naive.centred(T2 @ T2.T)),
    "table": (Y3, CLASSES, LabelKernel(np.eye(3), False), (naive.class_kernel(Y3) + 1) / 2),
    "function": (T1, AMOUNT, LabelKernel(np.sin, False), np.outer(np.sin(T1), np.sin(T1))),
}


@pytest.mark.parametrize("name", CASES)
def test_scores_are_alignments_with_the_label_kernel(name):
    y, task, target, S = CASES[name]
    _, found = learn(X, y, task, Alignment(0.1, target=target))
    expected = naive.scores(all_features(X, Gaussian(1.0), 32), S)
    assert_allclose(found.scores, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_every_family(family):
    fm, found = learn(X, Y3, CLASSES, family=family)
    phi = all_features(X, family, len(found.scores))
    expected = naive.scores(phi, naive.centred(naive.class_kernel(Y3)))
    assert_allclose(found.scores, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    again = solve(found.scores, 0.1 * (len(expected) - 1))
    assert_array_equal(found.weights, again.weights)
    columns = found.stats["columns"]
    assert fm.n_features == len(columns) == len(fm.names)
    assert_allclose(fm(X), phi[:, columns] * fm.weights, atol=1e-10)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("radius", [0.05, "auto"])
@pytest.mark.parametrize("subsample", [1.0, 0.7])
def test_a_row_of_weight_two_is_the_row_twice(task, radius, subsample):
    y, task = (Y3, CLASSES) if task == "classification" else (T2, AMOUNT)
    w = rng(3).integers(0, 4, 60).astype(float)
    copies = np.repeat(np.arange(60), w.astype(int))
    learner = Alignment(radius, subsample=subsample)
    same(learn(X, y, task, learner, weight=w), learn(X[copies], y[copies], task, learner))


def same(one, other):
    """Two results that are equal to rounding."""
    assert_allclose(one[1].scores, other[1].scores, rtol=1e-9)
    assert_allclose(one[1].weights, other[1].weights, atol=1e-9)
    assert_array_equal(one[1].stats["columns"], other[1].stats["columns"])
    assert_allclose(one[0].weights, other[0].weights, atol=1e-9)


@pytest.mark.parametrize("radius", [0.05, "auto"])
def test_chunks_order_and_layout_do_not_matter(radius):
    learner = Alignment(radius, subsample=0.8)
    whole = learn(X, Y3, CLASSES, learner)
    order = rng(5).permutation(60)
    same(whole, learn(X, Y3, CLASSES, learner, block_bytes=200))
    same(whole, learn(X[order], Y3[order], CLASSES, learner))
    same(whole, learn(sparse.csr_array(X), Y3, CLASSES, learner))


def test_subsample_keeps_its_share():
    X, y = rows(4000, 3), (rng(0).random(4000) < 0.5).astype(int)
    y[:] = 1
    _, full = learn(X, y, PAIR, Alignment(0.1, target="raw"), family=ArcCosine(0))
    _, part = learn(X, y, PAIR, Alignment(0.1, target="raw", subsample=0.25), family=ArcCosine(0))
    assert np.median(np.sqrt(part.scores / full.scores)) == pytest.approx(0.25, abs=0.04)


def test_the_learner_changes_nothing_and_repeats():
    learner = Alignment()
    before = clone(learner).get_params()
    same(learn(X, Y3, CLASSES, learner), learn(X, Y3, CLASSES, learner))
    assert learner.get_params() == before


# Columns


def test_estimator_five_draws_from_the_weights():
    family, D = Gaussian(1.0), 4000
    fm, found = learn(X, Y2, PAIR, Alignment(0.05, use="sample"), D=D, N=4000)
    columns = found.stats["columns"]
    counts = fm.weights**2 * D
    assert_allclose(counts, np.round(counts), atol=1e-6)
    assert counts.sum() == pytest.approx(D)
    assert (found.weights[columns] > 0).all()
    expected = D * found.weights[columns]
    chi = np.sum((counts - expected) ** 2 / expected) + D * (1 - found.weights[columns].sum())
    free = len(found.support) - 1
    assert chi < free + 6 * np.sqrt(2 * free)
    assert family.get_params() == Gaussian(1.0).get_params()


def test_estimator_six_is_the_learned_kernel():
    fm, found = learn(X, Y2, PAIR, Alignment(0.3), D=32)
    phi = all_features(X, Gaussian(1.0), 32)
    assert found.stats["use"] == "weight"
    assert fm.n_features == len(found.support) == found.stats["nnz"] < 32
    assert_allclose(fm.kernel(X), (phi * found.weights) @ phi.T, atol=1e-10)
    assert (np.diff(fm.weights) <= 0).all()


def test_the_rule_of_the_paper():
    _, few = learn(X, Y2, PAIR, Alignment(0.05), D=4)
    assert few.stats["use"] == "sample"
    _, many = learn(X, Y2, PAIR, Alignment(0.3), D=32)
    assert many.stats["use"] == "weight"


@pytest.mark.parametrize("use", ["weight", "support", "top"])
def test_the_largest_weights_are_kept(use):
    fm, found = learn(X, Y2, PAIR, Alignment(0.05, use=use), D=4)
    best = np.argsort(-found.scores)[:4]
    assert_array_equal(found.stats["columns"], best)
    q = found.weights[best] if use == "weight" else np.ones(4)
    assert_allclose(fm.weights, np.sqrt(q / q.sum()), rtol=1e-12)


def test_top_goes_beyond_the_support_and_the_others_do_not():
    for use, expected in (("top", 32), ("support", None), ("weight", None)):
        fm, found = learn(X, Y2, PAIR, Alignment(0.4, use=use), D=32)
        assert fm.n_features == (expected or len(found.support))


# Radius


def test_radius_is_a_share_of_what_is_useful():
    for order, N in ((2, 32), (2, 64), (3, 32), (1.5, 64)):
        _, found = learn(X, Y2, PAIR, Alignment(0.2, order=order), N=N)
        assert found.stats["rho"] == pytest.approx(0.2 * (N ** (order - 1.0) - 1))
        assert naive.divergence(found.weights, order) == pytest.approx(found.stats["rho"])
    _, all_in = learn(X, Y2, PAIR, Alignment(1.0))
    assert all_in.weights.max() == 1.0


def test_auto_finds_the_few_columns_that_matter():
    """One of 40 columns of a linear kernel carries the label: held-out error sees it."""
    X = rows(2000, 40)
    y = (X[:, 17] + 0.3 * rng(1).standard_normal(2000) > 0).astype(int)
    _, found = learn(X, y, PAIR, Alignment(), family=Linear(), N=40, D=40)
    errors = found.stats["errors"]
    assert found.stats["radius"] == found.stats["radii"][np.argmin(errors)]
    assert found.support[np.argmax(found.weights[found.support])] == 17
    assert len(found.path) == len(errors)


def test_auto_computes_scores_once(monkeypatch):
    """One visit to the rows more than with a radius given, and no more features of all rows."""
    made = []

    class Counting(statistics.ProjectSum):
        def update(self, state, block):
            made.append(block.n_rows)
            return super().update(state, block)

    monkeypatch.setattr(statistics, "ProjectSum", Counting)
    visits = {}
    for radius in (0.05, "auto"):
        visits[radius] = 0

        def chunks(radius=radius):
            visits[radius] += 1
            yield from ((X[at], Y3[at]) for at in (slice(0, 25), slice(25, 60)))

        made.clear()
        features = LearnedFeatures(Gaussian(1.0), Alignment(radius), 40, 10, task="classification")
        features.fit(scan(chunks))
        assert sum(made) == 60
    assert visits["auto"] == visits[0.05] + 1


def test_auto_keeps_the_base_measure_where_nothing_is_better():
    _, found = learn(X, Y2, PAIR, Alignment(), N=1, D=1)
    assert found.status == "uniform"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 2.0}, r"radius=2.0.*in \[0, 1\] .or .auto"),
        ({"radius": "big"}, "radius='big'"),
        ({"radius": True}, "radius=True"),
        ({"order": 1}, "order=1.*above 1"),
        ({"subsample": 0}, "subsample=0"),
        ({"use": "wieght"}, "Did you mean 'weight'"),
        ({"target": "centred"}, "Did you mean 'centered'"),
        ({"radius": 0.5, "order": 400}, "overflows"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        learn(X, Y2, PAIR, Alignment(**settings))


TABLE = np.eye(3)


@pytest.mark.parametrize(
    ("factor", "task", "message"),
    [
        (TABLE[:2], CLASSES, "shape .2, 3. .* each of the 3 classes"),
        (TABLE[:, :, None], CLASSES, "shape .3, 3, 1."),
        (TABLE * np.nan, CLASSES, "finite numbers"),
        ("one", CLASSES, "shape"),
        (None, CLASSES, "takes the targets for its factor, but these are classes"),
        (TABLE, AMOUNT, "the targets are amounts"),
        (lambda y: y[:2], AMOUNT, r"made shape \(2,\) of 60 targets"),
    ],
)
def test_label_kernels_that_do_not_fit(factor, task, message):
    y = Y3 if task is CLASSES else T1
    with pytest.raises(ValueError, match=message):
        learn(X, y, task, Alignment(0.1, target=LabelKernel(factor)))


# Estimators


def test_labels_of_any_kind_reach_the_learner():
    words = np.array(["low", "high", "middle"])[Y3]
    features = LearnedFeatures(learner="alignment", n_components=10, random_state=0)
    spelled, coded = clone(features).fit(X, words), clone(features).fit(X, Y3)
    assert_allclose(spelled.selection_.scores, coded.selection_.scores, rtol=1e-10)
    assert len(spelled.selection_.scores) == 200
    assert features.fit(X, T2).transform(X).shape[0] == 60
    with pytest.raises(ValueError, match="requires y to be passed"):
        features.fit(X)


def test_heads_on_top():
    y = np.where(Y3 > 0, "yes", "no")
    settings = {"learner": Alignment(0.05), "n_candidates": 200, "n_components": 20}
    model = KernelClassifier(**settings, random_state=0).fit(X, y)
    assert model.selection_.stats["rho"] == pytest.approx(0.05 * 199)
    balanced = KernelClassifier(**settings, class_weight="balanced", random_state=0).fit(X, y)
    assert not np.allclose(model.selection_.scores, balanced.selection_.scores)
    assert KernelRegressor(**settings, random_state=0).fit(X, T2).predict(X).shape == (60, 2)


def test_dask_equals_memory():
    pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    X = rows(400, 3)
    y = np.where(np.linalg.norm(X, axis=1) > 1.5, "far", "near")
    features = LearnedFeatures(
        Gaussian(1.0), Alignment(subsample=0.9), 100, 20, task="classification", random_state=0
    )
    memory = clone(features).fit(X, y)
    lazy = clone(features).fit(da.from_array(X, chunks=(130, 3)), da.from_array(y, chunks=130))
    assert_allclose(lazy.selection_.scores, memory.selection_.scores, rtol=1e-9)
    assert_array_equal(lazy.selection_.stats["columns"], memory.selection_.stats["columns"])
    with pytest.raises(ValueError, match="task='classification' or task='regression'"):
        features.set_params(task="auto").fit(da.from_array(X), da.from_array(y))


# The paper's example


def ring(d, n):
    """x ~ N(0, I), y = sign(|x| - sqrt d)."""
    X = rng(0).standard_normal((n, d))
    return X, np.where(np.linalg.norm(X, axis=1) > np.sqrt(d), 1, -1)


def test_selected_frequencies_make_a_ring():
    """Offsets near 0 and pi, as printed. By symmetry |w| alone is determined: the two clusters near
    +-(1, 1) of Figure 1a are one sample's choice among all directions.
    """
    X, y = ring(2, 10_000)
    learner = Alignment(radius=0.01)
    features = LearnedFeatures(Gaussian(1.0), learner, 20_000, 1_000, random_state=0).fit(X, y)
    atoms = features.feature_map_.atoms
    norm = np.linalg.norm(atoms["frequencies"], axis=1)
    assert 50 < len(norm) < 250
    assert norm.std() < 0.1
    assert norm.mean() == pytest.approx(np.sqrt(2), abs=0.25)
    assert np.abs(np.sin(atoms["offsets"])).mean() < 0.12


def test_selected_features_beat_as_many_random_ones():
    X, y = ring(10, 5_000)
    train, test = slice(0, 4_000), slice(4_000, None)
    learned = LearnedFeatures(Gaussian(1.0), Alignment(0.01), 10_000, 1_000, random_state=0)
    learned.fit(X[train], y[train])
    D = learned.feature_map_.n_features
    random = LearnedFeatures(Gaussian(1.0), n_components=D, random_state=0).fit(X[train])

    def error(features):
        Z = features.transform(X)
        return 1 - LogisticRegression(max_iter=500).fit(Z[train], y[train]).score(Z[test], y[test])

    assert 50 < D < 300
    assert error(learned) < 0.5 * error(random)


def test_estimators_report_rho():
    fit = LearnedFeatures(learner=Alignment(0.25), n_candidates=40, n_components=8, random_state=0)
    assert not hasattr(fit, "rho_")
    assert fit.fit(X, Y2).rho_ == pytest.approx(0.25 * 39)
    model = KernelClassifier(learner=Alignment(0.25, order=3), n_candidates=40, n_components=8)
    assert model.fit(X, Y2).rho_ == pytest.approx(0.25 * (40**2 - 1))
    with pytest.raises(AttributeError, match="divergence"):
        _ = LearnedFeatures(n_components=8).fit(X).rho_
