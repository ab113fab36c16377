"""From a row to random Fourier features of length at most 1: the feature map of differentially private training.

Nothing in it is fitted to rows but by sums that are private themselves; it serves at the sites, and in the model.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.privacy.clipping import clipped

EDGES = np.array([0.0, *2.0 ** np.array([-10, -8, -6, -5, -4, -3]), *np.arange(2, 8) / 8, 31 / 32])
"""Upper ends of the bins of a column, but for the last two: below 1, and 1. The first is the lower end alone, as many
columns are full of it."""

BINS = len(EDGES) + 2
WIDTHS = np.diff([0.0, *EDGES, 1.0, 1.0])
MIDDLES = np.array([0.0, *(EDGES + np.append(EDGES[1:], 1.0)) / 2, 1.0])
"""Of the bins: the lower end alone, what is between, the upper end alone."""

FURTHEST = 3.0
"""Most standard deviations from the mean that a cell counts."""

LEAST_LENGTH = 0.75
"""Rows shorter than this share of the usual length keep it in the linear part; longer ones have all the same."""

CONSTANT = 0.25
"""The last feature, in place of an intercept."""


def places(X: Floats, low: Floats, high: Floats) -> Floats:
    """Return where cells are between the ends of their columns, 0 to 1, shape (rows, columns); NaN where missing."""
    with np.errstate(all="ignore"):
        # Of ends that are none, or the wrong way round, something between 0 and 1 is made all the same.
        inside: Floats = np.clip((X - low) / (high - low), 0.0, 1.0)
    return np.where(np.isnan(inside) & ~np.isnan(X), 0.0, inside)


def bins(inside: Floats) -> NDArray[np.int64]:
    """Return the bin of each place, of `BINS`; those of missing cells mean nothing."""
    return np.searchsorted(EDGES, inside, side="left") + (inside >= 1.0)


@dataclass(frozen=True)
class FourierMap:
    """From a row to its features; as a message, what every site is told of it.

    Parameters
    ----------
    low, high : ndarray of shape (columns,)
        Public ends of each column.
    ranks, rises : ndarray of shape (columns, BINS)
        Standardised rank in the middle of each bin, and how steeply it rises there.
    mean, deviation : ndarray of shape (columns,)
        Of the places between the ends.
    frequencies : ndarray of shape (frequencies, columns)
        Of the kernel; a cosine and a sine of each.
    linear : float
        Length of the linear part of the features, before the constant is appended; 0 to 1.
    """

    low: Floats
    high: Floats
    ranks: Floats
    rises: Floats
    mean: Floats
    deviation: Floats
    frequencies: Floats
    linear: float

    @property
    def size(self) -> int:
        """Number of features: linear ones, cosines, sines, a constant."""
        return len(self.low) + 2 * len(self.frequencies) + 1

    def fits(self, columns: int) -> bool:
        """Return whether all its parts are for so many columns."""
        vectors = (self.low, self.high, self.mean, self.deviation)
        return (
            all(part.shape == (columns,) for part in vectors)
            and self.ranks.shape == self.rises.shape == (columns, BINS)
            and self.frequencies.shape[1:] == (columns,)
        )

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, shape (rows, size), of length at most 1 whatever the map.

        Parameters
        ----------
        X : ndarray of shape (rows, columns)
            Cells in the table's own units; NaN is a missing cell.
        """
        with np.errstate(all="ignore"):
            scaled = self._scaled(X)
            length = np.linalg.norm(scaled, axis=1, keepdims=True)
            linear = scaled / np.maximum(length, LEAST_LENGTH * np.sqrt(len(self.low)))
            angles = scaled @ self.frequencies.T
            waves = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(max(len(self.frequencies), 1))
            parts = np.hstack([self.linear * linear, np.sqrt(1 - np.square(self.linear)) * waves])
            constant = np.full((len(X), 1), CONSTANT)
            return clipped(np.hstack([np.sqrt(1 - CONSTANT**2) * parts, constant]))

    def _scaled(self, X: Floats) -> Floats:
        """Return cells as the mean of their standardised rank and their standardised value; 0 where missing."""
        inside = places(X, self.low, self.high)
        columns, found = np.arange(len(self.low)), bins(inside)
        ranks = self.ranks[columns, found] + self.rises[columns, found] * (inside - MIDDLES[found])
        values = np.clip((inside - self.mean) / self.deviation, -FURTHEST, FURTHEST)
        return np.where(np.isnan(X), 0.0, (ranks + values) / 2)
