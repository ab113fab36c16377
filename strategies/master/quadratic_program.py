"""The one quadratic program behind the master problem and the proximal points, solved by PIQP."""

from collections.abc import Callable

import numpy as np
import piqp
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TrainingError

TOLERANCES = (1e-10, 1e-7, 1e-4)
"""Tolerances in shares of the rows; each is used if the solver fails at the one before."""


def minimise(
    linear: Floats,
    subgradients: Floats,
    bias: Floats,
    offsets: Floats,
) -> tuple[Floats, float, float, Floats, float]:
    """Minimise 1/2 ||u||^2 + linear.u + L subject to L >= offsets_t - subgradients_t.u - bias_t b and L >= 0.

    Parameters
    ----------
    linear : ndarray of shape (size,)
        Linear part of the objective.
    subgradients : ndarray of shape (cuts, size)
        Negative subgradients of the cuts.
    bias : ndarray of shape (cuts,) or (0,)
        Their components along b, which is not penalised; empty for a program without b.
    offsets : ndarray of shape (cuts,)
        Values of the cuts at u = 0, b = 0.

    Returns
    -------
    u : ndarray of shape (size,)
    b, L : float
        b is 0 in a program without b.
    multipliers : ndarray of shape (cuts,)
        Dual variables of the cuts, in sum at most 1.
    tolerance : float
        The tolerance that was reached.

    Raises
    ------
    TrainingError
        If the solver fails at every tolerance.
    """
    size, cuts, bias_count = len(linear), len(offsets), 1 if len(bias) else 0
    status = None
    for tolerance in TOLERANCES:
        program = piqp.DenseSolver()
        program.settings.eps_abs = tolerance
        program.settings.eps_rel = tolerance
        program.setup(
            P=np.diag(np.append(np.ones(size), np.zeros(bias_count + 1))),
            c=np.concatenate([linear, np.zeros(bias_count), [1.0]]),
            A=None,
            b=None,
            G=np.column_stack([subgradients, *([bias] if bias_count else []), np.ones(cuts)]),
            h_l=offsets,
            h_u=None,
            x_l=np.append(np.full(size + bias_count, -np.inf), 0.0),
            x_u=None,
        )
        status = program.solve()
        x, multipliers = program.result.x, program.result.z_l
        # A solution short of its tolerance is still a good next point, and its bound is valid.
        usable = status in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED)
        if usable and np.isfinite(x).all() and np.isfinite(multipliers).all():
            b = float(x[size]) if bias_count else 0.0
            return x[:size], b, float(x[-1]), np.maximum(multipliers, 0.0), tolerance
    raise TrainingError(
        f"The quadratic program of {cuts} cutting planes was not solved ({status}). A very large C makes it "
        "ill-conditioned: try a smaller one."
    )


LEAST_ANGLE = 1e-4
"""Sine of the angle between a vector and the span of those before it. Inner products lose twice the digits that
orthogonal transformations lose, so a QR decomposition serves vectors that lie closer together."""

Combine = Callable[[Floats], Floats]
"""``combine(u)`` returns the vector with the coordinates u, shape (size,)."""


def basis_coordinates(vectors: Floats) -> tuple[Floats, Combine]:
    """Return the coordinates of vectors in an orthonormal basis of their span, and the inverse map.

    With A = vectors and A^T A = R^T R (Cholesky), the columns of A R^-1 are such a basis, and those of R are the
    coordinates, in a tenth of the time of a QR decomposition.

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
