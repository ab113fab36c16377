"""Moments by class: against numpy on the rows, over sites, and where there is nothing or nothing but rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.scaling import moments
from strategies.selection.filters import ClassMoments

PARTS = ("count", "total", "square")


def by_class(X: NDArray[np.float64], y: NDArray[np.int64], classes: int) -> ClassMoments:
    groups = [moments(X[y == one]) for one in range(classes)]
    return ClassMoments(*(np.stack([group[part] for group in groups]) for part in PARTS))


def rows(seed: int, classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(60) % classes)
    X = random.normal(size=(60, 4)) + 0.5 * y[:, None] * random.normal(size=4)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


@given(st.integers(0, 1000), st.sampled_from([0, 1]))
def test_means_and_variances_are_those_of_the_rows(seed: int, ddof: int) -> None:
    X, y = rows(seed)
    found = by_class(X, y, 3)
    for one in range(3):
        np.testing.assert_allclose(found.mean[one], np.nanmean(X[y == one], axis=0), atol=1e-12)
        np.testing.assert_allclose(
            found.variance(ddof)[one], np.nanvar(X[y == one], axis=0, ddof=ddof), rtol=1e-9
        )


@given(st.integers(0, 1000))
def test_the_sums_of_five_sites_give_the_pooled_moments(seed: int) -> None:
    X, y = rows(seed)
    pooled = by_class(X, y, 3)
    site = np.random.default_rng(seed).integers(5, size=len(X))
    parts = [by_class(X[site == one], y[site == one], 3) for one in range(5)]
    summed = ClassMoments(*(np.sum([getattr(one, part) for one in parts], axis=0) for part in PARTS))
    np.testing.assert_allclose(summed.mean, pooled.mean, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(summed.variance(1), pooled.variance(1), rtol=1e-9)


@pytest.mark.parametrize("pair", [Pair(1, REST), Pair(0, REST), Pair(2, 0), Pair(0, 2)])
def test_sides_are_the_moments_of_the_rows_on_each_side(pair: Pair) -> None:
    X, y = rows(0)
    sides = by_class(X, y, 3).sides(pair)
    others = y != pair.positive if pair.negative == REST else y == pair.negative
    for row, mine in enumerate([y == pair.positive, others]):
        np.testing.assert_allclose(sides.mean[row], np.nanmean(X[mine], axis=0))
        np.testing.assert_allclose(sides.variance(1)[row], np.nanvar(X[mine], axis=0, ddof=1))


def test_a_group_without_cells_has_mean_and_variance_zero() -> None:
    found = by_class(np.array([[np.nan], [2.0]]), np.array([0, 1]), 3)
    assert found.mean.ravel().tolist() == [0.0, 2.0, 0.0]
    assert (found.variance(0) == 0).all()


def test_one_cell_has_no_sample_variance() -> None:
    assert by_class(np.array([[0.3], [1.0], [2.0]]), np.array([0, 1, 1]), 2).variance(1).ravel().tolist() == [
        0.0,
        0.5,
    ]


def test_rows_with_weights_have_the_variance_over_their_weights() -> None:
    x, weight = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.75, 0.25])
    sums = [np.array([[sum_]]) for sum_ in (weight.sum(), weight @ x, weight @ x**2)]
    mean = np.average(x, weights=weight)
    np.testing.assert_allclose(ClassMoments(*sums).variance(0), np.average((x - mean) ** 2, weights=weight))
    np.testing.assert_allclose(ClassMoments(*sums).variance(1), weight @ (x - mean) ** 2 / 0.5)


@given(st.floats(-1e6, 1e6), st.integers(1, 200))
def test_a_constant_column_has_variance_zero_whatever_the_rounding(value: float, count: int) -> None:
    found = by_class(np.full((count, 1), value), np.arange(count) % 2, 2)
    assert not found.varies.any()
    assert (found.variance(0) == 0).all()
    assert (found.variance(1) == 0).all()


def test_a_column_varies_if_classes_are_constant_at_different_values() -> None:
    found = by_class(np.array([[0.1, 0.1], [0.1, 0.1], [0.7, 0.1]]), np.array([0, 0, 1]), 2)
    assert found.varies.tolist() == [True, False]
