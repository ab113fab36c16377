"""The importance of a feature to a trained SVM (Lu 2016, section 5.2.2), from sums over the sites.

Scores of shape (features,), a larger one is more important, summed over the binary problems.
"""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.arrays import Floats
from strategies.selection.filters import ClassMoments, welch_t

CRITERIA = ("svm-rfe", "rsvm", "svm-t")
"""Names of the criteria, in the order of their votes."""


def criteria_of(
    weights: Floats, sides: Sequence[ClassMoments], support: Sequence[ClassMoments]
) -> dict[str, Floats]:
    """Return the scores by each criterion.

    ``svm-rfe`` is w² of each feature. ``rsvm`` is w_j (m_j+ - m_j-) of equation (5.2), signed as printed: a feature
    whose weight contradicts its class means is less important than one without weight. ``svm-t`` is |t_j| of equation
    (5.3), Welch's t over the support vectors only; a problem with fewer than two of them on a side adds 0 to all
    features, as its t is undefined.

    Parameters
    ----------
    weights : ndarray of shape (problems, features)
        Weight vectors in input space, w = Σ α_i y_i x_i of equation (5.1).
    sides, support : sequence of ClassMoments
        For each problem, sums over all rows, and over the support vectors, by side (:meth:`ClassMoments.sides`).
    """
    distances = np.stack([moments.mean[0] - moments.mean[1] for moments in sides])
    return {
        "svm-rfe": np.sum(np.square(weights), axis=0),
        "rsvm": np.sum(weights * distances, axis=0),
        "svm-t": np.sum([welch_t(moments) for moments in support], axis=0),
    }
