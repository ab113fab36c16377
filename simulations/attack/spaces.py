"""Rows from sums that lie close together, whose differences span the space of few mapped rows.

From one point to a near one only rows next to the margin change sides, and from one consensus model to the next only
the weights of rows at a site's margin. So the differences of some near sums span no more than the space of these rows'
(f, 1), and rows can be told by lying in it.

The map is known, so the coordinator can map any point it likes. A point of p cells whose (f, 1) lies in a space of m
dimensions fulfils rank + 1 - m equations; where these are more than p, the points that fulfil them are the rows that
the space is made of (as sources are found in array processing: MUSIC, Schmidt 1986).
"""

import time
from bisect import bisect

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.nystroem import NystromMap

CANDIDATES, STARTS, STEPS = 2000, 100, 30
"""Points around the landmarks; the best of them, from which rows are looked for; steps of Levenberg and Marquardt."""

SAME = 0.02
"""Points no further apart are one, in standard deviations of a column, root mean square."""

FLAT = 1e-6
"""Share of the largest singular value of some differences up to which one is none."""

SOLVED = 1e-4
"""A point is a row if its (f, 1), of length 1 or more, is no further from the space."""


def search_spaces(
    feature_map: NystromMap, sums: Floats, spread: float, known: Floats, seconds: float
) -> Floats:
    """Return rows found in the spaces that sums close together span, and known ones, shape (rows, features).

    ``sums`` are of weighted (f, 1) over one map in the order in which they came, shape (sums, rank + 1); ``spread``
    is the standard deviation of rows about landmarks. Spaces of the fewest dimensions come first.
    """
    begun = time.thread_time()
    most = sums.shape[1] - known.shape[1] - 1
    spaces: list[tuple[int, Floats]] = []
    for one in sums[::-1]:  # the last are about the fewest rows
        if time.thread_time() - begun > seconds / 2:
            break
        spaces += _spaces_at(one, sums, most)
    search, found = RowsInSpaces(feature_map, spread), known
    for _, outside in sorted(spaces, key=lambda space: space[0]):
        if time.thread_time() - begun > seconds:
            break
        X, left = search.nearest(outside, found)
        found = merged(found, X[left <= SOLVED])
    return found


def _spaces_at(one: Floats, sums: Floats, most: int) -> list[tuple[int, Floats]]:
    """Return spaces of sums near one of them: their dimensions, at most so many, and the directions outside.

    They are the smallest and the largest that more sums lie in than it has dimensions.
    """
    near = sums[np.argsort(np.square(sums - one).sum(axis=1))]

    def space(size: int) -> tuple[int, Floats]:
        D = near[:size] - near[:size].mean(axis=0)
        _, lengths, directions = np.linalg.svd(np.linalg.qr(D, mode="r"))
        dimensions = int(np.count_nonzero(lengths > FLAT * lengths[0]))
        return dimensions, directions[dimensions:].T

    sizes = range(3, len(near) + 1)
    first = bisect(sizes, 0, key=lambda size: size - 1 - space(size)[0])
    last = bisect(sizes, most, key=lambda size: space(size)[0]) - 1
    return [space(size) for size in sorted({sizes[first], sizes[last]})] if first <= last else []


class RowsInSpaces:
    """Looks for the rows that spaces are made of, over a feature map of the rbf kernel."""

    def __init__(self, feature_map: NystromMap, spread: float) -> None:
        self.map, self.spread = feature_map, spread
        self.generator = np.random.default_rng(0)

    def g(self, X: Floats) -> Floats:
        """Return (f(x), 1) of points, shape (points, rank + 1)."""
        return np.column_stack([self.map.transform(X), np.ones(len(X))])

    def nearest(self, outside: Floats, known: Floats) -> tuple[Floats, Floats]:
        """Return points whose g is nearest to a space, the nearest first, and the length of its part outside.

        ``outside`` are the orthonormal directions that the space has no part of, shape (rank + 1, directions). Known
        rows are tried as they are.
        """
        landmarks = self.map.landmarks
        X = landmarks[self.generator.integers(len(landmarks), size=CANDIDATES)]
        X = np.vstack([known, X + self.spread * self.generator.standard_normal(X.shape)])
        X = X[np.argsort(np.square(self.g(X) @ outside).sum(axis=1))[:STARTS]]
        X, left = self._moved_inside(X, outside)
        order = np.argsort(left)
        return X[order], left[order]

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


def slopes_of_map(feature_map: NystromMap, X: Floats) -> Floats:
    """Return the derivatives of f by each cell, shape (rows, features, rank); of the rbf kernel only."""
    kernel, landmarks = feature_map.kernel, feature_map.landmarks
    slopes = -2.0 * kernel.gamma * kernel(X, landmarks)[:, None, :] * (X[:, :, None] - landmarks.T[None])
    derived: Floats = slopes @ feature_map.normalization
    return derived
