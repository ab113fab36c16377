"""Rows by decision value, in groups so large that no group says where a single row lies."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SMALLEST = 5
"""Rows that a group holds at the least, unless there are fewer in all."""

MOST_GROUPS = 50
"""About how many groups there are at most: with many rows each group holds more."""


@dataclass(frozen=True)
class DecisionGroup:
    """Rows whose decision values lie next to each other.

    Parameters
    ----------
    others, of_class : int
        Rows of the other classes, and of the class that the decision value is about.
    probability : float or None
        Mean of the probability that the model gives the class for these rows; None if it gives none.
    """

    others: int
    of_class: int
    probability: float | None = None


def decision_groups(
    histogram: NDArray[np.float64], probabilities: NDArray[np.float64] | None = None
) -> tuple[DecisionGroup, ...]:
    """Return the groups of a histogram of decision values, the smallest values first.

    Neighbouring bins are put together until they hold `SMALLEST` rows and a share of 1 / `MOST_GROUPS` of all. What is
    left at the end belongs to the last group.

    Parameters
    ----------
    histogram : ndarray of shape (2, BINS)
        Rows of the other classes and of the class in each bin (:func:`flower_pansvm.counts.decision_histogram`).
    probabilities : ndarray of shape (BINS,), optional
        Probability of the class in the middle of each bin.
    """
    rows = histogram.sum(axis=0)
    filled = np.flatnonzero(rows)
    if not len(filled):
        return ()
    wanted = max(SMALLEST, rows.sum() / MOST_GROUPS)
    parts: list[list[int]] = [[]]
    for place in filled:
        if parts[-1] and rows[parts[-1]].sum() >= wanted:
            parts.append([])
        parts[-1].append(int(place))
    if len(parts) > 1 and rows[parts[-1]].sum() < wanted:
        parts[-2:] = [parts[-2] + parts[-1]]
    return tuple(
        DecisionGroup(
            int(histogram[0, part].sum()),
            int(histogram[1, part].sum()),
            None if probabilities is None else float(np.average(probabilities[part], weights=rows[part])),
        )
        for part in parts
    )
