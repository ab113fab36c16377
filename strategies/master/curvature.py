"""The curvature of the loss, from the numbers of an answer (:class:`flower_pansvm.systems.pan_svm.cuts.Answer`)."""

import numpy as np
from numpy.typing import NDArray


def curvature_size(rank: int, leading: int) -> int:
    """Return how many numbers a curvature is."""
    return 0 if leading < 0 else (leading + 1) * (leading + 2) // 2 + rank - leading


def curvature_matrix(curvature: NDArray[np.float64], rank: int, leading: int) -> NDArray[np.float64]:
    """Return the numbers of an answer as a symmetric matrix, shape (rank + 1, rank + 1); the bias is last."""
    inner = [*range(leading), rank]
    lower = np.zeros((leading + 1, leading + 1))
    triangle = (leading + 1) * (leading + 2) // 2
    lower[np.tri(leading + 1, dtype=np.bool_)] = curvature[:triangle]
    matrix = np.zeros((rank + 1, rank + 1))
    matrix[np.ix_(inner, inner)] = lower + np.tril(lower, -1).T
    rest = np.arange(leading, rank)
    matrix[rest, rest] = curvature[triangle:]
    return matrix


def curvature_diagonal(curvature: NDArray[np.float64], leading: int) -> NDArray[np.float64]:
    """Return the diagonal of a curvature from the numbers of an answer, shape (rank + 1,); the bias is not last."""
    sides = np.arange(1, leading + 2)
    return np.append(curvature[np.cumsum(sides) - 1], curvature[sides.sum() :])
