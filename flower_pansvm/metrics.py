"""Accuracy figures of the federation from counts that the sites add up.

No row and no decision value leaves a site: a site counts its test rows by true and predicted class, and how
many of its decision values fall into each of a fixed set of bins.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 512
"""Bins of the histogram of decision values."""


def winners(decisions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class index of each row from its decision values.

    Parameters
    ----------
    decisions : ndarray of shape (rows, 1) or (rows, classes)
        From :func:`flower_pansvm.multiclass.class_decisions`. With one column, above 0 is class 1 and anything
        else class 0; else the largest value wins, and of equal ones the first.
    """
    if decisions.shape[1] == 1:
        return (decisions[:, 0] > 0).astype(np.int64)
    largest: NDArray[np.int64] = np.argmax(decisions, axis=1)
    return largest


def confusion_counts(
    true: NDArray[np.int64], predicted: NDArray[np.int64], classes: int
) -> NDArray[np.float64]:
    """Return how many rows of class i were predicted as class j, shape (classes, classes)."""
    counts = np.zeros((classes, classes))
    np.add.at(counts, (true, predicted), 1.0)
    return counts


def decision_histogram(
    decision: NDArray[np.float64], positive: NDArray[np.bool_], centre: float = 0.0, scale: float = 1.0
) -> NDArray[np.float64]:
    """Return how many decision values fall into each bin, negative rows first.

    A decision value v goes to the bin of u / (1 + |u|) with u = (v - centre) / scale, so that bins are finest
    around the centre. All sites must use the same centre and scale.

    Parameters
    ----------
    decision : ndarray of shape (rows,)
        Decision values of one class.
    positive : ndarray of shape (rows,)
        Whether the row is of the positive class.
    centre, scale : float
        Where most decision values are, and how far apart; scale is positive.

    Returns
    -------
    ndarray of shape (2, BINS)
    """
    distance = (decision - centre) / scale
    squashed = distance / (1.0 + np.abs(distance))
    place = np.clip(((squashed + 1.0) / 2.0 * BINS).astype(np.int64), 0, BINS - 1)
    counts = np.zeros((2, BINS))
    np.add.at(counts, (positive.astype(np.int64), place), 1.0)
    return counts


def histogram_middles(centre: float = 0.0, scale: float = 1.0) -> NDArray[np.float64]:
    """Return the decision value that stands for each bin of :func:`decision_histogram`: the bin's middle.

    It is the middle in u / (1 + |u|), so it is finite for the first and the last bin too, which have no outer
    end: 511 scales from the centre, within reach of all the values there.

    Parameters
    ----------
    centre, scale : float
        Those of the histogram.

    Returns
    -------
    ndarray of shape (BINS,)
        In increasing order.
    """
    squashed = (np.arange(BINS) + 0.5) / BINS * 2.0 - 1.0
    middles: NDArray[np.float64] = centre + scale * squashed / (1.0 - np.abs(squashed))
    return middles


def area_under_curve(histogram: NDArray[np.float64]) -> float | None:
    """Return the area under the ROC curve; two rows in the same bin count as a tie.

    Parameters
    ----------
    histogram : ndarray of shape (2, BINS)
        Counts of negative and of positive rows per bin.

    Returns
    -------
    float or None
        None when one of the two classes has no test row.
    """
    negative, positive = histogram
    pairs = negative.sum() * positive.sum()
    if pairs == 0:
        return None
    below = np.cumsum(negative) - negative
    return float(positive @ (below + negative / 2.0) / pairs)


@dataclass(frozen=True)
class Evaluation:
    """Accuracy figures over the test rows of all sites; None where there is nothing to count.

    Parameters
    ----------
    rows : int
        Number of test rows.
    accuracy : float or None
        Share of rows predicted right.
    balanced_accuracy : float or None
        Mean over classes of the share of their rows predicted right.
    f1 : float or None
        F1 of the positive class; with more than two classes the mean over those that occur, as in scikit-learn.
    auc : float or None
        Area under the ROC curve; with more than two classes the mean over classes, each against all others.
    """

    rows: int
    accuracy: float | None
    balanced_accuracy: float | None
    f1: float | None
    auc: float | None

    @classmethod
    def from_counts(cls, confusion: NDArray[np.float64], histograms: NDArray[np.float64]) -> "Evaluation":
        """Compute the figures from summed counts.

        Parameters
        ----------
        confusion : ndarray of shape (classes, classes)
            Rows of class i predicted as class j.
        histograms : ndarray of shape (columns, 2, BINS)
            Class decisions by whether the row is of the class: one column, for class 1, with two classes, else
            one per class, whether the classes were told apart one versus all or one versus one.
        """
        rows = int(confusion.sum())
        if rows == 0:
            return cls(0, None, None, None, None)
        right, truth, said = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
        seen = truth > 0
        occurs = truth + said > 0
        f1 = 2 * right / np.maximum(truth + said, 1)
        areas = [area for area in map(area_under_curve, histograms) if area is not None]
        return cls(
            rows=rows,
            accuracy=float(right.sum() / rows),
            balanced_accuracy=float(np.mean(right[seen] / truth[seen])),
            f1=float(f1[1] if len(f1) == 2 else f1[occurs].mean()),
            auc=float(np.mean(areas)) if areas else None,
        )
