"""How near guessed rows are to the true ones, and how near guesses come that take no attack."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]

EXACT, ONE, TEN = 1e-3, 1e-2, 1e-1
"""Root mean square error of a row's cells, in standard deviations of a column, up to which it counts as found."""


@dataclass(frozen=True)
class Found:
    """How many of the true rows have a guess of their own nearby.

    Parameters
    ----------
    exact, within_1, within_10 : int
        Rows whose cells are off by at most 0.1, 1 and 10 percent of a standard deviation, root mean square.
    """

    exact: int
    within_1: int
    within_10: int

    def __str__(self) -> str:
        """Return the three numbers."""
        return f"{self.exact} exact, {self.within_1} within 1 %, {self.within_10} within 10 %"


def found(truth: Floats, guesses: Floats, spread: Floats) -> Found:
    """Count the rows that guesses have found; each guess counts for one row only.

    Parameters
    ----------
    truth : ndarray of shape (rows, features)
        The rows, scaled.
    guesses : ndarray of shape (guesses, features)
        Guessed rows, scaled.
    spread : ndarray of shape (features,)
        Standard deviation of each feature; constant ones are left out.
    """
    varied = spread > 0
    if not len(guesses) or not varied.any():
        return Found(0, 0, 0)
    distances = cdist(truth[:, varied] / spread[varied], guesses[:, varied] / spread[varied])
    errors = distances / np.sqrt(np.count_nonzero(varied))
    return Found(*(_matched(errors <= limit) for limit in (EXACT, ONE, TEN)))


def landmark_baseline(truth: Floats, landmarks: Floats, spread: Floats) -> Found:
    """Count the rows that landmarks alone give away."""
    return found(truth, landmarks, spread)


def random_baseline(
    truth: Floats, landmarks: Floats, spread: Floats, width: float, guesses: int | None = None
) -> Found:
    """Count the rows found by random guesses around the landmarks, by default one for each row; the mean of draws."""
    generator = np.random.default_rng(0)
    centres = landmarks[np.arange(len(truth) if guesses is None else guesses) % len(landmarks)]
    counts = []
    for _ in range(5):
        one = found(truth, centres + width * spread * generator.standard_normal(centres.shape), spread)
        counts.append([one.exact, one.within_1, one.within_10])
    return Found(*(round(float(count)) for count in np.mean(counts, axis=0)))


def _matched(near: NDArray[np.bool_]) -> int:
    """Return the size of the largest matching of rows and guesses that are near each other."""
    return int(np.count_nonzero(maximum_bipartite_matching(csr_matrix(near), perm_type="column") >= 0))
