"""scikit-learn's own checks of estimators."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import KernelClassifier, KernelRegressor, LandmarkFeatures, LearnedFeatures
from bochner.families import ArcCosine, Gaussian, Laplace, Linear

PAIRS = LearnedFeatures(Laplace(form="pair"), n_components=16, random_state=0)

ESTIMATORS = [
    LearnedFeatures(n_components=16, random_state=0),
    LearnedFeatures(ArcCosine(0), n_components=16, random_state=0),
    LearnedFeatures(Linear(), random_state=0),
    PAIRS,
    KernelClassifier(n_components=32, random_state=0),
    KernelClassifier(Gaussian("scale"), head="squared_hinge", n_components=32, random_state=0),
    KernelClassifier(n_components=32, head="ridge", preprocess=None, random_state=0),
    KernelRegressor(n_components=32, random_state=0),
    KernelRegressor(ArcCosine(1), n_components=32, preprocess=None, random_state=0),
    LearnedFeatures(learner="alignment", n_candidates=64, n_components=16, random_state=0),
    KernelClassifier(learner="alignment", n_candidates=64, n_components=32, random_state=0),
    KernelRegressor(learner="alignment", n_candidates=64, n_components=32, random_state=0),
    LandmarkFeatures(0.2, n_frequencies=4, random_state=0),
    LandmarkFeatures(3, "random", learn=False, random_state=0),
]

ONE_COLUMN = (
    "the check sets n_components=1; an odd number of columns in pair form is an error with advice, "
    "by design"
)
ODD_PAIRS = (
    "check_dont_overwrite_parameters",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
)


def expected_failures(estimator):
    return dict.fromkeys(ODD_PAIRS, ONE_COLUMN) if estimator is PAIRS else {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
