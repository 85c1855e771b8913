"""The experiment framework: what it measures, what it must not look at, and every quick run."""

import json

import numpy as np
import pytest
from scipy import sparse

from bochner.datasets import DataUnavailableError
from bochner.experiments import (
    Experiment,
    Features,
    Figure,
    Model,
    Outcome,
    Penalised,
    Picture,
    SizeOf,
    Split,
    Trial,
    find,
    names,
    pictures,
    run,
    tables,
)
from bochner.experiments.__main__ import main
from bochner.experiments.heads import Rows
from bochner.experiments.methods import CUT
from bochner.experiments.splits import held_out
from bochner.families import Gaussian, Linear
from bochner.feature_map import FeatureMap


def split(seed=0, n=200, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 100, 3))
    y = np.where(X[:, 0] + noise * rng.standard_normal(n + 100) > 0, "up", "down")
    return Split("made", X[:n], y[:n], X[n:], y[n:], note="generated")


class Constant:
    """Predicts one class, and remembers what it was shown."""

    def __init__(self, name, answer):
        self.name, self.answer, self.seen = name, answer, []

    def fit(self, split, seed, earlier):
        self.seen.append((seed, sorted(earlier)))
        return Outcome(
            lambda X: np.full(len(X), self.answer), 7, {"head": 2.0 * seed}, {"seed": seed}
        )


def small(*methods, **more):
    trial = Trial(split, methods, **more)
    return Experiment("small", "A small one", "no paper", lambda quick: [trial])


def test_a_line_is_the_mean_over_seeds() -> None:
    made = run(small(Constant("up", "up"), seeds=(1, 2, 3), paper={"up": Figure(99.0, "here")}))
    expected = [100.0 * np.mean(split(seed).y_test != "up") for seed in (1, 2, 3)]
    (line,) = made.lines
    np.testing.assert_allclose(line.values, expected)
    assert line.mean == pytest.approx(np.mean(expected))
    assert line.standard_error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(3))
    assert line.seconds["head"] == 4.0
    assert line.n_features == 7
    assert line.stats == {"seed": [1, 2, 3]}
    assert line.reached
    assert line.n_rows == (200, 100)


def test_methods_see_those_before_them() -> None:
    first, second = Constant("a", "up"), Constant("b", "up")
    run(small(first, second, seeds=(5,)))
    assert first.seen == [(5, [])]
    assert second.seen == [(5, ["a"])]


def test_two_methods_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        run(small(Constant("a", "up"), Constant("a", "down")))


def test_size_of_another_method() -> None:
    earlier = {"ours": Outcome(lambda X: X, 30, {})}
    assert SizeOf("ours", 10).resolve(earlier) == 300
    assert SizeOf("ours", 10, most=99).resolve(earlier) == 99
    with pytest.raises(ValueError, match="List it first"):
        SizeOf("theirs").resolve(earlier)


@pytest.mark.parametrize("kind", ["ridge", "logistic", "squared_hinge"])
def test_features_learn_and_never_see_test_rows(kind) -> None:
    method = Features("f", Gaussian(2.0), "uniform", "auto", 60, Penalised(kind))
    clean = split()
    poisoned = Split("p", clean.X, clean.y, np.full_like(clean.X_test, np.nan), None)
    a, b = (method.fit(s, 0, {}) for s in (clean, poisoned))
    assert a.stats["penalty"] == b.stats["penalty"]
    np.testing.assert_array_equal(a.predict(clean.X_test), b.predict(clean.X_test))
    assert np.mean(a.predict(clean.X_test) != clean.y_test) < 0.2
    assert a.n_features == 60


def test_the_penalty_is_the_best_on_held_out_rows() -> None:
    penalties = (1e-9, 1e-4, 1e-1, 10.0)
    many = Features("f", Linear(), head=Penalised("ridge", penalties)).fit(split(noise=2), 3, {})
    inner = held_out(split(noise=2), 3)
    errors = {}
    for p in penalties:
        one = Features("f", Linear(), head=Penalised("ridge", (p,))).fit(inner, 3, {})
        errors[p] = np.mean(one.predict(inner.X_test) != inner.y_test)
    assert errors[many.stats["penalty"]] == min(errors.values())
    assert many.stats["held-out error"] == pytest.approx(min(errors.values()))


def test_several_cuts_choose_by_their_mean() -> None:
    penalties, rows = (1e-9, 1e-4, 1e-1, 10.0), split(noise=2)
    many = Features("f", Linear(), head=Penalised("ridge", penalties), cuts=3).fit(rows, 3, {})
    errors = {}
    for p in penalties:
        one = Features("f", Linear(), head=Penalised("ridge", (p,)))
        cuts = [held_out(rows, 3 + CUT * i) for i in range(3)]
        wrong = [one.fit(cut, 3, {}).predict(cut.X_test) != cut.y_test for cut in cuts]
        errors[p] = np.mean(wrong)
    assert errors[many.stats["penalty"]] == pytest.approx(min(errors.values()))
    assert many.stats["held-out error"] == pytest.approx(min(errors.values()))


