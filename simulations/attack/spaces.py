"""Subspace-intersection attack: the differences of near sums span the space of few mapped rows.

Between near points only rows next to the margin change sides, and between successive consensus models only the weights
of rows at a site's margin. So differences of near sums lie in the span of these rows' (f, 1), which identifies them.

The coordinator knows the map and can evaluate it at any point. A point of p cells whose (f, 1) lies in a space of m
dimensions fulfils rank + 1 - m equations; if these are more than p, their solutions are the rows that span the space
(as sources are located in array processing: MUSIC, Schmidt 1986).
"""

import time
from bisect import bisect

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.nystroem import NystromMap

CANDIDATES, STARTS, STEPS = 2000, 100, 30
"""Points around the landmarks; the best of them, from which the search starts; steps of Levenberg-Marquardt."""

SAME = 0.02
"""Distance below which points are equal, in standard deviations of a column, root mean square."""

FLAT = 1e-6
"""Singular values up to this share of the largest count as 0."""

SOLVED = 1e-4
"""A point is a row if its (f, 1), of length 1 or more, is within this distance from the space."""


def search_spaces(
    feature_map: NystromMap, sums: Floats, spread: float, known: Floats, seconds: float
) -> Floats:
    """Return the known rows and those reconstructed from spaces of near sums, shape (rows, features).

    ``sums`` are of weighted (f, 1) over one map in order of arrival, shape (sums, rank + 1); ``spread`` is the standard
    deviation of rows about landmarks. Spaces of the fewest dimensions come first.
    """
    begun = time.thread_time()
    most = sums.shape[1] - known.shape[1] - 1
    spaces: list[tuple[int, Floats]] = []
    for total in sums[::-1]:  # the last contain the fewest rows
        if time.thread_time() - begun > seconds / 2:
            break
        spaces += _spaces_at(total, sums, most)
    search, rows = RowsInSpaces(feature_map, spread), known
    for _, outside in sorted(spaces, key=lambda space: space[0]):
        if time.thread_time() - begun > seconds:
            break
        X, distances = search.nearest(outside, rows)
        rows = merged(rows, X[distances <= SOLVED])
    return rows


def _spaces_at(total: Floats, sums: Floats, most: int) -> list[tuple[int, Floats]]:
    """Return spaces of the sums near ``total``: their dimensions, at most ``most``, and the directions outside.

    They are the smallest and the largest space with more sums than dimensions.
    """
    near = sums[np.argsort(np.square(sums - total).sum(axis=1))]

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
    """Search for the rows that span spaces, over a feature map of the rbf kernel."""

    def __init__(self, feature_map: NystromMap, spread: float) -> None:
        self.map, self.spread = feature_map, spread
        self.generator = np.random.default_rng(0)

    def g(self, X: Floats) -> Floats:
        """Return (f(x), 1) of points, shape (points, rank + 1)."""
        return np.column_stack([self.map.transform(X), np.ones(len(X))])

    def nearest(self, outside: Floats, known: Floats) -> tuple[Floats, Floats]:
        """Return points whose g is nearest to a space, the nearest first, and the distances.

        ``outside`` are the orthonormal directions outside of the space, shape (rank + 1, directions). Known rows are
        candidates, too.
        """
        landmarks = self.map.landmarks
        X = landmarks[self.generator.integers(len(landmarks), size=CANDIDATES)]
        X = np.vstack([known, X + self.spread * self.generator.standard_normal(X.shape)])
        X = X[np.argsort(np.square(self.g(X) @ outside).sum(axis=1))[:STARTS]]
        X, distances = self._moved_inside(X, outside)
        order = np.argsort(distances)
        return X[order], distances[order]

    def _moved_inside(self, X: Floats, outside: Floats) -> tuple[Floats, Floats]:
        """Return points moved to where their g is nearest to the space, and the distances."""
        damping = np.full(len(X), 1e-2)
        residual = self.g(X) @ outside
        cost = np.square(residual).sum(axis=1)
        for _ in range(STEPS):
            slopes = slopes_of_map(self.map, X) @ outside[:-1]
            squares = slopes @ slopes.transpose(0, 2, 1)
            sizes = np.einsum("iaa->i", squares) / X.shape[1] + np.finfo(np.float64).tiny
            squares += (damping * sizes + 1e-15)[:, None, None] * np.eye(X.shape[1])
            moved = X - np.linalg.solve(squares, np.einsum("iar,ir->ia", slopes, residual)[..., None])[..., 0]
            new_residual = self.g(moved) @ outside
            after = np.square(new_residual).sum(axis=1)
            better = after < cost
            X, residual = (
                np.where(better[:, None], moved, X),
                np.where(better[:, None], new_residual, residual),
            )
            cost, damping = np.where(better, after, cost), np.where(better, damping / 3.0, damping * 4.0)
        return X, np.sqrt(cost)


def merged(rows: Floats, more: Floats) -> Floats:
    """Return rows and those of ``more`` that equal no earlier one."""
    for row in more:
        if not len(rows) or np.square(rows - row).mean(axis=1).min() > SAME**2:
            rows = np.vstack([rows, row])
    return rows


def slopes_of_map(feature_map: NystromMap, X: Floats) -> Floats:
    """Return the derivatives of f by each cell, shape (rows, features, rank); of the rbf kernel only."""
    kernel, landmarks = feature_map.kernel, feature_map.landmarks
    slopes = -2.0 * kernel.gamma * kernel(X, landmarks)[:, None, :] * (X[:, :, None] - landmarks.T[None])
    return slopes @ feature_map.normalization
