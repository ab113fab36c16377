"""Rows that the coordinator makes up: they lie around the landmarks, and spread as the rows of the sites do."""

import numpy as np
import pytest

from flower_pansvm.kernels import Kernel
from strategies.steps.fitted_map import fit_map
from strategies.steps.synthetic_rows import (
    EACH,
    LEAST_SPREAD,
    MOST_CELLS,
    MOST_EACH,
    ROWS_FOR_ONE,
    synthetic_rows,
)

LINEAR = Kernel("linear")
"""With as many landmarks as columns or more its map is a rotation, so that lengths are those of the rows."""


def test_rows_and_their_synthetic_ones_have_the_same_second_moments() -> None:
    """Rows in clouds, whose middles are the landmarks: what the guess of the curvature is made of is alike."""
    rng = np.random.default_rng(0)
    middles = 2.0 * rng.normal(size=(40, 5))
    rows = np.repeat(middles, 500, axis=0) + np.array([0.3, 0.5, 1.0, 1.5, 2.0]) * rng.normal(
        size=(20_000, 5)
    )
    feature_map = fit_map(LINEAR, middles)
    mapped = feature_map.transform(rows)
    found = synthetic_rows(feature_map, rows.var(axis=0), len(rows)).astype(np.float64)
    assert len(found) == 40 * EACH
    wanted, made = mapped.T @ mapped / len(mapped), found.T @ found / len(found)
    assert np.linalg.norm(made - wanted) < 0.1 * np.linalg.norm(wanted)
    of_landmarks = feature_map.transform(middles)
    assert np.linalg.norm(of_landmarks.T @ of_landmarks / 40 - wanted) > 0.2 * np.linalg.norm(wanted)


def test_where_landmarks_spread_as_far_as_rows_some_spread_around_them_is_left() -> None:
    landmarks = np.random.default_rng(0).normal(size=(200, 3))
    found = synthetic_rows(fit_map(LINEAR, landmarks), 0.5 * landmarks.var(axis=0), 0).astype(np.float64)
    within = found.reshape(200, EACH, 3).var(axis=1, ddof=1).sum(axis=1).mean()
    assert within == pytest.approx(LEAST_SPREAD * 0.5 * landmarks.var(axis=0).sum(), rel=0.1)


def test_a_constant_column_stays_constant() -> None:
    landmarks = np.column_stack([np.random.default_rng(0).normal(size=30), np.full(30, 7.0)])
    feature_map = fit_map(LINEAR, landmarks)
    found = synthetic_rows(feature_map, np.array([2.0, 0.0]), 0).astype(np.float64)
    back = np.linalg.lstsq(feature_map.transform(np.eye(2)).T, found.T, rcond=None)[0].T
    assert back[:, 1] == pytest.approx(np.full(len(found), 7.0), rel=1e-4)
    assert back[:, 0].std() > 1.0


def test_with_thousands_of_columns_there_are_fewer() -> None:
    landmarks = np.random.default_rng(0).normal(size=(60, 3_000))
    found = synthetic_rows(fit_map(Kernel("rbf", gamma=1e-4), landmarks), np.ones(3_000), 10**9)
    assert len(found) == 60 * (MOST_CELLS // landmarks.size)


def test_they_are_the_same_each_time() -> None:
    feature_map = fit_map(Kernel("rbf", gamma=0.1), np.random.default_rng(0).normal(size=(20, 4)))
    first, second = (synthetic_rows(feature_map, np.ones(4), 0) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize(
    ("rows", "each"),
    [(0, EACH), (20 * EACH * ROWS_FOR_ONE, EACH), (20 * 17 * ROWS_FOR_ONE, 17), (10**9, MOST_EACH)],
)
def test_many_rows_have_more_of_them(rows: int, each: int) -> None:
    feature_map = fit_map(Kernel("rbf", gamma=0.1), np.random.default_rng(0).normal(size=(20, 4)))
    assert len(synthetic_rows(feature_map, np.ones(4), rows)) == 20 * each
