"""How far a distorted table is from the original, and how well one tells whose a distorted row is.

The metrics are those of Lin et al. 2011, section III (Table I). Linkage and correlation are ours: the paper measures no
attack.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Distortion:
    """The paper's five metrics.

    Parameters
    ----------
    VD : float
        Value difference, ||A - A*|| / ||A|| by the Frobenius norm, equation (7).
    RP : float
        Mean change of a cell's rank in its column.
    RM : float
        Share of the cells whose rank is the same.
    CP : float
        Mean change of a column's rank among the means of the columns. The paper prints a sum to the number of rows: it
        is that of columns, as its tables show.
    CK : float
        Share of the columns whose rank is the same.
    """

    VD: float
    RP: float
    RM: float
    CP: float
    CK: float


def distortion(original: Floats, distorted: Floats) -> Distortion:
    """Return the metrics of a distorted table.

    Parameters
    ----------
    original, distorted : ndarray of shape (rows, columns)
        The tables, their rows in the same order. Without a cell that is not 0, VD is not a number.
    """
    cells = ranks(original) - ranks(distorted)
    columns = ranks(original.mean(axis=0)[:, None]) - ranks(distorted.mean(axis=0)[:, None])
    return Distortion(
        VD=float(np.linalg.norm(original - distorted) / np.linalg.norm(original)),
        RP=float(np.abs(cells).mean()),
        RM=float((cells == 0).mean()),
        CP=float(np.abs(columns).mean()),
        CK=float((columns == 0).mean()),
    )


def ranks(A: Floats) -> Ints:
    """Return each cell's rank in its column, of equal cells the upper's is smaller (Algorithm 1).

    Parameters
    ----------
    A : ndarray of shape (rows, columns)
        Any cells.
    """
    return np.argsort(np.argsort(A, axis=0, kind="stable"), axis=0, kind="stable") + 1


def linked_rows(original: Floats, distorted: Floats) -> int:
    """Return how many distorted rows have their own original as the nearest of all originals.

    Columns are standardised, each table by itself. Whoever has the original rows of some patients finds their
    distorted ones, with their labels, in the same way.
    """
    nearest = pairwise_distances_argmin(standardised(distorted), standardised(original))
    return int((nearest == np.arange(len(nearest))).sum())


def matched_rows(original: Floats, distorted: Floats) -> int:
    """Return how many distorted rows are given their own original, if each is given another: least sum of distances.

    Whoever has all the original rows, but not their labels, finds more of them so than row by row.
    """
    distances = pairwise_distances(standardised(distorted), standardised(original))
    rows, matched = linear_sum_assignment(distances)
    return int((rows == matched).sum())


def column_correlation(original: Floats, distorted: Floats) -> float:
    """Return the mean correlation of a column with its distorted self, over those that vary in both tables."""
    vary = (original.std(axis=0) > 0) & (distorted.std(axis=0) > 0)
    return float((standardised(original) * standardised(distorted))[:, vary].mean())


def standardised(A: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; constant ones become 0."""
    deviation = A.std(axis=0)
    result: Floats = (A - A.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return result
