"""The 1-norm SVM as a linear program, solved by HiGHS (Mangasarian & Wild 2008, equations 2.7 and 3.10)."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array, eye_array, hstack

from flower_pansvm.models.errors import TrainingError

METHODS = ("highs", "highs-ipm")
"""HiGHS' own choice, the simplex method; and its interior points, where that gives up (on ionosphere it has)."""


def one_norm_svm(
    K: NDArray[np.float64], d: NDArray[np.float64], nu: float
) -> tuple[NDArray[np.float64], float]:
    """Minimise nu sum y + ||u||_1 subject to D(K u - gamma) + y >= 1 and y >= 0.

    With u = p - q this is a linear program in p, q, y >= 0 and a free gamma.

    Parameters
    ----------
    K : ndarray of shape (rows, rows of B)
        Kernel of the training rows.
    d : ndarray of shape (rows,)
        1 or -1 for each row.
    nu : float
        Weight of the loss, above 0.

    Returns
    -------
    u : ndarray of shape (rows of B,)
        All zero if nu is too small: then every row gets the same class.
    gamma : float

    Raises
    ------
    TrainingError
        If HiGHS finds no solution.
    """
    rows, size = K.shape
    signed = d[:, None] * K
    # Sparse for the identity: dense, it would be as large as a kernel matrix of all rows.
    left = -hstack([csc_array(np.hstack([signed, -signed, -d[:, None]])), eye_array(rows)], format="csc")
    cost = np.concatenate([np.ones(2 * size), [0.0], np.full(rows, nu)])
    bounds = np.zeros((len(cost), 2))
    bounds[:, 1] = np.inf
    bounds[2 * size, 0] = -np.inf
    for method in METHODS:
        found = linprog(cost, A_ub=left, b_ub=-np.ones(rows), bounds=bounds, method=method)
        if found.x is not None:
            break
    else:
        raise TrainingError(
            f"HiGHS did not solve the 1-norm SVM of {rows} rows: {found.message} Choose another nu or mu."
        )
    return found.x[:size] - found.x[size : 2 * size], float(found.x[2 * size])
