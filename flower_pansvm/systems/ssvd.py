"""SSVD: tasks, the distorted copy of a table, and the selection of the columns that are worth it (Lin et al. 2011).

The copy (section II): small singular values go, and so do small entries of both matrices of singular vectors. Nothing
is random. The selection is correlation-based (CFS; Hall 1999), as Weka's defaults have it, which the paper used:
columns are discretised by Fayyad & Irani's rule (1993), correlation is symmetrical uncertainty, and subsets are
searched best first; then columns that say more of the class than of any column chosen so far join them.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.tasks import Nothing, Task, disclosed, summed


@dataclass(frozen=True)
class ColumnVotesAnswer:
    """How many sites' own rows choose a column: 1 for each that the site's choose."""

    votes: Floats = summed(1.0, consent="distorted-rows", shape=("columns",), count=True)


COLUMN_VOTES = Task("column_votes", "train", Nothing, ColumnVotesAnswer)


@dataclass(frozen=True)
class DistortedRowsQuestion:
    """Which cells are to be distorted."""

    columns: Bools  # (columns,): those that are wanted


@dataclass(frozen=True)
class DistortedRowsAnswer:
    """The site's training rows, distorted, in an order that is not the table's."""

    rows: Floats = disclosed(consent="distorted-rows")  # (rows, columns wanted): in the table's units
    classes: Ints = disclosed(consent="distorted-rows")  # (rows,): class index


DISTORTED_ROWS = Task("distorted_rows", "train", DistortedRowsQuestion, DistortedRowsAnswer)
"""Answered for one question a run: two copies of the same rows would reveal more than each."""


EPSILON = 0.6
"""The paper's scale of the thresholds, for all its tables (section IV.C)."""


def distort(A: Floats) -> Floats:
    """Return a distorted copy of a table: equations (4) and (5); all zeros if no singular value is kept.

    ``A``, shape (rows, columns), has finite cells, in units in which singular values above 1 are worth keeping.
    """
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    r = values_kept(sigma)
    if r == 0:
        return np.zeros_like(A)
    distorted: Floats = (sparsified(U, r)[:, :r] * sigma[:r]) @ sparsified(Vt.T, r)[:, :r].T
    return distorted


def values_kept(sigma: Floats) -> int:
    """Return how many descending singular values are kept: those above 1 (8); if all are, those above a limit (9)."""
    limit = 1.0 if (sigma <= 1.0).any() else 0.6 * sigma.mean()
    return int(np.count_nonzero(sigma > limit))


def sparsified(M: Floats, r: int) -> Floats:
    """Return singular vectors without their small entries: exponential thresholds, "METS" (6).

    ``M``, shape (rows, values), has left or right singular vectors in columns, of which ``r`` are kept. Column j, from
    0 on, loses entries below ``EPSILON`` times the mean of its absolute values times exp(j / r²). The paper's tables
    follow from absolute values, columns counted from 0, and means over each matrix's own rows.
    """
    thresholds = EPSILON * np.abs(M).mean(axis=0) * np.exp(np.arange(M.shape[1]) / r**2)
    return np.where(np.abs(M) < thresholds, 0.0, M)


LEAST_GAIN = 1e-5
"""By how much a subset has to be better than the best so far."""

MOST_STALE = 5
"""After so many subsets in a row, none of whose extensions was better, the search ends."""


def select(X: Floats, classes: Ints) -> Bools:
    """Return which columns are chosen, shape (columns,): none if no column is informative of the class.

    ``X`` are finite cells, shape (rows, columns); ``classes`` the class index of each row.
    """
    codes = [np.searchsorted(cut_points(column, classes), column) for column in X.T]
    relevance = np.array([symmetrical_uncertainty(code, classes) for code in codes])
    correlations: dict[int, Floats] = {}

    def between(column: int) -> Floats:
        if column not in correlations:
            correlations[column] = np.array([symmetrical_uncertainty(codes[column], code) for code in codes])
            correlations[column][column] = 0.0  # a column makes no pair with itself
        return correlations[column]

    chosen = best_first(relevance, between)
    for column in np.argsort(-relevance, kind="stable"):
        relevant = relevance[column] > 0 and column not in chosen
        if relevant and (between(column)[sorted(chosen)] <= relevance[column]).all():
            chosen |= {int(column)}
    return np.isin(np.arange(X.shape[1]), sorted(chosen))


