"""From a row to random Fourier features of length at most 1: the feature map of differentially private training.

Nothing in it is fitted to rows but by dp sums; it serves at the sites, and in the model. Its arithmetic is exact
(:mod:`flower_pansvm.privacy.exact`).
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.privacy import exact

EDGES = np.array([0.0, *2.0 ** np.array([-10, -8, -6, -5, -4, -3]), *np.arange(2, 8) / 8, 31 / 32])
"""Upper ends of the bins of a column, but for the last two: below 1, and 1. The first is the lower end alone, as many
columns are full of it."""

BINS = len(EDGES) + 2
MIDDLES = np.array([0.0, *(EDGES + np.append(EDGES[1:], 1.0)) / 2, 1.0])
"""Of the bins: the lower end alone, the bins between, the upper end alone."""

FURTHEST = 3.0
"""Standard deviations from the mean at which a cell is clipped."""

LEAST_LENGTH = 0.75
"""Rows shorter than this share of the usual length keep it in the linear part; longer ones have all the same."""

CONSTANT = 0.25
"""The last feature, in place of an intercept."""


def places(X: Floats, low: Floats, high: Floats) -> Floats:
    """Return cells as positions between the ends of their columns, 0 to 1, shape (rows, columns); NaN if missing."""
    with np.errstate(all="ignore"):
        # Invalid or reversed ends give values between 0 and 1, too.
        inside: Floats = np.clip((X - low) / (high - low), 0.0, 1.0)
    return np.where(np.isnan(inside) & ~np.isnan(X), 0.0, inside)


def bins(inside: Floats) -> Ints:
    """Return the bin of each place, of `BINS`; undefined for missing cells."""
    return np.searchsorted(EDGES, inside, side="left") + (inside >= 1.0)


def within_bounds(low: Floats, high: Floats, frequencies: Floats, size: int, columns: int) -> bool:
    """Return whether a map of ``size`` features is for so many columns, and within the bounds of exact arithmetic.

    ``low`` and ``high``, shape (columns,), are the ends of each column; ``frequencies``, shape (frequencies, columns),
    are in turns, multiples of `FREQUENCY_STEP`.
    """
    return (
        low.shape == high.shape == frequencies.shape[1:] == (columns,)
        and columns <= exact.MOST_COLUMNS
        and size <= exact.MOST_FEATURES
        and bool(np.isfinite([low, high]).all() and np.all(low < high))
        and exact.is_exact(frequencies, exact.FREQUENCY_STEP, exact.LARGEST_FREQUENCY)
    )


@dataclass(frozen=True)
class FourierMap:
    """From a row to its features; also the message that every site receives."""

    low: Floats  # (columns,): public lower end of each column
    high: Floats  # (columns,): and upper end
    ranks: Floats  # (columns, BINS): standardised rank in the middle of each bin
    rises: Floats  # (columns, BINS): how steeply the rank rises there
    mean: Floats  # (columns,): of the places between the ends
    deviation: Floats  # (columns,): of these places, too
    # (frequencies, columns): in turns for a scaled cell of 1, multiples of `FREQUENCY_STEP`; cosine and sine of each
    frequencies: Floats
    linear: float  # length of the linear part of the features, before the constant is appended; 0 to 1

    @property
    def size(self) -> int:
        """Number of features: linear ones, cosines, sines, a constant."""
        return len(self.low) + 2 * len(self.frequencies) + 1

    def fits(self, columns: int) -> bool:
        """Return whether all its parts are for so many columns, and within the bounds of exact arithmetic."""
        vectors, tables = (self.mean, self.deviation), (self.ranks, self.rises)
        return (
            within_bounds(self.low, self.high, self.frequencies, self.size, columns)
            and all(array.shape == (columns,) for array in vectors)
            and all(array.shape == (columns, BINS) for array in tables)
            and all(bool(np.isfinite(array).all()) for array in (*vectors, *tables))
            and bool(np.all(self.deviation > 0))
            and 0 <= self.linear <= 1
        )

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, shape (rows, size), multiples of `STEP`; each row's 2-norm is at most 1.

        ``X``, shape (rows, columns), is in the table's own units; NaN is a missing cell.
        """
        cells, linear, amplitude = self.scaled(X), *self.lengths
        least = LEAST_LENGTH * float(np.sqrt(len(self.low)))
        constant = np.full((len(X), 1), CONSTANT)
        parts = (
            exact.shortened(cells, exact.CELL_STEP, linear, least),
            *exact.waves(cells, self.frequencies, amplitude),
            constant,
        )
        return np.hstack(parts)

    @property
    def lengths(self) -> tuple[float, float]:
        """Largest length of the linear part, and amplitude of the waves, multiples of `STEP`.

        With the constant: linear² + frequencies * amplitude² + constant² <= 1.
        """
        remainder = np.sqrt(1 - CONSTANT**2)
        share = np.sqrt((1 - self.linear**2) / max(len(self.frequencies), 1))
        return exact.cut(remainder * self.linear), exact.cut(remainder * share)

    def scaled(self, X: Floats) -> Floats:
        """Return cells as the mean of their standardised rank and their standardised value, multiples of `CELL_STEP`.

        Shape (rows, columns); 0 where missing.
        """
        with np.errstate(all="ignore"):
            inside = places(X, self.low, self.high)
            columns, indices = np.arange(len(self.low)), bins(inside)
            ranks = self.ranks[columns, indices] + self.rises[columns, indices] * (inside - MIDDLES[indices])
            values = np.clip((inside - self.mean) / self.deviation, -FURTHEST, FURTHEST)
            return exact.rounded((ranks + values) / 2, exact.CELL_STEP, exact.LARGEST_CELL)
