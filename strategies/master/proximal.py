"""Points near the incumbent where a model of cutting planes and Hessian expects a lower objective.

Cutting planes model the loss's kinks where it has been evaluated, and the Hessian of the smoothed hinge loss at the
incumbent models the rows near the margin. A *bundle Newton* step (Luksan and Vlcek 1998) combines them:

    min_x  1/2 ||w||^2 + C max_t (m_t - w.a_t - b d_t) + tau C/2 (x - x_best)^T H (x - x_best),   x = (w, b).

An error in H costs speed and never correctness: the points only decide where the loss is evaluated next.
"""

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.cuts import Cuts
from strategies.master.quadratic_program import basis_coordinates, minimise

DAMPING = (0.01, 0.1, 1.0)
"""Values of tau, the damping of the proximal term; each gives a point."""

NEAREST_CUTS = 30
"""Cuts besides those that support the master's solution: the highest at the incumbent."""

RIDGE = 1e-9
"""Added to the diagonal of I + tau C H, in shares of its mean, so that it can be decomposed."""


def damped_roots(hessian: Floats, C: float) -> "list[Root]":
    """Return R of every damping, with R^T R = I + tau C H; dampings whose decomposition fails have none.

    ``hessian``, shape (rank + 1, rank + 1), is H, that of the smoothed hinge loss. It is decomposed once for all rounds
    that use it.
    """
    coupled = np.count_nonzero(hessian, axis=0) > 1
    block, diagonal, roots = hessian[np.ix_(coupled, coupled)], np.diag(hessian), []
    for tau in DAMPING:
        with suppress(LinAlgError):
            roots.append(Root(block, diagonal, coupled, tau * C))
    return roots


def proximal_targets(
    incumbent: Floats,
    cuts: Cuts,
    beta: Floats,
    roots: "list[Root]",
    C: float,
    rows: float,
) -> Floats:
    """Return the minimisers for every damping.

    Parameters
    ----------
    incumbent : ndarray of shape (rank + 1,)
        The best point so far.
    cuts : Cuts
        All cutting planes so far.
    beta : ndarray of shape (cuts,)
        The master's dual variables.
    roots : list of Root
        Of :func:`damped_roots`.
    C, rows : float
        Penalty, and number of rows in the sums.

    Returns
    -------
    ndarray of shape (minimisers, rank + 1)
        Fewer, perhaps none, where a decomposition or a quadratic program fails.
    """
    offsets = cuts.m - cuts.a @ incumbent[:-1] - cuts.d * incumbent[-1]
    active = beta > 0
    active[np.argsort(-offsets)[:NEAREST_CUTS]] = True
    subgradients = np.column_stack([cuts.a[active], cuts.d[active]])
    targets = [np.empty((0, len(incumbent)))]
    for root in roots:
        with suppress(LinAlgError, TrainingError):
            targets.append(_minimiser(incumbent, subgradients, offsets[active], root, C, rows)[None, :])
    return np.vstack(targets)


def _minimiser(
    incumbent: Floats,
    subgradients: Floats,
    offsets: Floats,
    root: "Root",
    C: float,
    rows: float,
) -> Floats:
    """Return x = incumbent + step; in u = R step the metric of the program is the identity."""
    gradient = np.append(incumbent[:-1], 0.0)
    transformed = root.solve(np.column_stack([gradient, subgradients.T]), transposed=True)
    # The step is a combination of these directions.
    coordinates, combine = basis_coordinates(transformed)
    scale = np.sqrt(C * rows)
    linear, in_basis = coordinates[:, 0], coordinates[:, 1:].T
    u, *_ = minimise(linear / scale, in_basis * (scale / rows), np.empty(0), offsets / rows)
    return incumbent + root.solve(combine(scale * u)[:, None])[:, 0]


class Root:
    """R with R^T R = I + C H, for an H that may be diagonal outside a block: that of many landmarks mostly is.

    ``block`` is H between the ``coupled`` coordinates.
    """

    def __init__(self, block: Floats, diagonal: Floats, coupled: Bools, C: float) -> None:
        sizes = C * diagonal
        sizes[:-1] += 1.0
        sizes += RIDGE * sizes.mean()
        if (sizes[~coupled] <= 0).any():
            raise LinAlgError
        square = C * block
        np.fill_diagonal(square, sizes[coupled])
        self.coupled, self.block = coupled, cholesky(square)
        self.sizes = np.sqrt(sizes[~coupled])[:, None]

    def solve(self, right: Floats, *, transposed: bool = False) -> Floats:
        """Return R^-1 right, or R^-T right; shape (rank + 1, columns)."""
        solution = np.empty(right.shape)
        solution[~self.coupled] = right[~self.coupled] / self.sizes
        solution[self.coupled] = solve_triangular(
            self.block, right[self.coupled], trans=int(transposed), check_finite=False
        )
        return solution
