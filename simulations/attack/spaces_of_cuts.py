"""Rows from cuts that lie close together, whose differences span the space of few mapped rows.

From one point to a near one only rows next to the margin change sides. So the differences of some near cuts span no
more than the space of these rows' (f, 1), and rows can be told by lying in it (:mod:`.spaces`).
"""

import time
from bisect import bisect

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.nystroem import NystromMap
from simulations.attack.spaces import RowsInSpaces, merged

FLAT = 1e-6
"""Share of the largest singular value of some differences up to which one is none."""

SOLVED = 1e-4
"""A point is a row if its (f, 1), of length 1 or more, is no further from the space."""


def search_spaces(
    feature_map: NystromMap, sums: Floats, spread: float, known: Floats, seconds: float
) -> Floats:
    """Return rows found in the spaces that cuts close together span, and those that are known, shape (rows, features).

    Parameters
    ----------
    feature_map : NystromMap
        The map that all cuts are over.
    sums : ndarray of shape (cuts, rank + 1)
        Their sums of signed (f, 1), in the order in which they came.
    spread : float
        Standard deviation of rows about landmarks.
    known : ndarray of shape (rows, features)
        Rows that are known already.
    seconds : float
        Time to take; spaces of the fewest dimensions come first.
    """
    begun = time.monotonic()
    most = sums.shape[1] - known.shape[1] - 1
    spaces: list[tuple[int, Floats]] = []
    for one in sums[::-1]:  # the last are about the fewest rows
        if time.monotonic() - begun > seconds / 2:
            break
        spaces += _spaces_at(one, sums, most)
    search, found = RowsInSpaces(feature_map, spread), known
    for _, outside in sorted(spaces, key=lambda space: space[0]):
        if time.monotonic() - begun > seconds:
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