def cut_points(values: Floats, classes: Ints) -> Floats:
    """Return the cuts of a column into bins, ascending: Fayyad & Irani's minimum description length.

    ``values`` are the column's cells, shape (rows,), of which one at a cut is in the bin below; ``classes`` the class
    index of each row.
    """
    order = np.argsort(values, kind="stable")
    x, members = values[order], np.eye(classes.max() + 1)[classes[order]]
    cuts, intervals = [], [(0, len(x))]
    while intervals:
        start, end = intervals.pop()
        size = _best_cut(x[start:end], members[start:end])
        if size:
            cut = start + size
            cuts.append((x[cut - 1] + x[cut]) / 2)
            intervals += [(start, cut), (cut, end)]
    return np.sort(np.array(cuts))


def _best_cut(x: Floats, members: Floats) -> int:
    """Return how many rows the best cut of an interval has below it; 0 if none is worth its description."""
    sizes = np.flatnonzero(np.diff(x) > 0) + 1
    if not len(sizes):
        return 0
    rows, below = len(x), members.cumsum(axis=0)
    lower, upper, total = below[sizes - 1], below[-1] - below[sizes - 1], below[-1]
    after = (sizes * entropy(lower) + (rows - sizes) * entropy(upper)) / rows
    best = int(after.argmin())
    k, k1, k2 = (np.count_nonzero(counts) for counts in (total, lower[best], upper[best]))
    delta = np.log2(3.0**k - 2) - (k * entropy(total) - k1 * entropy(lower[best]) - k2 * entropy(upper[best]))
    # Of Weka's reading: as many candidates as there are different cuts, not rows - 1.
    worth = entropy(total) - after[best] > (np.log2(len(sizes)) + delta) / rows
    return int(sizes[best]) if worth else 0


def entropy(counts: Floats) -> Floats:
    """Return the entropy of counts along the last axis, in bits."""
    shares = counts / counts.sum(axis=-1, keepdims=True)
    bits: Floats = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1)
    return bits


def symmetrical_uncertainty(a: Ints, b: Ints) -> float:
    """Return 2 (H(a) + H(b) - H(a, b)) / (H(a) + H(b)) of two columns of bins or classes; 0 if both are constant."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0)
    separate = float(entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)))
    return 2.0 * (separate - float(entropy(table.ravel()))) / separate if separate > 0 else 0.0


def best_first(relevance: Floats, between: Callable[[int], Floats]) -> frozenset[int]:
    """Return the subset of columns of the largest merit that the search reaches, forward from none.

    A subset S of k columns has the merit sum SU(f, class) / sqrt(k + 2 sum SU(f, g)), the second sum over its pairs. Of
    equal ones, the earlier is extended first. ``relevance``, shape (columns,), is the symmetrical uncertainty of each
    column and the class; ``between`` returns that of a column, by index, with every column, 0 with itself.
    """
    best: frozenset[int] = frozenset()
    best_merit, stale, seen = 0.0, 0, {best}
    open_subsets = [(0.0, 0, best)]
    while open_subsets and stale < MOST_STALE:
        _, _, subset = heapq.heappop(open_subsets)
        stale += 1
        columns = sorted(subset)
        pairs = sum((between(column) for column in columns), np.zeros(len(relevance)))
        size, doubled = len(columns) + 1, pairs[columns].sum() + 2 * pairs
        merits = (relevance[columns].sum() + relevance) / np.sqrt(size + doubled)
        for column in range(len(relevance)):
            extended = subset | {column}
            if extended not in seen:
                seen.add(extended)
                merit = float(merits[column])
                heapq.heappush(open_subsets, (-merit, len(seen), extended))
                if merit - best_merit > LEAST_GAIN:
                    best, best_merit, stale = extended, merit, 0
    return best
