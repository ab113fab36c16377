"""Filters: by hand, against scipy and scikit-learn on pooled rows, and where a score is undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_ind

from flower_pansvm.multiclass import REST, Pair, one_versus_all
from flower_pansvm.scaling import moments
from strategies.selection.filters import (
    ClassMoments,
    FilterScores,
    by_classes,
    fisher_score,
    scatter_ratio,
    welch_p,
    welch_t,
)

TWO = Pair(1, REST)


def by_class(X: NDArray[np.float64], y: NDArray[np.int64], classes: int = 2) -> ClassMoments:
    groups = [moments(X[y == one]) for one in range(classes)]
    return ClassMoments(
        *(np.stack([group[part] for group in groups]) for part in ("count", "total", "square"))
    )


def column(negative: list[float], positive: list[float]) -> ClassMoments:
    """Return the sides of one feature."""
    X = np.array([*negative, *positive])[:, None]
    return by_class(X, np.array([0] * len(negative) + [1] * len(positive))).sides(TWO)


def scores(classes: ClassMoments, number: int = 2) -> FilterScores:
    return by_classes(classes, one_versus_all(number))


def rows(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(80) % 2)
    X = random.normal(size=(80, 6)) * (1 + y[:, None]) + y[:, None] * random.normal(size=6)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


def test_scores_by_hand() -> None:
    # Means 0 and 4, population variances 4 / 6 and 1. The overall mean is 1, as one side is larger: between 1 + 9.
    sides = column([-1.0, 1.0, -1.0, 1.0, 0.0, 0.0], [3.0, 5.0])
    np.testing.assert_allclose(fisher_score(sides), 4 / (4 / 6 + 1), rtol=1e-15)
    np.testing.assert_allclose(scatter_ratio(sides), (1 + 9) / (4 + 2), rtol=1e-15)


@given(st.integers(0, 1000))
def test_welch_is_scipys_test_on_the_pooled_rows(seed: int) -> None:
    X, y = rows(seed)
    sides = by_class(X, y).sides(TWO)
    known = ttest_ind(X[y == 1], X[y == 0], equal_var=False, nan_policy="omit")
    np.testing.assert_allclose(welch_t(sides), np.abs(known.statistic), rtol=1e-9)
    np.testing.assert_allclose(welch_p(sides), known.pvalue, rtol=1e-8)


def test_a_corrected_p_value_is_at_most_one() -> None:
    X = np.tile(np.array([[-1.0], [1.0]]), (6, 1))
    assert scores(by_class(X, np.arange(12) // 2 % 3, 3), 3).p.tolist() == [1.0]


@given(st.floats(-1e6, 1e6), st.integers(2, 50), st.integers(2, 50))
def test_a_constant_column_scores_zero_whatever_the_rounding(
    value: float, negative: int, positive: int
) -> None:
    sides = column([value] * negative, [value] * positive)
    assert fisher_score(sides) == welch_t(sides) == scatter_ratio(sides) == 0
    assert welch_p(sides) == 1


def test_sides_constant_at_different_values_score_infinity() -> None:
    sides = column([1.0, 1.0, 1.0], [2.0, 2.0])
    assert fisher_score(sides) == welch_t(sides) == scatter_ratio(sides) == np.inf
    assert welch_p(sides) == 0


@pytest.mark.parametrize("positive", [[], [np.nan, np.nan]])
def test_a_side_without_cells_scores_zero(positive: list[float]) -> None:
    sides = column([1.0, 2.0, 4.0], positive)
    assert fisher_score(sides) == welch_t(sides) == scatter_ratio(sides) == 0
    assert welch_p(sides) == 1


def test_one_cell_on_a_side_leaves_the_t_test_undefined() -> None:
    sides = column([1.0, 2.0, 4.0], [9.0])
    assert welch_t(sides) == 0
    assert welch_p(sides) == 1
    assert fisher_score(sides) > 0


def test_a_class_without_rows_changes_no_scatter_ratio() -> None:
    X, y = rows(0)
    np.testing.assert_array_equal(scatter_ratio(by_class(X, y, 3)), scatter_ratio(by_class(X, y, 2)))


def test_a_column_varies_if_classes_are_constant_at_different_values() -> None:
    found = by_class(np.array([[0.1, 0.1], [0.1, 0.1], [0.7, 0.1]]), np.array([0, 0, 1]))
    assert found.varies.tolist() == [True, False]
