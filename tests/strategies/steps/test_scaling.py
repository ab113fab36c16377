"""The federation's moments, with and without a fold: those of the pooled rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from flower_pansvm.schema import Schema
from flower_pansvm.systems.common import NO_FOLD
from strategies.settings import Settings, make_settings
from strategies.steps.scaling import Moments, learn_moments
from tests.strategies.conftest import joined

SITES, FOLDS = 5, 4


@pytest.fixture
def data(write_table: Callable[..., str]) -> str:
    """Return a table with columns of very different size, one constant, one without any cell, and missing cells."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(230, 6)) * 10.0 ** np.arange(-3, 3) + np.array([0.1, 0, 0, 5, -7, 100])
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4], X[:, 5] = 3.5, np.nan
    return write_table(X, rng.integers(0, 3, size=230))


def learned(settings: Settings) -> tuple[Schema, Moments]:
    federation = joined(settings)
    return federation.schema, learn_moments(federation, settings.scaling)


def filled(X: NDArray[np.float64], others: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the rows with missing cells filled by the mean of some of them; 0 if these have none."""
    counted = np.maximum((~np.isnan(X[others])).sum(axis=0), 1)
    return np.where(np.isnan(X), np.nansum(X[others], axis=0) / counted, X)


@pytest.mark.parametrize("fold", [NO_FOLD, *range(FOLDS)])
def test_the_scaling_without_a_fold_is_that_of_the_pooled_other_rows(
    fold: int, data: str, pool: Callable[..., Any]
) -> None:
    settings = make_settings(data=data, sites=SITES, privacy="exact", C="auto", cv_folds=FOLDS)
    schema, moments = learned(settings)
    rows = pool(settings, schema)
    others = rows.folds != fold
    scaled = moments.scaled(fold)
    scaler = StandardScaler().fit(rows.X[others][:, :5])
    assert scaled.scaling.shift[:5] == pytest.approx(scaler.mean_, rel=1e-9)
    assert scaled.scaling.scale[:5] == pytest.approx(scaler.scale_, rel=1e-9)
    assert (scaled.scaling.shift[5], scaled.scaling.scale[5]) == (0.0, 1.0)
    assert scaled.rows == others.sum()
    assert moments.class_rows(fold).tolist() == np.bincount(rows.classes[others]).tolist()
    cells = scaled.scaling.transform(rows.X)
    assert scaled.squares == pytest.approx(np.square(cells[others]).sum(axis=0))
    assert scaled.variance() == pytest.approx(cells[others].var())


def test_minmax_without_a_fold_uses_the_extremes_of_the_other_rows(
    data: str, pool: Callable[..., Any]
) -> None:
    settings = make_settings(
        data=data, sites=SITES, privacy="exact", C="auto", cv_folds=FOLDS, scaling="minmax"
    )
    schema, moments = learned(settings)
    rows = pool(settings, schema)
    for fold in moments.folds:
        others = rows.folds != fold
        columns = [0, 1, 2, 3]
        expected = MinMaxScaler((-1, 1)).fit(rows.X[others][:, columns]).transform(rows.X[:, columns])
        cells = moments.scaled(fold).scaling.transform(rows.X)[:, columns]
        present = ~np.isnan(expected)
        assert cells[present] == pytest.approx(expected[present])


def test_without_folds_there_is_one_fold_of_all_rows(data: str, pool: Callable[..., Any]) -> None:
    settings = make_settings(data=data, sites=SITES, privacy="exact")
    schema, moments = learned(settings)
    assert moments.rows.tolist() == [np.bincount(pool(settings, schema).classes).tolist()]
