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


def patient_squares(true: Ints, predicted: Ints, patients: Ints, classes: int) -> Floats:
    """Return the sums over patients of products of their counts, from which intervals by patient follow.

    A patient's counts are how many of its rows are in each *cell*: of class i and, of two classes, predicted as class
    j; of more than two, predicted wrong or right. Where each patient has one row, all products of two cells are 0, and
    the squares are the cells themselves.

    Parameters
    ----------
    true, predicted : ndarray of shape (rows,)
        Class indices.
    patients : ndarray of shape (rows,)
        Number of each row's patient.
    classes : int
        How many classes there are.

    Returns
    -------
    ndarray of shape (2 classes, 2 classes)
        By cell and cell, in the order of classes.
    """
    cells = 2 * true + (predicted if classes == 2 else predicted == true)
    there, numbers = np.unique(patients, return_inverse=True)
    if len(there) == len(patients):
        return np.diag(np.bincount(cells, minlength=2 * classes).astype(np.float64))
    counts = np.bincount(2 * classes * numbers + cells, minlength=2 * classes * len(there))
    by_patient = counts.reshape(len(there), 2 * classes).astype(np.float64)
    return by_patient.T @ by_patient


def decision_histogram(decision: Floats, positive: Bools, centre: float = 0.0, scale: float = 1.0) -> Floats:
    """Return how many decision values fall into each bin, negative rows first.

    A decision value v goes to the bin of u / (1 + |u|) with u = (v - centre) / scale, so that bins are finest
    around the centre. All sites must use the same centre and scale. The result has shape (2, BINS).
    """
    distance = (decision - centre) / scale
    squashed = distance / (1.0 + np.abs(distance))
    bins = np.clip(((squashed + 1.0) / 2.0 * BINS).astype(np.int64), 0, BINS - 1)
    counts = np.zeros((2, BINS))
    np.add.at(counts, (positive.astype(np.int64), bins), 1.0)
    return counts