def test_wide_columns_of_sparse_rows_stay_sparse() -> None:
    """The same head and predictions as from a dense copy."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 300)) * (rng.random((90, 300)) < 0.05)
    y = rng.integers(0, 2, 90)
    fm = FeatureMap.uniform(Linear(), 300, 300, rng)
    lean, full = (Rows.of(fm, rows, y, "classification") for rows in (sparse.csr_array(X), X))
    assert sparse.issparse(lean.Z)
    head = Penalised("ridge")
    a, b = (head.fit(rows, [1e-3])[0] for rows in (lean, full))
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-9)


def test_a_grid_is_chosen_on_held_out_rows() -> None:
    grid = {"family__bandwidth": (1e-3, 2.0)}  # at 1e-3 nothing generalises
    made = Features("f", Gaussian(), "uniform", "auto", 50, grid=grid).fit(split(), 0, {})
    assert made.stats["family__bandwidth"] == 2.0


def test_groups_stay_whole_where_there_are_any() -> None:
    rows = split()
    groups = np.arange(200) // 10
    inner = held_out(Split("g", rows.X, rows.y, rows.X_test, rows.y_test, groups), 0)
    assert inner.groups is not None
    seen = {tuple(row) for row in inner.X}
    learn = np.array([tuple(row) in seen for row in rows.X])
    assert not set(groups[learn]) & set(groups[~learn])


def test_a_penalty_has_no_unit() -> None:
    """The same p, from rows ten times as large: the same predictions."""
    rows = split()
    rng = np.random.default_rng(0)
    fm = FeatureMap.uniform(Linear(), 3, 3, rng)
    larger = FeatureMap(fm.family, fm.projection, 10.0 * fm.weights)
    for kind in ("ridge", "logistic"):
        head = Penalised(kind, tol=1e-14)
        a, b = (
            head.fit(Rows.of(m, rows.X, rows.y, "classification"), [1e-2])[0].decision(m, rows.X)
            for m in (fm, larger)
        )
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_ridge_path_equals_one_ridge_at_a_time() -> None:
    rows = split()
    fm = FeatureMap.uniform(Gaussian(1.0), 40, 3, np.random.default_rng(0))
    made = Rows.of(fm, rows.X, rows.y, "classification")
    head, penalties = Penalised("ridge"), (1e-1, 1e-3, 1e-5)
    for p, model in zip(penalties, head.fit(made, penalties), strict=True):
        np.testing.assert_allclose(model.coef, head.fit(made, [p])[0].coef, rtol=1e-6, atol=1e-9)


def test_any_estimator_is_a_method() -> None:
    from sklearn.tree import DecisionTreeClassifier

    method = Model(
        "tree",
        lambda seed: DecisionTreeClassifier(random_state=seed),
        {"max_depth": (1, None)},
        size=lambda m: m.n_features_in_,
    )
    made = run(small(method, seeds=(0,)))
    (line,) = made.lines
    assert line.mean < 30
    assert line.n_features == 3
    assert line.stats["max_depth"] in (1, "None")


def test_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
    made = Split("r", X[:200], y[:200], X[200:], y[200:], task="regression")
    outcome = Features("f", Gaussian(1.0), "alignment", 400, 50, Penalised("ridge")).fit(
        made, 0, {}
    )
    assert np.sqrt(np.mean((outcome.predict(X[200:]) - y[200:]) ** 2)) < 0.2


def test_tables_name_stand_ins_and_circumstances() -> None:
    made = run(small(Constant("up", "up"), paper={"up": Figure(0.0, "table 9")}), command="typed")
    for shown in (tables.text(made), tables.markdown(made)):
        for word in ("made: generated", "0 (table 9)", "typed", "no", "date: 20", "numpy"):
            assert word in shown
    stored = json.loads(tables.to_json(made))
    assert stored["lines"][0]["mean"] == made.lines[0].mean
    assert stored["lines"][0]["reached"] is False


def test_json_has_a_record_on_each_line() -> None:
    made = run(small(Constant("up", "up"), Constant("down", "down"), seeds=(1, 2, 3)))
    told = tables.to_json(made).splitlines()
    records = [json.loads(line.rstrip(",")) for line in told if line.startswith("{") and line[1:]]
    assert [record["method"] for record in records] == ["up", "down"]
    assert json.loads("\n".join(told)) == json.loads(json.dumps(made.to_dict()))


def test_pictures_are_written(tmp_path) -> None:
    pytest.importorskip("matplotlib")

    def draw(result):
        figure, axes = pictures.figure()
        pictures.curves(axes, result, "features")
        return figure

    made = small(Constant("up", "up"))
    drawn = Experiment("small", "t", "p", made.trials, (Picture("it", draw),))
    assert pictures.save(run(drawn), tmp_path) == ["small_it.png"]
    assert (tmp_path / "small_it.svg").stat().st_size > 1000


def test_the_overview_shows_what_a_paper_prints(tmp_path) -> None:
    printed = {"up": Figure(100.0, "table 1"), "down": Figure(0.0, "table 1")}
    made = run(small(*(Constant(name, "up") for name in ("up", "down", "other")), paper=printed))
    (tmp_path / "small.json").write_text(tables.to_json(made), "utf-8")
    assert main(["--overview", str(tmp_path)]) == 0
    page = (tmp_path / "README.md").read_text("utf-8")
    assert f"| up | {made.lines[0].mean:.4g} |" in page
    assert "1 of 2 figures are reached" in page
    assert "| other |" not in page


def test_unknown_names_get_advice(capsys) -> None:
    with pytest.raises(ValueError, match="did you mean sinha_duchi_synthetic"):
        find("sinha_duchi_synthetc")
    assert main(["nothing"]) == 2
    assert "no experiment is called" in capsys.readouterr().err


def test_the_list_names_all(capsys) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in names())


@pytest.mark.parametrize("name", [name for name in names() if not find(name).parts])
def test_every_quick_run(name, tmp_path) -> None:
    try:
        made = run(name, quick=True)
    except DataUnavailableError as reason:
        pytest.skip(str(reason))
    assert made.lines
    assert all(np.isfinite(line.values).all() for line in made.lines)
    assert json.loads(tables.to_json(made))["experiment"] == name
    assert find(name).name == name


def test_umbrellas_name_experiments() -> None:
    for name in names():
        assert set(find(name).parts) <= set(names())
