"""Several classes from binary problems: scikit-learn's order, signs, votes and ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from flower_pansvm.class_columns import positive_classes, winners
from flower_pansvm.multiclass import REST, Pair, class_decisions, one_versus_all, one_versus_one, signs

CLASSES = np.array([0, 2, 1, 2, 0])


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_one_versus_all_has_the_positive_classes(classes: int) -> None:
    pairs = one_versus_all(classes)
    assert tuple(pair.positive for pair in pairs) == positive_classes(classes)
    assert {pair.negative for pair in pairs} == {REST}


def test_one_versus_one_has_every_two_classes_once_in_scikit_learns_order() -> None:
    assert one_versus_one(4) == (
        *(Pair(1, 0), Pair(2, 0), Pair(3, 0)),
        *(Pair(2, 1), Pair(3, 1), Pair(3, 2)),
    )


def test_two_classes_are_the_same_problem_either_way() -> None:
    ((all_pair,), (one_pair,)) = one_versus_all(2), one_versus_one(2)
    classes = np.array([1, 0, 0, 1])
    assert signs(classes, all_pair).tolist() == signs(classes, one_pair).tolist() == [1, -1, -1, 1]


def test_signs() -> None:
    assert signs(CLASSES, Pair(2, REST)).tolist() == [-1, 1, -1, 1, -1]
    assert signs(CLASSES, Pair(2, 0)).tolist() == [-1, 1, 0, 1, -1]
    assert signs(CLASSES, Pair(0, 2)).tolist() == [1, -1, 0, -1, 1]
    for pair in (Pair(1, 0), Pair(1, REST)):
        assert signs(np.empty(0, np.int64), pair).shape == (0,)
        assert signs(CLASSES, pair).dtype == np.float64


@pytest.mark.parametrize("pairs", [one_versus_all(2), one_versus_one(2), one_versus_all(3)])
def test_the_decision_values_of_two_classes_and_of_one_versus_all_stay(pairs: tuple[Pair, ...]) -> None:
    decisions = np.array([[0.5, -1.0, 3.0], [0.0, 0.0, -2.0]])[:, : len(pairs)]
    assert (class_decisions(decisions, pairs, max(len(pairs), 2)) == decisions).all()


class Column(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted binary classifier whose decision values are a column of its input."""

    classes_ = np.array([0, 1])

    def __init__(self, column: int) -> None:
        self.column = column

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return X[:, self.column]

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return (X[:, self.column] > 0).astype(np.int64)


def scikit_learns(decisions: NDArray[np.float64], classes: int) -> OneVsOneClassifier:
    """Return scikit-learn's one-versus-one classifier with these binary decision values."""
    problems = decisions.shape[1]
    reference = OneVsOneClassifier(Column(0))
    reference.classes_ = np.arange(classes)
    reference.estimators_ = [Column(column) for column in range(problems)]
    reference.pairwise_indices_ = None
    reference.n_features_in_ = problems
    return reference


# Small whole numbers make every kind of tie: between votes, between sums of decision values, and zeros.
values = st.integers(-2, 2).map(float) | st.floats(-1e6, 1e6)


@settings(deadline=None, max_examples=200)
@given(data=st.data(), classes=st.integers(3, 6))
def test_one_versus_one_is_scikit_learns_with_ties(data: st.DataObject, classes: int) -> None:
    pairs = one_versus_one(classes)
    decisions = data.draw(arrays(np.float64, (4, len(pairs)), elements=values))
    reference = scikit_learns(decisions, classes)
    found = class_decisions(decisions, pairs, classes)
    assert (found == reference.decision_function(decisions)).all()
    assert (winners(found) == reference.predict(decisions)).all()


def test_one_versus_one_is_libsvms_with_the_other_sign() -> None:
    X, y = load_digits(n_class=5, return_X_y=True)
    model = SVC(decision_function_shape="ovo", gamma=0.001).fit(X[::5], y[::5])
    decisions = -model.decision_function(X)
    expected = model.set_params(decision_function_shape="ovr").decision_function(X)
    found = class_decisions(decisions, one_versus_one(5), 5)
    assert found == pytest.approx(expected, abs=1e-12)
    assert (winners(found) == expected.argmax(axis=1)).all()
