"""Wrapper criteria: by hand, and against scikit-learn's linear SVC and RFE."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_ind
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import RFE
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from flower_pansvm.scaling import moments
from strategies.selection.criteria import ClassMoments, criteria_of
from strategies.selection.voting import least_important


def sides_of(X: NDArray[np.float64], positive: NDArray[np.bool_]) -> ClassMoments:
    parts = moments(X[positive]), moments(X[~positive])
    return ClassMoments(*(np.stack([part[name] for part in parts]) for name in ("count", "total", "square")))


@pytest.fixture(scope="module")
def rows() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y == 1


def rsvm(weights: list[list[float]], sides: list[ClassMoments]) -> list[float]:
    scores: list[float] = criteria_of(np.array(weights), sides, sides)["rsvm"].tolist()
    return scores


def svm_t(*support: ClassMoments) -> NDArray[np.float64]:
    return criteria_of(np.zeros((len(support), 1)), support, support)["svm-t"]


def test_svm_rfe_sums_squared_weights_over_the_problems() -> None:
    sides = [sides_of(np.zeros((2, 3)), np.array([True, False]))] * 2
    weights = np.array([[1.0, -2.0, 0.0], [3.0, 0.5, 0.0]])
    assert criteria_of(weights, sides, sides)["svm-rfe"].tolist() == [10.0, 4.25, 0.0]


def test_rsvm_is_signed_and_summed_over_the_problems() -> None:
    # Means 3 and 1 of the first feature, 0 and 4 of the second; then the sides exchanged.
    X = np.array([[3.0, 0.0], [1.0, 4.0]])
    sides = [sides_of(X, np.array([True, False])), sides_of(X, np.array([False, True]))]
    assert rsvm([[5.0, 1.0]], sides[:1]) == [10.0, -4.0]
    assert rsvm([[5.0, 1.0], [1.0, -2.0]], sides) == [10.0 - 2.0, -4.0 - 8.0]


def test_svm_t_is_welchs_t_over_the_support_vectors(
    rows: tuple[NDArray[np.float64], NDArray[np.bool_]],
) -> None:
    X, positive = rows
    support = SVC(kernel="linear").fit(X, positive).support_
    X, positive = X[support], positive[support]
    known = np.abs(ttest_ind(X[positive], X[~positive], equal_var=False).statistic)
    np.testing.assert_allclose(svm_t(sides_of(X, positive)), known, rtol=1e-9)
    np.testing.assert_allclose(svm_t(sides_of(X, positive), sides_of(X, ~positive)), 2 * known, rtol=1e-9)


def test_a_problem_with_one_support_vector_on_a_side_adds_nothing() -> None:
    X = np.array([[3.0, 0.0], [1.0, 4.0], [1.5, 2.0]])
    assert svm_t(sides_of(X, np.array([True, False, False]))).tolist() == [0.0, 0.0]


def test_the_least_feature_by_svm_rfe_is_the_one_scikit_learn_removes_first(
    rows: tuple[NDArray[np.float64], NDArray[np.bool_]],
) -> None:
    X, positive = rows
    svm = SVC(kernel="linear")
    first = np.argmax(RFE(svm, n_features_to_select=X.shape[1] - 1).fit(X, positive).ranking_)
    sides = [sides_of(X, positive)]
    scores = criteria_of(svm.fit(X, positive).coef_, sides, sides)["svm-rfe"]
    assert least_important(scores, np.ones(X.shape[1], dtype=bool), 1).tolist() == [first]


def test_a_constant_column_scores_zero(rows: tuple[NDArray[np.float64], NDArray[np.bool_]]) -> None:
    X, positive = rows
    X = np.column_stack([X, np.zeros(len(X))])
    svm = SVC(kernel="linear").fit(X, positive)
    sides = [sides_of(X, positive)]
    for scores in criteria_of(svm.coef_, sides, sides).values():
        assert scores[-1] == 0
