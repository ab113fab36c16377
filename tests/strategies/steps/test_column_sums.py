"""Scaling from sums: whatever way the rows are dealt out, as scikit-learn scales the pooled table."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from flower_pansvm.scaling import Scaling, moments
from strategies.steps.scaling import ColumnSums, fit_scaling, scaling_of_rows


def table(rows: int = 60, missing: float = 0.2, seed: int = 0) -> NDArray[np.float64]:
    """Return a table with columns of different size and some missing cells, but none without any cell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5)) * [1, 1e3, 1e-4, 10, 1] + [0, 50, 1, -3e3, 0]
    X[1:][rng.random((rows - 1, 5)) < missing] = np.nan
    return X


def summed(parts: list[NDArray[np.float64]]) -> ColumnSums:
    each = [moments(part) for part in parts]
    return ColumnSums(*(np.sum([one[name] for one in each], axis=0) for name in ("count", "total", "square")))


def standard(parts: list[NDArray[np.float64]]) -> Scaling:
    nothing = np.empty(0)
    return fit_scaling("standard", summed(parts), nothing, nothing)


def test_none_only_fills_missing_cells_with_the_mean() -> None:
    X = table()
    scaling = scaling_of_rows("none", X)
    assert (scaling.transform(X)[~np.isnan(X)] == X[~np.isnan(X)]).all()
    assert scaling.transform(X) == pytest.approx(np.where(np.isnan(X), np.nanmean(X, axis=0), X))


@pytest.mark.parametrize("value", [0.0, 1.0, -7.3, 1e-9, 123456.789, 1e15])
def test_a_constant_column_becomes_zero(value: float) -> None:
    X = np.full((997, 1), value)
    scaling = standard(np.array_split(X, 7))
    assert scaling.scale.tolist() == [1.0]
    assert np.abs(scaling.transform(X)).max() <= 1e-12 * abs(value)
    half = scaling_of_rows("minmax", X)
    assert (half.transform(X) == 0).all()


def test_a_column_missing_everywhere_becomes_zero() -> None:
    X = np.column_stack([np.arange(5.0), np.full(5, np.nan)])
    for scaling in (scaling_of_rows(kind, X) for kind in ("standard", "none", "minmax")):
        assert (scaling.transform(X)[:, 1] == 0).all()
        assert np.isfinite(scaling.transform(X)).all()


@pytest.mark.parametrize("offset", [1e2, 1e4, -1e5])
def test_a_huge_offset_keeps_the_variance(offset: float) -> None:
    x = np.random.default_rng(0).normal(size=(2000, 1))
    scaling = standard(np.array_split(x + offset, 5))
    expected = StandardScaler().fit_transform(x + offset)
    assert scaling.transform(x + offset) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_an_offset_beyond_the_precision_of_sums_counts_as_constant() -> None:
    # Mean square 1e18, variance 1: the sums hold no digit of the variance, and noise must not be blown up.
    x = np.random.default_rng(0).normal(size=(500, 1)) + 1e9
    scaling = standard(np.array_split(x, 3))
    assert scaling.scale.tolist() == [1.0]
    assert np.abs(scaling.transform(x)).max() < 10
