"""The one quadratic program behind the master problem and the proximal points, solved by PIQP."""

from collections.abc import Callable

import numpy as np
import piqp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from flower_pansvm.errors import TrainingError

TOLERANCES = (1e-10, 1e-7, 1e-4)
"""How exactly a program is solved, in shares of the rows; the next one if the solver fails."""


def minimise(
    linear: NDArray[np.float64],
    slopes: NDArray[np.float64],
    bias: NDArray[np.float64],
    heights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float, float, NDArray[np.float64], float]:
    """Minimise 1/2 ||u||^2 + linear.u + L subject to L >= heights_t - slopes_t.u - bias_t b and L >= 0.

    Parameters
    ----------
    linear : ndarray of shape (size,)
        Linear part of the objective.
    slopes : ndarray of shape (cuts, size)
        Slopes of the cuts.
    bias : ndarray of shape (cuts,) or (0,)
        Slopes along b, which costs nothing; empty if there is no such variable.
    heights : ndarray of shape (cuts,)
        Heights of the cuts.

    Returns
    -------
    u : ndarray of shape (size,)
    b, L : float
        b is 0 without such a variable.
    multipliers : ndarray of shape (cuts,)
        Dual variables of the cuts, in sum at most 1.
    tolerance : float
        The tolerance that was reached.

    Raises
    ------
    TrainingError
        If the solver fails at every tolerance.
    """
    size, cuts, free = len(linear), len(heights), 1 if len(bias) else 0
    status = None
    for tolerance in TOLERANCES:
        program = piqp.DenseSolver()
        program.settings.eps_abs = tolerance
        program.settings.eps_rel = tolerance
        program.setup(
            P=np.diag(np.append(np.ones(size), np.zeros(free + 1))),
            c=np.concatenate([linear, np.zeros(free), [1.0]]),
            A=None,
            b=None,
            G=np.column_stack([slopes, *([bias] if free else []), np.ones(cuts)]),
            h_l=heights,
            h_u=None,
            x_l=np.append(np.full(size + free, -np.inf), 0.0),
            x_u=None,
        )
        status = program.solve()
        x, multipliers = program.result.x, program.result.z_l
        # Short of its tolerance a solution still is a good point to ask the sites at, and its bound is valid.
        usable = status in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED)
        if usable and np.isfinite(x).all() and np.isfinite(multipliers).all():
            b = float(x[size]) if free else 0.0
            return x[:size], b, float(x[-1]), np.maximum(multipliers, 0.0), tolerance
    raise TrainingError(
        f"The quadratic program of {cuts} cutting planes was not solved ({status}). A very large C makes it "
        "ill-conditioned: try a smaller one."
    )


LEAST_ANGLE = 1e-4
"""Sine of the angle between a slope and the span of those before it. Inner products lose twice the digits that
orthogonal transformations lose, so slopes that lie closer together are left to a QR decomposition."""

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""``combine(u)`` returns the vector with the coordinates u, shape (size,)."""


def in_span(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], Combine]:
    """Return the coordinates of vectors in an orthonormal basis of their span, and the way back.

    With A = vectors and A^T A = R^T R (Cholesky), the columns of A R^-1 are such a basis, and those of R are the
    coordinates. It takes a tenth of the time of a QR decomposition.

    Parameters
    ----------
    vectors : ndarray of shape (size, count)
        The vectors, as columns.

    Returns
    -------
    coordinates : ndarray of shape (dimension, count)
        Of each vector, as columns.
    combine : callable
        See `Combine`.
    """
    squares = vectors.T @ vectors
    try:
        root = cholesky(squares, check_finite=False)
    except LinAlgError:
        root = np.zeros_like(squares)
    if (np.diag(root) > LEAST_ANGLE * np.sqrt(np.diag(squares))).all():
        return root, lambda u: vectors @ solve_triangular(root, u, check_finite=False)
    basis, coordinates = qr(vectors, mode="economic", check_finite=False)  # in half the time of numpy's
    return coordinates, lambda u: basis @ u
