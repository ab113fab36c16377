"""Scalings from what the sites' rows add up to."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.scaling import Scaling

CONSTANT = 1e-12
"""A column whose variance is below this share of its mean square is constant but for rounding."""


def standard(count: NDArray[np.float64], total: NDArray[np.float64], square: NDArray[np.float64]) -> Scaling:
    """Return the scaling to mean 0 and variance 1, from the sums over sites of :func:`flower_pansvm.scaling.moments`.

    A constant column, and one that is missing everywhere, is only shifted: it becomes 0.
    """
    mean, variance = mean_and_variance(count, total, square)
    return Scaling(mean, mean, np.where(variance > 0, np.sqrt(variance), 1.0))


def none(count: NDArray[np.float64], total: NDArray[np.float64], square: NDArray[np.float64]) -> Scaling:
    """Return the scaling that only fills missing cells with the federated mean."""
    mean, _ = mean_and_variance(count, total, square)
    return Scaling(mean, np.zeros_like(mean), np.ones_like(mean))


def minmax(mean: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> Scaling:
    """Return the scaling of [low, high] to [-1, 1], as the paper's data sets are scaled.

    Parameters
    ----------
    mean : ndarray of shape (features,)
        Federated mean, for missing cells.
    low, high : ndarray of shape (features,)
        Smallest and largest cell over all sites. A constant column becomes 0.
    """
    half = (high - low) / 2
    return Scaling(mean, (low + high) / 2, np.where(half > 0, half, 1.0))


def constant_columns(
    columns: Sequence[str],
    count: NDArray[np.float64],
    total: NDArray[np.float64],
    square: NDArray[np.float64],
) -> list[str]:
    """Return the names of the columns in which all cells of all sites are equal, or missing."""
    _, variance = mean_and_variance(count, total, square)
    return [name for name, spread in zip(columns, variance, strict=True) if spread == 0]


def mean_and_variance(
    count: NDArray[np.float64], total: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of each feature over the cells present, 0 where there is nothing to see."""
    present = np.where(count > 0, count, 1.0)
    mean = total / present
    mean_square = square / present
    variance = mean_square - np.square(mean)
    return mean, np.where(variance > CONSTANT * mean_square, variance, 0.0)
