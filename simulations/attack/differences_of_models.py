"""Rows from the sums of consensus models (``svm-admm``): their differences lie between few rows, and give these away.

A step's sum is, but for what the coordinator knows, sum_i alpha_i y_i g_i with g_i = (f(x_i), 1). From one step to the
next only those alpha_i change whose rows are at a site's margin. So the differences of some steps span no more than the
space of these rows' g_i; and a point of p cells whose g lies in a space of m dimensions fulfils rank + 1 - m equations.
Where these are more than p, the points that fulfil them are rows (as sources are found in array processing: MUSIC,
Schmidt 1986).
"""

import time
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from scipy.linalg import null_space, orth

from flower_pansvm.nystroem import NystromMap
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.tasks.consensus import CONSENSUS
from flower_pansvm.tasks.task import bounds_of
from flower_pansvm.terms import Terms
from simulations.attack.equations import slopes_of_map
from simulations.attack.knowledge import Floats
from strategies.federation.transcript import TranscriptSum

WINDOWS = {100: 20, 40: 8, 15: 3, 5: 1, 2: 1, 1: 1}
"""How many differences are looked at together, and every how many steps. Many of them span the space by themselves;
where rows come and go, a few are about few rows besides those that are known already."""

CANDIDATES, STARTS, STEPS = 2000, 100, 30
"""Points around the landmarks; the best of them, from which rows are looked for; steps of Levenberg and Marquardt."""

SOLVED = 1e-4
"""A point is a row if its g, of length 1 or more, is no further from the space."""

SAME = 0.02
"""Points no further apart are one, in standard deviations of a column, root mean square."""

ROUNDING, EXPLAINED = 3.0, 1e-4
"""What is left of differences counts if it is so many times what the sums' rounding brings into them, and besides known
rows, which are not known to the last digit, if it is so large a share of them."""


def sums_of_rows(record: Sequence[TranscriptSum], terms: Terms) -> tuple[list[Floats], Floats]:
    """Return sum_i alpha_i y_i (f_i, 1) of each step, and how far its numbers are off by the sums' rounding.

    Parameters
    ----------
    record : sequence of TranscriptSum
        What the coordinator asked and learned; of a run that has lost sites, the steps over those that were left.
    terms : Terms
        The run's.

    Returns
    -------
    tuple of a list of ndarray of shape (steps, rank + 1), one a problem, and ndarray of shape (steps, problems)
    """
    asked = [one for one in record if one.task == CONSENSUS.name]
    steps, units = [], []
    for one in asked:
        if one.sites == asked[-1].sites:
            question, sites = one.question(CONSENSUS), len(one.sites)
            z, rho = question.points[-1], question.rho[-1]
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
        self.map, self.sums, self.units, self.spread = feature_map, sums, units, spread
        self.generator, self.rows = np.random.default_rng(0), rows

    def solve(self, seconds: float, report: Callable[[float, Floats], None]) -> Floats:
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
                    before, self.rows = len(self.rows), merged(self.rows, active)
                    if len(self.rows) > before:
                        report(time.monotonic() - begun, self.rows)

    def in_window(self, first: int, last: int, active: Floats) -> Floats:
        """Return the rows that change from the first to the last of some steps, given most of them or none."""
        D = np.diff(self.sums[first : last + 1], axis=0)
        # The largest singular value of a matrix of such noise.
        least = ROUNDING * self.units[first : last + 1].max() * np.sum(np.sqrt(D.shape))
        if len(active):
            least = max(least, EXPLAINED * np.linalg.norm(D, 2))
        space = orth(self.g(active).T).T
        _, sizes, directions = np.linalg.svd(D - D @ space.T @ space, full_matrices=False)
        found = directions[sizes > least]
        outside = null_space(np.vstack([space, found]))
        if len(found) and outside.shape[1] > active.shape[1]:
            active = merged(active, self.inside(outside))
        return self.changing(D, active, least)

    def inside(self, outside: Floats) -> Floats:
        """Return points, known or new, whose g has no part outside of a space, the nearest to it first."""
        landmarks = self.map.landmarks
        X = landmarks[self.generator.integers(len(landmarks), size=CANDIDATES)]
        X = np.vstack([self.rows, X + self.spread * self.generator.standard_normal(X.shape)])
        X = X[np.argsort(np.square(self.g(X) @ outside).sum(axis=1))[:STARTS]]
        X, left = self._moved_inside(X, outside)
        order = np.argsort(left)
        return X[order[left[order] <= SOLVED]]

    def changing(self, D: Floats, rows: Floats, least: float) -> Floats:
        """Return, of rows that explain some differences, those that have a part in them; all rows if they do not."""
        G = self.g(rows)
        parts = np.linalg.lstsq(G.T, D.T, rcond=None)[0]
        if np.linalg.norm(D.T - G.T @ parts, 2) > least:
            return rows
        changing: Floats = rows[np.abs(parts).max(axis=1, initial=0.0) > least]
        return changing

    def g(self, X: Floats) -> Floats:
        """Return (f(x), 1) of points, shape (points, rank + 1)."""
        return np.column_stack([self.map.transform(X), np.ones(len(X))])

    def _moved_inside(self, X: Floats, outside: Floats) -> tuple[Floats, Floats]:
        """Return points moved to where as little as possible of their g is outside, and how much that is."""
        damping = np.full(len(X), 1e-2)
        left = self.g(X) @ outside
        cost = np.square(left).sum(axis=1)
        for _ in range(STEPS):
            slopes = slopes_of_map(self.map, X) @ outside[:-1]
            squares = slopes @ slopes.transpose(0, 2, 1)
            sizes = np.einsum("iaa->i", squares) / X.shape[1] + np.finfo(np.float64).tiny
            squares += (damping * sizes + 1e-15)[:, None, None] * np.eye(X.shape[1])
            tried = X - np.linalg.solve(squares, np.einsum("iar,ir->ia", slopes, left)[..., None])[..., 0]
            then = self.g(tried) @ outside
            after = np.square(then).sum(axis=1)
            better = after < cost
            X, left = np.where(better[:, None], tried, X), np.where(better[:, None], then, left)
            cost, damping = np.where(better, after, cost), np.where(better, damping / 3.0, damping * 4.0)
        return X, np.sqrt(cost)


def merged(rows: Floats, more: Floats) -> Floats:
    """Return rows and of the others, one after the other, those that are not near one that is there already."""
    for one in more:
        if not len(rows) or np.square(rows - one).mean(axis=1).min() > SAME**2:
            rows = np.vstack([rows, one])
    return rows
