"""Means and variances of the features by class, from sums over all sites."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.multiclass import REST, Pair
from strategies.selection.filters import welch_t
from strategies.steps.fitted_scaling import mean_and_variance


@dataclass(frozen=True)
class ClassMoments:
    """What :func:`flower_pansvm.scaling.moments` gives for the rows of each group, summed over the sites.

    Variances come from sums of squares, so the cells should be centred and scaled: a spread below a millionth of
    the distance from 0 counts as none.

    Parameters
    ----------
    count, total, square : ndarray of shape (groups, features)
        Number of cells present, their sum and the sum of their squares. Groups are the classes, or the two
        sides of a binary problem. Counts need not be whole: rows may have weights.

    Examples
    --------
    >>> classes = ClassMoments(np.array([[2.0], [1.0]]), np.array([[4.0], [7.0]]), np.array([[10.0], [49.0]]))
    >>> classes.mean.ravel(), classes.variance(ddof=1).ravel()
    (array([2., 7.]), array([2., 0.]))
    """

    count: NDArray[np.float64]
    total: NDArray[np.float64]
    square: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each group, shape (groups, features); 0 where no cell is present."""
        return mean_and_variance(self.count, self.total, self.square)[0]

    def variance(self, ddof: int) -> NDArray[np.float64]:
        """Return the variance of each group, shape (groups, features); never negative.

        Parameters
        ----------
        ddof : int
            What is taken off the number of cells in the divisor: 0 for the population's variance, 1 for the
            sample's. Where no more cells than that are present, the variance is 0.
        """
        _, variance = mean_and_variance(self.count, self.total, self.square)
        freedom = self.count - ddof
        return np.where(freedom > 0, variance * self.count / np.where(freedom > 0, freedom, 1.0), 0.0)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether the cells of all groups together differ by more than rounding, shape (features,)."""
        _, variance = mean_and_variance(
            self.count.sum(axis=0), self.total.sum(axis=0), self.square.sum(axis=0)
        )
        return variance > 0

    def sides(self, pair: Pair) -> Self:
        """Return the two sides of a binary problem: row 0 the positive side, row 1 the negative side."""
        return type(self)(*(_sides(sums, pair) for sums in (self.count, self.total, self.square)))


def _sides(sums: NDArray[np.float64], pair: Pair) -> NDArray[np.float64]:
    positive = sums[pair.positive]
    # Adding up the others loses no digits; taking the class off the sum of all would.
    negative = (
        np.delete(sums, pair.positive, axis=0).sum(axis=0) if pair.negative == REST else sums[pair.negative]
    )
    return np.stack([positive, negative])


CRITERIA = ("svm-rfe", "rsvm", "svm-t")
"""Names of the criteria, in the order in which they are asked."""


def svm_rfe(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w² of each feature, the criterion of SVM-RFE.

    Parameters
    ----------
    weights : ndarray of shape (problems, features)
        Weight vectors in input space, w = Σ α_i y_i x_i of equation (5.1).

    Examples
    --------
    >>> svm_rfe(np.array([[1.0, -3.0], [2.0, 0.0]]))
    array([5., 9.])
    """
    score: NDArray[np.float64] = np.sum(np.square(weights), axis=0)
    return score


def rsvm(weights: NDArray[np.float64], sides: Sequence[ClassMoments]) -> NDArray[np.float64]:
    """Return w_j (m_j+ - m_j-) of equation (5.2), the criterion of RSVM.

    It is signed as printed: a feature whose weight goes against its class means is less important than one
    without weight.

    Parameters
    ----------
    weights : ndarray of shape (problems, features)
        Weight vectors in input space.
    sides : sequence of ClassMoments
        Of each problem, sums over all rows by side (:meth:`ClassMoments.sides`).
    """
    distances = np.stack([moments.mean[0] - moments.mean[1] for moments in sides])
    score: NDArray[np.float64] = np.sum(weights * distances, axis=0)
    return score


def svm_t(support: Sequence[ClassMoments]) -> NDArray[np.float64]:
    """Return |t_j| of equation (5.3), the criterion of SVM-t: Welch's t over the support vectors only.

    A problem with fewer than two support vectors on a side adds 0 to all features: its t is undefined.

    Parameters
    ----------
    support : sequence of ClassMoments
        Of each problem, sums over the support vectors by side (:meth:`ClassMoments.sides`).
    """
    score: NDArray[np.float64] = np.sum([welch_t(sides) for sides in support], axis=0)
    return score
