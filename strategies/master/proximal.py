"""Points near the best one where cutting planes and curvature together expect a lower objective.

The cutting planes know the loss's kinks, as far as they have been met, and nothing between them; the curvature
of the smoothed loss at the best point knows what rows near the margin will do, and nothing of kinks. A *bundle
Newton* step (Luksan and Vlcek 1998) puts them together:

    min_x  1/2 ||w||^2 + C max_t (m_t - w.a_t - b d_t) + tau C/2 (x - x_best)^T H (x - x_best),   x = (w, b).

An error in H costs speed and never correctness: the points only say where the sites are asked next.
"""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.cuts import Cuts
from strategies.master.quadratic_program import in_span, minimise

TRUST = (0.01, 0.1, 1.0)
"""Values of tau, the trust in the curvature, that are tried."""

NEAREST_CUTS = 30
"""Cuts taken into account besides those that hold up the master's solution: the highest at the best point."""

RIDGE = 1e-9
"""Added to the diagonal of the curvature, in shares of its mean, so that it can be decomposed."""


class TrustedCurvature:
    """A curvature of the loss for every trust in it, decomposed once for all the rounds that it serves.

    Parameters
    ----------
    curvature : ndarray of shape (rank + 1, rank + 1)
        H, the second derivative of the smoothed loss.
    C : float
        Penalty.

    Attributes
    ----------
    roots : list
        R of every trust, with R^T R = I + tau C H; without those of which there is none.
    """

    def __init__(self, curvature: NDArray[np.float64], C: float) -> None:
        coupled = np.count_nonzero(curvature, axis=0) > 1
        block, diagonal = curvature[np.ix_(coupled, coupled)], np.diag(curvature)
        self.roots: list[_Root] = []
        for tau in TRUST:
            with suppress(LinAlgError):
                self.roots.append(_Root(block, diagonal, coupled, tau * C))


def proximal_targets(
    best: NDArray[np.float64],
    cuts: Cuts,
    beta: NDArray[np.float64],
    curvature: TrustedCurvature,
    C: float,
    rows: float,
) -> NDArray[np.float64]:
    """Return the minimisers for every trust in the curvature.

    Parameters
    ----------
    best : ndarray of shape (rank + 1,)
        The best point so far.
    cuts : Cuts
        All cutting planes so far.
    beta : ndarray of shape (cuts,)
        The master's dual variables.
    curvature : TrustedCurvature
        What is known of the loss's second derivative.
    C, rows : float
        Penalty, and number of rows in the sums.

    Returns
    -------
    ndarray of shape (minimisers, rank + 1)
        Fewer, perhaps none, where a decomposition or a quadratic program fails.
    """
    heights = cuts.m - cuts.a @ best[:-1] - cuts.d * best[-1]
    used = beta > 0
    used[np.argsort(-heights)[:NEAREST_CUTS]] = True
    slopes = np.column_stack([cuts.a[used], cuts.d[used]])
    targets = [np.empty((0, len(best)))]
    for root in curvature.roots:
        with suppress(LinAlgError, TrainingError):
            targets.append(_minimiser(best, slopes, heights[used], root, C, rows)[None, :])
    return np.vstack(targets)


def _minimiser(
    best: NDArray[np.float64],
    slopes: NDArray[np.float64],
    heights: NDArray[np.float64],
    root: "_Root",
    C: float,
    rows: float,
) -> NDArray[np.float64]:
    """Return x = best + step; in u = R step the metric of the program is the identity."""
    gradient = np.append(best[:-1], 0.0)
    sides = root.solve(np.column_stack([gradient, slopes.T]), transposed=True)
    # The step is a combination of these directions.
    coordinates, combine = in_span(sides)
    scale = np.sqrt(C * rows)
    linear, in_basis = coordinates[:, 0], coordinates[:, 1:].T
    u, *_ = minimise(linear / scale, in_basis * (scale / rows), np.empty(0), heights / rows)
    return best + root.solve(combine(scale * u)[:, None])[:, 0]


class _Root:
    """R with R^T R = I + C H. Where many landmarks leave H little more than a diagonal, R is no more than that, too.

    ``coupled`` are the coordinates with more than that, and ``block`` is H between them.
    """

    def __init__(
        self,
        block: NDArray[np.float64],
        diagonal: NDArray[np.float64],
        coupled: NDArray[np.bool_],
        C: float,
    ) -> None:
        sizes = C * diagonal
        sizes[:-1] += 1.0
        sizes += RIDGE * sizes.mean()
        if (sizes[~coupled] <= 0).any():
            raise LinAlgError
        square = C * block
        np.fill_diagonal(square, sizes[coupled])
        self.coupled, self.block = coupled, cholesky(square)
        self.sizes = np.sqrt(sizes[~coupled])[:, None]

    def solve(self, right: NDArray[np.float64], *, transposed: bool = False) -> NDArray[np.float64]:
        """Return R^-1 right, or R^-T right; shape (rank + 1, columns)."""
        found = np.empty(right.shape)
        found[~self.coupled] = right[~self.coupled] / self.sizes
        found[self.coupled] = solve_triangular(
            self.block, right[self.coupled], trans=int(transposed), check_finite=False
        )
        return found
