"""The random Fourier map of private and hybrid SVM (Li et al. 2014, equation 7; Rahimi and Recht 2007).

Its arithmetic is exact (:mod:`flower_pansvm.privacy.exact`).
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.fourier_map import places, within_bounds
from flower_pansvm.privacy.exact import CELL_STEP, LARGEST_CELL, cut, rounded, waves

MISSING = 0.5
"""Position of a missing cell between the ends of its column."""


@dataclass(frozen=True)
class RandomFourierMap:
    """From a row to [cos rho_1.x, sin rho_1.x, ...] / sqrt(D), of length 1; also the message to every site."""

    low: Floats  # (columns,): public lower end of each column
    high: Floats  # (columns,): and upper end; x is where a row's cells are between them, 0 to 1
    # (D, columns): the vectors rho, in turns: rho / (2 pi), multiples of `FREQUENCY_STEP`
    frequencies: Floats

    @property
    def size(self) -> int:
        """Number of coordinates of a mapped row."""
        return 2 * len(self.frequencies)

    def fits(self, columns: int) -> bool:
        """Return whether all its parts are for so many columns, and within the bounds of exact arithmetic."""
        return within_bounds(self.low, self.high, self.frequencies, self.size, columns)

    def inside(self, X: Floats) -> Floats:
        """Return rows as the map sees them, shape (rows, columns): each cell's place between the ends, 0 to 1."""
        positions = places(X, self.low, self.high)
        return rounded(np.where(np.isnan(positions), MISSING, positions), CELL_STEP, LARGEST_CELL)

    @property
    def amplitude(self) -> float:
        """Amplitude of the waves, a multiple of `STEP`: D * amplitude² <= 1."""
        return cut(1 / np.sqrt(max(len(self.frequencies), 1)))

    def transform(self, X: Floats) -> Floats:
        """Return mapped rows, shape (rows, size), multiples of `STEP`; each row's 2-norm is at most 1.

        ``X``, shape (rows, columns), is in the table's own units; NaN is a missing cell.
        """
        both = np.stack(waves(self.inside(X), self.frequencies, self.amplitude), axis=2)
        return both.reshape(len(X), self.size)
