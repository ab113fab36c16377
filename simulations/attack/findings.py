"""Distances of guessed rows from the true ones."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

from flower_pansvm.arrays import Bools, Floats, Ints

EXACT, ONE, TEN = 1e-3, 1e-2, 1e-1
"""Largest root mean square errors of a reconstructed row's cells, in standard deviations of a column."""


@dataclass(frozen=True)
class Reconstructed:
    """Numbers of reconstructed rows, each with a guess of its own."""

    # exact, within_1, within_10: rows whose cells are off by at most 0.1, 1 and 10 percent of a standard
    # deviation, root mean square.
    exact: int
    within_1: int
    within_10: int

    def __str__(self) -> str:
        """Return the three numbers."""
        return f"{self.exact} exact, {self.within_1} within 1 %, {self.within_10} within 10 %"


def reconstructed(truth: Floats, guesses: Floats, spread: Floats) -> Reconstructed:
    """Count the rows that guesses, shape (guesses, features), reconstruct; each guess counts for one row only.

    ``spread`` is the standard deviation of each feature; constant ones are left out.
    """
    if not len(guesses) or not (spread > 0).any():
        return Reconstructed(0, 0, 0)
    errors = distances(truth, guesses, spread)
    counts = (int(np.count_nonzero(_matched(errors <= limit) >= 0)) for limit in (EXACT, ONE, TEN))
    return Reconstructed(*counts)


def guess_of_each(truth: Floats, guesses: Floats, spread: Floats) -> Ints:
    """Return the index of the guess within 10 percent of each row, shape (rows,); -1 for none."""
    if not len(guesses) or not (spread > 0).any():
        return np.full(len(truth), -1)
    return _matched(distances(truth, guesses, spread) <= TEN)


def distances(truth: Floats, guesses: Floats, spread: Floats) -> Floats:
    """Return the root mean square distances in standard deviations, shape (rows, guesses); missing cells are 0."""
    varied = spread > 0
    of_truth, of_guesses = (np.nan_to_num(X[:, varied] / spread[varied]) for X in (truth, guesses))
    apart: Floats = cdist(of_truth, of_guesses) / np.sqrt(np.count_nonzero(varied))
    return apart


def membership(members: Floats, others: Floats, known: Floats, spread: Floats) -> float | None:
    """Return the AUC of membership inference by the nearest known row, 0.5 by chance; None without known rows."""
    if not len(known):
        return None
    return area(*(-distances(X, known, spread).min(axis=1) for X in (members, others)))


def area(members: Floats, others: Floats) -> float | None:
    """Return the AUC of scores, larger ones for members; None without members or others."""
    if not len(members) or not len(others):
        return None
    true = np.repeat([1, 0], [len(members), len(others)])
    return float(roc_auc_score(true, np.concatenate([members, others])))


def _matched(near: Bools) -> Ints:
    """Return the guess of each row, -1 for none, in a maximum matching of near rows and guesses."""
    matching: Ints = maximum_bipartite_matching(csr_matrix(near), perm_type="column")
    return matching
