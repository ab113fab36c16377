"""Rows from the sums of consensus models (``svm-admm``): their differences lie between few rows, and give these away.

A step's sum is, but for what the coordinator knows, sum_i alpha_i y_i g_i with g_i = (f(x_i), 1). From one step to the
next only those alpha_i change whose rows are at a site's margin. So the differences of some steps span no more than the
space of these rows' g_i; and a point of p cells whose g lies in a space of m dimensions fulfils rank + 1 - m equations.
Where these are more than p, the points that fulfil them are rows (:mod:`.spaces`).
"""

import time
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.linalg import null_space, orth

from flower_pansvm.arrays import Floats
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.systems.admm import CONSENSUS
from flower_pansvm.tasks import bounds_of
from flower_pansvm.terms import Terms
from simulations.attack.spaces import RowsInSpaces, merged
from strategies.federation.transcript import TranscriptSum

WINDOWS = {100: 20, 40: 8, 15: 3, 5: 1, 2: 1, 1: 1}
"""How many differences are looked at together, and every how many steps. Many of them span the space by themselves;
where rows come and go, a few are about few rows besides those that are known already."""

SOLVED = 1e-4
"""A point is a row if its g, of length 1 or more, is no further from the space."""

ROUNDING, EXPLAINED = 3.0, 1e-4
"""What is left of differences counts if it is so many times what the sums' rounding brings into them, and besides known
rows, which are not known to the last digit, if it is so large a share of them."""


def trainings(record: Sequence[TranscriptSum]) -> list[list[TranscriptSum]]:
    """Return the steps of each training, which are of the same problems one after the other."""
    found: list[list[TranscriptSum]] = []
    before: object = None
    for one in record:
        if one.task == CONSENSUS.name:
            question = one.question(CONSENSUS)
            if question.first == 0 or question.problems() != before:
                found.append([])
            before = question.problems()
            found[-1].append(one)
    return found


def sums_of_rows(asked: Sequence[TranscriptSum], terms: Terms) -> tuple[list[Floats], Floats]:
    """Return sum_i alpha_i y_i (f_i, 1) of each step, and how far its numbers are off by the sums' rounding.

    Parameters
    ----------
    asked : sequence of TranscriptSum
        The steps of a training; of one that has lost sites, the steps over those that were left.
    terms : Terms
        The run's.

    Returns
    -------
    tuple of a list of ndarray of shape (steps, rank + 1), one a problem, and ndarray of shape (steps, problems)
    """
    steps, units = [], []
    for one in asked:
        if one.sites == asked[-1].sites:
            question, sites = one.question(CONSENSUS), len(one.sites)
            z, rho = question.z[-1], question.rho[-1]
            steps.append(rho[:, None] * (one.answer(CONSENSUS).models - sites * z))
            exponent = scale_exponent(bounds_of(CONSENSUS, question, terms, sites)["models"], sites)
            units.append(rho * 2.0**-exponent * np.sqrt(sites / 12))
    return list(np.stack(steps, axis=1)), np.array(units)


class DifferencesOfModels:
    """Looks for rows in the differences of one problem's sums.

    Parameters
    ----------
    feature_map : NystromMap
        The model's feature map, of the rbf kernel.
    sums : ndarray of shape (steps, rank + 1)
        As `sums_of_rows` returns them.
    units : ndarray of shape (steps,)
        Their rounding.
    spread : float
        Standard deviation of rows about landmarks.
    rows : ndarray of shape (rows, features)
        Rows that are known already.
    """

    def __init__(
        self, feature_map: NystromMap, sums: Floats, units: Floats, spread: float, rows: Floats
    ) -> None:
        self.sums, self.units, self.rows = sums, units, rows
        self.spaces = RowsInSpaces(feature_map, spread)

    def solve(self, seconds: float) -> Floats:
        """Return rows, from the last differences to the first and again, for so many seconds.

        The last are about the fewest rows. Those found in one window are nearly all that changes in the one before, so
        that a window of few steps is enough for the others.
        """
        begun, last = time.monotonic(), len(self.sums) - 1
        while True:
            active = self.rows[:0]
            for back, (window, stride) in product(range(last), WINDOWS.items()):
                if time.monotonic() - begun > seconds:
                    return self.rows
                if back % stride == 0:
                    active = self.in_window(max(0, last - back - window), last - back, active)
                    self.rows = merged(self.rows, active)

    def in_window(self, first: int, last: int, active: Floats) -> Floats:
        """Return the rows that change from the first to the last of some steps, given most of them or none."""
        D = np.diff(self.sums[first : last + 1], axis=0)
        # The largest singular value of a matrix of such noise.
        least = ROUNDING * self.units[first : last + 1].max() * np.sum(np.sqrt(D.shape))
        if len(active):
            least = max(least, EXPLAINED * np.linalg.norm(D, 2))
        space = orth(self.spaces.g(active).T).T
        _, sizes, directions = np.linalg.svd(D - D @ space.T @ space, full_matrices=False)
        found = directions[sizes > least]
        outside = null_space(np.vstack([space, found]))
        if len(found) and outside.shape[1] > active.shape[1]:
            X, left = self.spaces.nearest(outside, self.rows)
            active = merged(active, X[left <= SOLVED])
        return self.changing(D, active, least)

    def changing(self, D: Floats, rows: Floats, least: float) -> Floats:
        """Return, of rows that explain some differences, those that have a part in them; all rows if they do not."""
        G = self.spaces.g(rows)
        parts = np.linalg.lstsq(G.T, D.T, rcond=None)[0]
        if np.linalg.norm(D.T - G.T @ parts, 2) > least:
            return rows
        changing: Floats = rows[np.abs(parts).max(axis=1, initial=0.0) > least]
        return changing
