"""Scaling of the features by what all sites hold together, from sums only.

Missing cells are filled with the federated mean, so that in scaled units they are 0 with ``standard``.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

CONSTANT = 1e-12
"""A column whose variance is below this share of its mean square is constant but for rounding."""


def moments(X: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return what one site adds to the federated mean and variance.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        The site's rows; NaN is a missing cell.

    Returns
    -------
    dict
        ``count``, ``total`` and ``square``: for each feature the number of cells present, their sum and the
        sum of their squares, each of shape (features,).
    """
    present = ~np.isnan(X)
    filled = np.where(present, X, 0.0)
    return {
        "count": present.sum(axis=0).astype(np.float64),
        "total": filled.sum(axis=0),
        "square": np.square(filled).sum(axis=0),
    }


@dataclass(frozen=True)
class Scaling:
    """An affine map of each feature, and what to put into missing cells.

    Parameters
    ----------
    fill : ndarray of shape (features,)
        Value for missing cells, in the table's units.
    shift, scale : ndarray of shape (features,)
        A cell x becomes (x - shift) / scale.
    """

    fill: NDArray[np.float64]
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def standard(
        cls, count: NDArray[np.float64], total: NDArray[np.float64], square: NDArray[np.float64]
    ) -> Self:
        """Return the scaling to mean 0 and variance 1, from the sums over sites of :func:`moments`.

        A constant column, and one that is missing everywhere, is only shifted: it becomes 0.
        """
        mean, variance = mean_and_variance(count, total, square)
        return cls(mean, mean, np.where(variance > 0, np.sqrt(variance), 1.0))

    @classmethod
    def none(
        cls, count: NDArray[np.float64], total: NDArray[np.float64], square: NDArray[np.float64]
    ) -> Self:
        """Return the scaling that only fills missing cells with the federated mean."""
        mean, _ = mean_and_variance(count, total, square)
        return cls(mean, np.zeros_like(mean), np.ones_like(mean))

    @classmethod
    def minmax(cls, mean: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Return the scaling of [low, high] to [-1, 1], as the paper's data sets are scaled.

        Parameters
        ----------
        mean : ndarray of shape (features,)
            Federated mean, for missing cells.
        low, high : ndarray of shape (features,)
            Smallest and largest cell over all sites. A constant column becomes 0.
        """
        half = (high - low) / 2
        return cls(mean, (low + high) / 2, np.where(half > 0, half, 1.0))

    def of(self, features: NDArray[np.bool_]) -> "Scaling":
        """Return the scaling of some of the features, which a mask of shape (features,) picks."""
        return Scaling(self.fill[features], self.shift[features], self.scale[features])

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows filled and scaled, shape (rows, features)."""
        return (np.where(np.isnan(X), self.fill, X) - self.shift) / self.scale


def mean_and_variance(
    count: NDArray[np.float64], total: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of each feature over the cells present, 0 where there is nothing to see."""
    present = np.where(count > 0, count, 1.0)
    mean = total / present
    mean_square = square / present
    variance = mean_square - np.square(mean)
    return mean, np.where(variance > CONSTANT * mean_square, variance, 0.0)
