"""The random Fourier map of private and hybrid SVM (Li et al. 2014, equation 7; Rahimi and Recht 2007)."""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.fourier_map import places

MISSING = 0.5
"""Where a missing cell is between the ends of its column."""


@dataclass(frozen=True)
class RandomFourierMap:
    """From a row to [cos rho_1.x, sin rho_1.x, ...] / sqrt(D), of length 1; as a message, what every site is told.

    Parameters
    ----------
    low, high : ndarray of shape (columns,)
        Public ends of each column; x is where a row's cells are between them, 0 to 1.
    frequencies : ndarray of shape (D, columns)
        The vectors rho.
    intercept : float
        If not 0, this number is appended, and the row divided by its length: its weight is an intercept.
    """

    low: Floats
    high: Floats
    frequencies: Floats
    intercept: float

    @property
    def size(self) -> int:
        """Number of coordinates of a mapped row."""
        return 2 * len(self.frequencies) + (self.intercept != 0)

    def fits(self, columns: int) -> bool:
        """Return whether all its parts are for so many columns."""
        ends = self.low.shape == self.high.shape == (columns,)
        return ends and self.frequencies.ndim == 2 and self.frequencies.shape[1] == columns

    def inside(self, X: Floats) -> Floats:
        """Return rows as the map sees them, shape (rows, columns): each cell's place between the ends, 0 to 1."""
        found = places(X, self.low, self.high)
        return np.where(np.isnan(found), MISSING, found)

    def transform(self, X: Floats) -> Floats:
        """Return mapped rows, shape (rows, size), of length at most 1 whatever the map.

        Parameters
        ----------
        X : ndarray of shape (rows, columns)
            Cells in the table's own units; NaN is a missing cell.
        """
        with np.errstate(all="ignore"):
            angles = self.inside(X) @ self.frequencies.T
            waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(X), -1)
            parts = [waves / np.sqrt(len(self.frequencies))]
            if self.intercept != 0:
                parts.append(np.full((len(X), 1), self.intercept))
            mapped: Floats = np.hstack(parts) / np.hypot(1.0, self.intercept)
        # Of frequencies that are no numbers nothing is made.
        return np.nan_to_num(mapped, nan=0.0)
