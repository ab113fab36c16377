"""Sparsified singular value decomposition: a distorted copy of a table (Lin et al. 2011, section II).

Small singular values go, and so do small entries of both matrices of singular vectors. Nothing is random.
"""

import numpy as np

from flower_pansvm.arrays import Floats

EPSILON = 0.6
"""The paper's scale of the thresholds, for all its tables (section IV.C)."""


def distort(A: Floats) -> Floats:
    """Return a distorted copy of a table: equations (4) and (5).

    Parameters
    ----------
    A : ndarray of shape (rows, columns)
        Finite cells, in units in which singular values above 1 are worth keeping.

    Returns
    -------
    ndarray of shape (rows, columns)
        All zeros if no singular value is kept.
    """
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    r = values_kept(sigma)
    if r == 0:
        return np.zeros_like(A)
    distorted: Floats = (sparsified(U, r)[:, :r] * sigma[:r]) @ sparsified(Vt.T, r)[:, :r].T
    return distorted


def values_kept(sigma: Floats) -> int:
    """Return how many singular values, the largest, are kept: those above 1 (8); if all are, those above a limit (9).

    Parameters
    ----------
    sigma : ndarray of shape (values,)
        The singular values, descending.
    """
    limit = 1.0 if (sigma <= 1.0).any() else 0.6 * sigma.mean()
    return int(np.count_nonzero(sigma > limit))


def sparsified(M: Floats, r: int) -> Floats:
    """Return singular vectors without their small entries: exponential thresholds, "METS" (6).

    Column j, from 0 on, loses what is below ``EPSILON`` times the mean of its absolute values times exp(j / r²). The
    paper's tables follow from absolute values, columns counted from 0, and means over each matrix's own rows.

    Parameters
    ----------
    M : ndarray of shape (rows, values)
        Left or right singular vectors, in columns.
    r : int
        How many singular values are kept.
    """
    thresholds = EPSILON * np.abs(M).mean(axis=0) * np.exp(np.arange(M.shape[1]) / r**2)
    return np.where(np.abs(M) < thresholds, 0.0, M)
