"""Points near the best one where cutting planes and curvature together expect a lower objective.

The cutting planes know the loss's kinks, as far as they have been met, and nothing between them; the curvature
of the smoothed loss at the best point knows what rows near the margin will do, and nothing of kinks. A *bundle
Newton* step (Luksan and Vlcek 1998) puts them together:

    min_x  1/2 ||w||^2 + C max_t (m_t - w.a_t - b d_t) + tau C/2 (x - x_best)^T H (x - x_best),   x = (w, b).

An error in H costs speed and never correctness: the points only say where the sites are asked next.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from flower_pansvm.cutting_planes.cuts import Cuts
from flower_pansvm.models.errors import TrainingError
from strategies.master.quadratic_program import minimise

TRUST = (0.01, 0.1, 1.0)
"""The factors tau: how far the curvature is believed to hold."""

STEPS = (0.1, 0.3, 0.6, 1.0)
"""Shares of the way to each minimiser at which the sites are asked."""

NOISY_TRUST, NOISY_STEPS = (0.03, 0.1, 0.3, 1.0, 3.0), (0.3, 0.6, 1.0)
"""The same where the curvature holds noise: nobody knows how far it holds, so more is tried."""

NEAREST_CUTS = 30
"""Cuts taken into account besides those that hold up the master's solution: the highest at the best point."""

RIDGE = 1e-9
"""Added to the diagonal of the curvature, in shares of its mean, so that it can be decomposed."""


def proximal_points(
    best: NDArray[np.float64],
    cuts: Cuts,
    beta: NDArray[np.float64],
    curvature: NDArray[np.float64],
    C: float,
    rows: float,
    *,
    noisy: bool = False,
) -> NDArray[np.float64]:
    """Return points on the ways from the best point to the minimisers for every tau.

    Parameters
    ----------
    best : ndarray of shape (rank + 1,)
        The best point so far.
    cuts : Cuts
        All cutting planes so far.
    beta : ndarray of shape (cuts,)
        The master's dual variables.
    curvature : ndarray of shape (rank + 1, rank + 1)
        H, the second derivative of the smoothed loss.
    C, rows : float
        Penalty, and number of rows in the sums.
    noisy : bool, optional
        Whether the curvature holds noise.

    Returns
    -------
    ndarray of shape (points, rank + 1)
        Fewer, perhaps none, where a decomposition or a quadratic program fails.
    """
    slopes = np.column_stack([cuts.a, cuts.d])
    heights = cuts.m - slopes @ best
    used = beta > 0
    used[np.argsort(-heights)[:NEAREST_CUTS]] = True
    points = [np.empty((0, len(best)))]
    trust, steps = (NOISY_TRUST, NOISY_STEPS) if noisy else (TRUST, STEPS)
    for tau in trust:
        try:
            target = _minimiser(best, slopes[used], heights[used], tau * curvature, C, rows)
        except (LinAlgError, TrainingError):
            continue
        points.append(best + np.array(steps)[:, None] * (target - best))
    return np.vstack(points)


def _minimiser(
    best: NDArray[np.float64],
    slopes: NDArray[np.float64],
    heights: NDArray[np.float64],
    curvature: NDArray[np.float64],
    C: float,
    rows: float,
) -> NDArray[np.float64]:
    """Return x = best + step; in u = R step, R^T R = I + C H, the metric of the program is the identity."""
    root = _Root(curvature, C)
    gradient = np.append(best[:-1], 0.0)
    sides = root.solve(np.column_stack([gradient, slopes.T]), transposed=True)
    # The step is a combination of these directions.
    basis = qr(sides, mode="economic", check_finite=False)[0]
    scale = np.sqrt(C * rows)
    linear, in_basis = sides[:, 0] @ basis, sides[:, 1:].T @ basis
    u, *_ = minimise(linear / scale, in_basis * (scale / rows), np.empty(0), heights / rows)
    return best + root.solve(basis @ (scale * u)[:, None])[:, 0]


class _Root:
    """R with R^T R = I + C H. Where many landmarks leave H little more than a diagonal, R is no more than that, too."""

    def __init__(self, curvature: NDArray[np.float64], C: float) -> None:
        diagonal = C * np.diag(curvature)
        diagonal[:-1] += 1.0
        diagonal += RIDGE * diagonal.mean()
        self.coupled = np.count_nonzero(curvature, axis=0) > 1
        block = C * curvature[np.ix_(self.coupled, self.coupled)]
        np.fill_diagonal(block, diagonal[self.coupled])
        if (diagonal[~self.coupled] <= 0).any():
            raise LinAlgError
        self.block, self.sizes = cholesky(block), np.sqrt(diagonal[~self.coupled])[:, None]

    def solve(self, right: NDArray[np.float64], *, transposed: bool = False) -> NDArray[np.float64]:
        """Return R^-1 right, or R^-T right; shape (rank + 1, columns)."""
        found = np.empty(right.shape)
        found[~self.coupled] = right[~self.coupled] / self.sizes
        found[self.coupled] = solve_triangular(self.block, right[self.coupled], trans=int(transposed))
        return found
