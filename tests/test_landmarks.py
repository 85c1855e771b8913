"""`LandmarkFeatures`: losses and columns as printed, laws, landmarks, certificates, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import naive_posterior as naive
from bochner import LandmarkFeatures, LearnedFeatures, ops, scan
from bochner.families import ArcCosine, Cauchy, Gaussian
from bochner.learners.landmarks import landmark_losses, posteriors, reweighted
from make import rng, rows

X = rows(60, 3)
Y3 = np.minimum(rng(1).integers(0, 4, 60), 2)
Y2 = (X[:, 0] > 0).astype(int)
T1 = X[:, 0] ** 2 + 50.0
FIXED = Gaussian(1.5)


def fit(y=Y2, X=X, **options):
    kind = "regression" if y.dtype.kind == "f" else "classification"
    settings = {"n_landmarks": 6, "landmarks": "random", "n_frequencies": 5, "family": FIXED}
    settings |= {"random_state": 0, "task": kind}
    return LandmarkFeatures(**(settings | options)).fit(X, y)


def parts(f):
    """Landmarks L x d, frequencies L x K x d, weights L x K."""
    mixed = f.feature_map_.projection
    L, K = mixed.mix.shape
    return f.landmarks_, mixed.base.operator.to_matrix().reshape(L, K, -1), mixed.mix


def places(f, X=X):
    """Which rows the landmarks are."""
    return [int(np.flatnonzero((x == X).all(axis=1))[0]) for x in f.landmarks_]


@pytest.mark.parametrize(
    "family", [FIXED, Cauchy(2.0), Gaussian(1.5, sampling="structured")], ids=str
)
@pytest.mark.parametrize("y", [Y2, Y3, T1], ids=["two", "three", "amounts"])
def test_rows_as_landmarks_have_the_losses_of_the_paper(y, family):
    f = fit(y, family=family)
    similarity = naive.amount_similarity(y) if y is T1 else naive.class_similarity(y)
    points, W, Q = parts(f)
    losses = f.selection_.stats["losses"]
    for i, at in enumerate(places(f)):
        expected = [naive.first_order(X, similarity, w, at) for w in W[i]]
        assert_allclose(losses[i], expected, atol=1e-9)
        assert_allclose(Q[i], naive.posterior(expected, 60, 1.0), atol=1e-7)
    columns = np.einsum("lk,nlk->nl", Q, np.cos(np.einsum("lkd,nld->nlk", W, X[:, None] - points)))
    assert_allclose(f.transform(X), columns, atol=1e-9)
    own = f.transform(f.landmarks_)
    assert_allclose(np.diagonal(own), 1.0, atol=1e-9)  # every landmark is like itself
    assert np.abs(f.transform(X)).max() <= 1 + 1e-9


@pytest.mark.parametrize("y", [Y2, Y3, T1], ids=["two", "three", "amounts"])
def test_points_given_with_targets(y):
    points, at = rows(4, 3, 9), y[:4]
    f = fit(y, landmarks=(points, at))
    every, together = np.concatenate([y, at]), np.concatenate([X, points])
    if y is T1:
        theta = np.arctan((every - y.mean()) / y.std())
        similarity = np.cos(theta[:, None] - theta)
    else:
        similarity = naive.class_similarity(every)
    _, W, _ = parts(f)
    for i in range(4):
        use = [*range(60), 60 + i]
        expected = [
            naive.first_order(together[use], similarity[np.ix_(use, use)], w, 60) for w in W[i]
        ]
        assert_allclose(f.selection_.stats["losses"][i], expected, atol=1e-9)
    assert f.certificates_["learner"].broken == (() if y is not T1 else f.certificate_.broken)


def test_centroids_have_the_mixture_of_their_rows():
    f = fit(Y3, landmarks="kmeans", n_landmarks=4)
    points, W, _ = parts(f)
    nearest = np.square(X[:, None] - points).sum(axis=2).argmin(axis=1)
    for i in range(4):
        shares = np.array([np.mean(Y3[nearest == i] == c) for c in range(3)])
        similar = 2 * shares[Y3] - 1
        expected = [np.mean((1 - similar * np.cos((X - points[i]) @ w)) / 2) for w in W[i]]
        assert_allclose(f.selection_.stats["losses"][i], expected, atol=1e-9)


def test_learning_off_gives_the_kernel():
    f = LandmarkFeatures(7, "random", learn=False, family=FIXED, random_state=0).fit(X)
    distance = np.square(X[:, None] - f.landmarks_).sum(axis=2)
    assert_allclose(f.transform(X), np.exp(-distance / 2 / 1.5**2), atol=1e-12)
    given = LandmarkFeatures(landmarks=X[:3], learn=False, family=FIXED).fit(X)
    assert_array_equal(given.landmarks_, X[:3])
    assert list(given.get_feature_names_out()) == ["landmark0", "landmark1", "landmark2"]


def test_streams_sparse_order_and_dask():
    whole = fit(Y3)
    order = rng(5).permutation(60)
    others = [
        fit(Y3[order], X[order]),
        fit(Y3, sparse.csr_array(X)),
        LandmarkFeatures(6, "random", 5, family=FIXED, random_state=0, task="classification").fit(
            scan([(X[:20], Y3[:20]), (X[20:], Y3[20:])])
        ),
    ]
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(25, 3))
    others.append(fit(da.from_array(Y3, chunks=25), lazy))
    for other in others:
        assert_allclose(other.selection_.stats["losses"], whole.selection_.stats["losses"])
        assert_allclose(other.transform(X), whole.transform(X), atol=1e-9)
    assert_allclose(others[-1].transform(lazy).compute(), whole.transform(X), atol=1e-9)
    assert_allclose(np.concatenate(list(whole.transform(scan([X[:9], X[9:]])))), whole.transform(X))


def test_a_row_of_weight_two_is_the_row_twice():
    w = rng(3).integers(0, 3, 60).astype(float)
    copies = np.repeat(np.arange(60), w.astype(int))
    one = LandmarkFeatures(6, "random", 5, family=FIXED, random_state=0)
    weighted = one.fit(X, Y3, sample_weight=w).selection_.stats["losses"]
    assert_allclose(weighted, one.fit(X[copies], Y3[copies]).selection_.stats["losses"])


def test_shares_counts_and_strata():
    assert fit(n_landmarks=0.1).transform(X).shape == (60, 6)
    assert fit(n_landmarks=60).transform(X).shape == (60, 60)
    for landmarks in ("random", "kmeans"):
        unequal = np.r_[np.zeros(50, int), np.ones(10, int)]
        f = fit(unequal, landmarks=landmarks, n_landmarks=12, stratify=True)
        assert f.transform(X).shape == (60, 12)
        if landmarks == "random":
            assert np.sum(unequal[places(f)]) == 2
        assert "class by class" in " ".join(f.certificate_.broken)


def test_beta_may_be_changed_afterwards():
    from bochner.learners.landmarks import Learned

    f = fit(Y3)
    stats = f.selection_.stats
    found = Learned(f.feature_map_, stats["losses"], f.feature_map_.projection.mix, stats["n"])
    again = fit(Y3, beta=3.0)
    assert_allclose(reweighted(found, 3.0).feature_map(X), again.transform(X), atol=1e-12)
    assert np.all(again.selection_.stats["effective"] < stats["effective"])
    for beta in (1e-300, 1e308):
        Q = posteriors(stats["losses"], 60, beta)
        assert_allclose(Q.sum(axis=1), 1.0)


def test_it_learns_what_the_plain_kernel_cannot_say():
    """Labels by one of ten columns: learned similarities look along it."""
    X = rows(2000, 10, 4)
    y = (np.sin(2 * X[:, 0]) > 0).astype(int)
    score = {}
    for learn in (False, True):
        f = LandmarkFeatures(40, "random", 64, learn=learn, random_state=0, family=Gaussian(2.0))
        model = make_pipeline(f, LogisticRegression(C=100, max_iter=1000))
        score[learn] = model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    assert score[True] > score[False] + 0.03


def test_certificates():
    plain = fit(Y2, X, n_frequencies=16)
    assert plain.certificate_.holds
    assert plain.certificate_.details["landmarks"] == 6
    assert plain.certificate_.empirical == pytest.approx(plain.selection_.stats["loss"].mean())
    assert plain.certificate_.details["n"] == 59
    for options, word in [
        ({"landmarks": "kmeans"}, "centroids"),
        ({"landmarks": rows(3, 3, 8)}, "nearest"),
        ({"family": Gaussian()}, "bandwidth"),
    ]:
        assert word in " ".join(fit(**options).certificate_.broken)
    aside = fit(landmarks="kmeans", family=Gaussian(), certify=0.4)
    assert aside.certificate_.holds
    assert "set aside" in aside.certificate_.name
    with pytest.raises(AttributeError, match="certify=True"):
        _ = LandmarkFeatures(3, "random", learn=False).fit(X).certificate_


def test_losses_by_hand():
    s = np.array([[[3.0, 1.0, 0.5]]])  # one landmark, one frequency, three classes
    assert landmark_losses(s, np.array([[1.0, 0, 0]]), 10, True, False)[0, 0] == pytest.approx(
        0.5 - 0.5 * (3.0 - 1.5) / 10
    )
    assert landmark_losses(s, np.array([[1.0, 0, 0]]), 10, True, True)[0, 0] == pytest.approx(
        0.5 - 0.5 * (3.0 - 1.5 - 1.0) / 9
    )


def test_refusals():
    for share in (0.0, 1.0, -1, 0, True, "few", None, np.nan):
        with pytest.raises(ValueError, match="n_landmarks"):
            fit(n_landmarks=share)
    with pytest.raises(ValueError, match="more than the 60 rows"):
        fit(n_landmarks=61)
    with pytest.raises(ValueError, match="distinct rows"):
        fit(X=np.repeat(X[:6], 10, axis=0), n_landmarks=7)
    with pytest.raises(ValueError, match="more than once"):
        fit(landmarks=X[[0, 1, 0]])
    with pytest.raises(ValueError, match="columns"):
        fit(landmarks=np.ones((2, 2)))
    with pytest.raises(ValueError, match="targets"):
        fit(landmarks=(X[:3], Y2[:2]))
    with pytest.raises(ValueError, match="landmarks="):
        fit(landmarks="grid")
    for beta in (0.0, -1.0, np.inf, np.nan, "auto"):
        with pytest.raises(ValueError, match="beta"):
            fit(beta=beta)
    for K in (0, 1.5, True):
        with pytest.raises(ValueError, match="n_frequencies"):
            fit(n_frequencies=K)
    with pytest.raises(ValueError, match="Fourier"):
        fit(family=ArcCosine(1))
    with pytest.raises(ValueError, match="one class"):
        fit(np.zeros(60, int))
    with pytest.raises(ValueError, match="'rare' has one row"):
        fit(np.r_[np.full(59, "often"), ["rare"]])
    with pytest.raises(ValueError, match="no classes"):
        fit(T1, stratify=True)
    with pytest.raises(ValueError, match="requires y"):
        LandmarkFeatures().fit(X)
    with pytest.raises(ValueError, match="NaN"):
        fit(X=np.where(X > 2, np.nan, X))


def test_the_same_columns_however_they_are_cut_into_tiles():
    """Groups that divide a tile, that do not, and that are wider than one (512 forms)."""
    Z = rows(70, 3)
    for L, K in ((20, 64), (70, 48), (3, 700), (30, 33)):
        columns = ops.Mixed(Gaussian(1.0).draw(L * K, 3, rng(2)), rng(3).random((L, K)))
        assert_allclose(ops.features(Z, columns), columns.define(Z), rtol=1e-9, atol=1e-9)


def test_a_weight_is_no_number_of_independent_rows():
    """The bound would shrink with the weights, and promise what it cannot keep."""
    options = {"landmarks": "random", "n_landmarks": 6, "family": FIXED, "random_state": 1}
    heavy = np.full(60, 10.0)
    f = LandmarkFeatures(**options).fit(X, Y2, sample_weight=heavy)
    assert not f.certificate_.holds
    assert "weights" in f.certificate_.broken[0]
    one, ten = (
        LandmarkFeatures(certify=0.5, **options).fit(X, Y2, sample_weight=w)
        for w in (np.ones(60), heavy)
    )
    assert one.certificates_["kernel"].details == ten.certificates_["kernel"].details
    assert ten.certificates_["kernel"].holds


def test_no_rows_set_aside_is_no_certificate():
    for estimator in (LandmarkFeatures, LearnedFeatures):
        with pytest.raises(ValueError, match="certify="):
            estimator(certify=1e-9).fit(X, Y2)
