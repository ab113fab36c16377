"""The importance of a feature to a trained SVM (Lu 2016, section 5.2.2), from sums over the sites.

Scores of shape (features,), a larger one is more important, summed over the binary problems.
"""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.arrays import Floats
from strategies.selection.filters import ClassMoments, welch_t

CRITERIA = ("svm-rfe", "rsvm", "svm-t")
"""Names of the criteria, in the order of their votes."""


def svm_rfe(weights: Floats) -> Floats:
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
    score: Floats = np.sum(np.square(weights), axis=0)
    return score


def rsvm(weights: Floats, sides: Sequence[ClassMoments]) -> Floats:
    """Return w_j (m_j+ - m_j-) of equation (5.2), the criterion of RSVM.

    It is signed as printed: a feature whose weight contradicts its class means is less important than one without
    weight.

    Parameters
    ----------
    weights : ndarray of shape (problems, features)
        Weight vectors in input space.
    sides : sequence of ClassMoments
        For each problem, sums over all rows by side (:meth:`ClassMoments.sides`).
    """
    distances = np.stack([moments.mean[0] - moments.mean[1] for moments in sides])
    score: Floats = np.sum(weights * distances, axis=0)
    return score


def svm_t(support: Sequence[ClassMoments]) -> Floats:
    """Return |t_j| of equation (5.3), the criterion of SVM-t: Welch's t over the support vectors only.

    A problem with fewer than two support vectors on a side adds 0 to all features: its t is undefined.

    Parameters
    ----------
    support : sequence of ClassMoments
        For each problem, sums over the support vectors by side (:meth:`ClassMoments.sides`).
    """
    score: Floats = np.sum([welch_t(sides) for sides in support], axis=0)
    return score
