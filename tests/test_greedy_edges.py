"""What a hostile user gives to `Greedy`: far columns, cuts of a fit, one class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import PredefinedSplit

from bochner import LearnedFeatures, scan
from bochner.families import Gaussian, Linear, Taylor, Union
from bochner.learners import Greedy
from bochner.linear.column_major import ColumnMajor
from bochner.linear.design import Design
from bochner.ops import Columns, Projection, map_rows
from make import rng, rows

X = rows(300, 8)
T = X[:, 1] - 0.6 * X[:, 5] + 0.3 * X[:, 0] + 0.1 * rng(1).standard_normal(300)
Y = (T > 0).astype(int)


def fit(X, y, learner=None, family="linear", M=3, **options):
    return LearnedFeatures(family, learner or Greedy(), n_components=M, **options).fit(X, y)


@pytest.mark.parametrize("M", [2, "auto"])
@pytest.mark.parametrize("y", [np.zeros(300, dtype=int), np.full(300, 2.5)])
def test_targets_that_are_all_the_same(y, M):
    with pytest.raises(ValueError, match="says anything of the targets"):
        fit(X, y, M=M)


def test_one_class_has_no_weight():
    model = LearnedFeatures("linear", Greedy(), n_components=2)
    with pytest.raises(ValueError, match="rows of weight zero"):
        model.fit(X, Y, sample_weight=Y.astype(float))


def test_all_weight_is_held_out():
    """Over several blocks without any weight, which have no mean."""
    held = np.arange(300) < 10
    weight, cv = held.astype(float), PredefinedSplit(np.where(held, 0, -1))
    model = LearnedFeatures("linear", Greedy(validation=True), n_components=2, cv=cv)
    with pytest.raises(ValueError, match="no rows with a positive weight"):
        model.fit(X, T, sample_weight=weight)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("y", [T, Y])
def test_columns_far_from_zero_are_not_constant(dtype, y):
    """Years, say: 2000 with a deviation of 10, where squares in float32 lose the deviation."""
    far = (10.0 * X + 2000.0).astype(dtype)
    near = fit(X, y)
    columns = near.selection_.stats["columns"]
    assert set(columns) == {0, 1, 5}
    assert_array_equal(fit(far, y).selection_.stats["columns"], columns)
    task = "classification" if y is Y else "regression"
    pieces = scan([(far[:90], y[:90]), (far[90:], y[90:])])
    streamed = fit(pieces, None, task=task)
    assert_array_equal(streamed.selection_.stats["columns"], columns)


def test_a_constant_column_far_from_zero_is_never_chosen():
    Z = np.column_stack([X[:, :2], np.full(300, 0.1), np.full(300, 1e30)]).astype(np.float32)
    with pytest.warns(UserWarning, match="rank of the candidates"):
        model = fit(Z, T, M=4)
    assert set(model.selection_.stats["columns"]) == {0, 1}


def test_names_are_those_of_the_columns_of_a_table():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["age", "x1", "x0", "pay", "e", "f", "g", "h"])
    y = X[:, 0] * X[:, 2] + 0.5 * X[:, 3]
    family = Union(["linear", Taylor(2, 1e3)])
    model = fit(table, y, family=family, M=2)
    assert list(model.get_feature_names_out()) == ["taylor:age*x0", "linear:pay"]
    plain = fit(X, y, family=family, M=2)
    assert list(plain.get_feature_names_out()) == ["taylor:x0*x2", "linear:x3"]


class TestTruncate:
    family = Union([Taylor(2, 3.0), Linear(), Gaussian(2.0)])

    def model(self, M, y=Y):
        return fit(X, y, Greedy(2), self.family, M, n_candidates=80, random_state=0)

    @pytest.mark.parametrize("y", [T, Y])
    def test_it_is_the_fit_for_fewer(self, y):
        many, few = self.model(12, y), self.model(4, y)
        cut = many.truncate(4)
        assert_allclose(cut.transform(X) * np.sqrt(12), few.transform(X) * np.sqrt(4))
        assert list(cut.get_feature_names_out()) == list(few.get_feature_names_out())
        assert cut.n_components == 4
        assert many.n_components == 12
        assert many.transform(X).shape == (300, 12)

    def test_what_was_certified_of_all_is_not_of_some(self):
        model = fit(X, Y, family=Gaussian(2.0), certify=True)
        assert model.certificate_ is not None
        with pytest.raises(AttributeError, match="certificate_"):
            _ = model.truncate(2).certificate_

    @pytest.mark.parametrize("M", [0, -1, 13, 2.5, True, "3", None])
    def test_bad_sizes(self, M):
        with pytest.raises(ValueError, match="has 12 columns"):
            self.model(12).truncate(M)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [1, 300])
def test_sums_over_columns_that_lie_one_after_another(dtype, M):
    """As over rows that lie one after another, over several chunks."""
    Z = rng(2).standard_normal((2500, M)).astype(dtype)
    far, R, T = np.asfortranarray(Z), rows(2500, 2, seed=3), rng(4).standard_normal((M, 2))
    plain, design = Design(Projection(Columns(M, np.arange(M)), "identity")), ColumnMajor.over(M)
    tol = {"rtol": 1e-3, "atol": 1e-3} if dtype is np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    assert_allclose(design.project(far, R), plain.project(Z, R), **tol)
    assert_allclose(design.map_rows(far, T), plain.map_rows(Z, T), **tol)
    for w in (None, rng(5).random(2500), rng(6).standard_normal(2500)):
        expected = Z.T.astype(float) @ (Z if w is None else w[:, None] * Z.astype(float))
        assert_allclose(design.gram(far, w), expected, **tol)


class TestMemory:
    """Products of all candidates with those chosen: N x M numbers, of which N x N is too much."""

    X = rows(40, 500, seed=9)
    y = X[:, 3] * X[:, 5] + 0.1 * rng(10).standard_normal(40)

    def test_auto_makes_room_as_it_goes(self):
        """125,751 candidates: all products of all of them would be 118 GiB."""
        model = fit(self.X, self.y, family=Taylor(2, 30.0), M="auto", random_state=0)
        assert model.selection_.weights.shape == (125_751,)

    def test_too_many_are_refused_before_anything_is_made(self, monkeypatch):
        def survey(*args):
            raise AssertionError("candidates were looked at")

        monkeypatch.setattr("bochner.learners.greedy.learner.Candidates", survey)
        monkeypatch.setattr("bochner.learners.greedy.squared.physical_memory", lambda: 2.0**30)
        with pytest.raises(MemoryError, match=r"2,000 columns .*n_components=1,035 would fit"):
            fit(self.X, self.y, family=Taylor(2, 30.0), M=2000, random_state=0)

    def test_refits_agree_where_columns_do_not_fit_beside_the_rows(self, monkeypatch):
        held = fit(X, Y, Greedy(2), M=6)
        monkeypatch.setattr("bochner.learners.greedy.taken.FEATURE_BYTES", 100)
        made_anew = fit(X, Y, Greedy(2), M=6)
        columns = made_anew.selection_.stats["columns"]
        assert_array_equal(columns, held.selection_.stats["columns"])
        for a, b in zip(held.selection_.path.coefs, made_anew.selection_.path.coefs, strict=True):
            assert_allclose(a, b, atol=1e-6)

    def test_more_columns_than_a_block(self):
        Z = rows(300, 150, seed=11)
        t = Z @ rng(12).standard_normal(150)
        model = fit(Z, t, M=140)
        theta = model.selection_.path.coefs[-1][0]
        phi = model.transform(Z)
        design = np.column_stack([phi, np.ones(300)])
        assert_allclose(theta, np.linalg.lstsq(design, t, rcond=None)[0][:-1], rtol=1e-6)


@pytest.mark.parametrize("index", [[7, 2, 2], [0, 1, 2, 3, 4, 5, 6, 7]])
def test_models_of_few_columns_side_by_side(index):
    """Taken out or multiplied by zeros: the same scores, with offsets and a scale too."""
    index = np.array(index)
    offsets = rng(13).standard_normal(len(index))
    p = Projection(Columns(8, index), "identity", 1.7, offsets)
    T = rng(14).standard_normal((len(index), 5))
    assert_allclose(map_rows(X, p, T), 1.7 * (X[:, index] + offsets) @ T, atol=1e-12)
