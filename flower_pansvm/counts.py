"""How many rows of a site a model decides how: what the federation's accuracy is made of.

No row and no decision value leaves a site: a site counts its test rows by true and predicted class, and how
many of its decision values fall into each of a fixed set of bins.
"""

import numpy as np

from flower_pansvm.arrays import Bools, Floats, Ints

BINS = 512  # bins of the histogram of decision values


def confusion_counts(true: Ints, predicted: Ints, classes: int) -> Floats:
    """Return how many rows of class i were predicted as class j, shape (classes, classes)."""
    counts = np.zeros((classes, classes))
    np.add.at(counts, (true, predicted), 1.0)
    return counts


def decision_histogram(decision: Floats, positive: Bools, centre: float = 0.0, scale: float = 1.0) -> Floats:
    """Return how many decision values fall into each bin, negative rows first.

    A decision value v goes to the bin of u / (1 + |u|) with u = (v - centre) / scale, so that bins are finest
    around the centre. All sites must use the same centre and scale. The result has shape (2, BINS).
    """
    distance = (decision - centre) / scale
    squashed = distance / (1.0 + np.abs(distance))
    place = np.clip(((squashed + 1.0) / 2.0 * BINS).astype(np.int64), 0, BINS - 1)
    counts = np.zeros((2, BINS))
    np.add.at(counts, (positive.astype(np.int64), place), 1.0)
    return counts
