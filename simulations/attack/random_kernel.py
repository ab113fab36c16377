"""What a site of the same column block makes of published kernel rows: it knows B_j, and what the columns mean."""

from itertools import product

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.kernels import Kernel

FITS = 1e-6
"""Largest error of equations and bounds of a solution."""

MOST_ZERO_ONE = 12
"""Columns of 0 and 1 whose combinations are all tried."""


def rows_from_kernel(kernel: Kernel, K: Floats, B: Floats, zero_one: Bools) -> Floats:
    """Solve for the rows behind kernel rows.

    Each number of a linear kernel row is an equation (2.6). Of a Gaussian one, its logarithm is a squared distance;
    differences of these are linear in the row, and one of them is an equation more. Each combination of the columns of
    0 and 1 is put in, and the one is taken whose equations are met.

    Parameters
    ----------
    kernel : Kernel
        Linear or rbf.
    K : ndarray of shape (rows, rows of B)
        What a cell has published.
    B : ndarray of shape (rows of B, columns)
        The random matrix of the column block.
    zero_one : ndarray of shape (columns,)
        Which columns hold 0 and 1 only.

    Returns
    -------
    ndarray of shape (rows, columns)
        In units of [0, 1]; NaN for a row that the equations do not determine.
    """
    found = np.full((len(K), B.shape[1]), np.nan)
    slopes, right = (B, K) if kernel.name == "linear" else _linear_in_the_row(kernel, K, B)
    known, free = slopes[:, zero_one], slopes[:, ~zero_one]
    if zero_one.sum() > MOST_ZERO_ONE or np.linalg.matrix_rank(free) < free.shape[1]:
        return found
    inverse, best = np.linalg.pinv(free), np.full(len(K), FITS)
    for cells in product((0.0, 1.0), repeat=int(zero_one.sum())):
        rows = np.empty_like(found)
        rows[:, zero_one] = cells
        left = right - np.array(cells) @ known.T
        rows[:, ~zero_one] = left @ inverse.T
        wrong = np.abs(rows[:, ~zero_one] @ free.T - left).max(axis=1, initial=0.0)
        wrong = np.maximum(wrong, np.maximum(-rows, rows - 1.0).max(axis=1))
        if kernel.name == "rbf":
            distance = np.square(rows - B[0]).sum(axis=1)
            wrong = np.maximum(wrong, np.abs(distance + np.log(K[:, 0]) / kernel.gamma))
        better = wrong < best
        found[better], best[better] = rows[better], wrong[better]
    return found


def _linear_in_the_row(kernel: Kernel, K: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return the equations that differences of squared distances are: 2 (b_1 - b_k).x = what is known."""
    distances = -np.log(K) / kernel.gamma - np.square(B).sum(axis=1)
    return 2.0 * (B[0] - B[1:]), distances[:, 1:] - distances[:, :1]
