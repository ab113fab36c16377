"""The curvature of the loss as synthetic rows have it: a guess for which no site has to be asked.

A curvature of the rows is what rows are computed from most easily (docs/threat-model.md), and the noise that would
hide them leaves hardly more of it than this guess holds, which is made of what the coordinator has anyway
(:mod:`strategies.steps.synthetic_rows`).
"""

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Singles

ZONE = 1.5
"""Distance from the margin, in z, up to which a synthetic row counts. It stands for rows all around it."""

EVERYWHERE = 0.1
"""What a synthetic row counts for wherever it lies; next to the margin 1 / `ZONE` comes on top."""

MOST_ALONE, FEW_ROWS = 0.15, 33.0
"""Share of each coordinate's curvature that is taken to have nothing to do with the others, where rows are at most so
many for each coordinate; the more rows there are, the smaller it is. Coordinates of few rows hang together by chance,
and otherwise than those of synthetic rows do."""


def guessed_curvature(
    synthetic: Singles, point: NDArray[np.float64], rows: float, leading: int
) -> NDArray[np.float64]:
    """Return what the second derivative of the smoothed loss may be at a point.

    Each synthetic row stands for as many rows as any other. On which side such rows are nobody has told; they are
    taken to be on the side that makes them lie nearer the margin. It is only a hint, so single precision will do, in
    units in which it holds the squares of the largest coordinate.

    Parameters
    ----------
    synthetic : ndarray of shape (synthetic rows, rank)
        Synthetic rows, mapped.
    point : ndarray of shape (rank + 1,)
        Weights and bias.
    rows : float
        Weight of all rows together.
    leading : int
        Leading coordinates between which the curvature is wanted; of the others only the diagonal is.

    Returns
    -------
    ndarray of shape (rank + 1, rank + 1)
        Positive semidefinite but for rounding; the bias is last.
    """
    distance = np.abs(1.0 - np.abs(synthetic @ point[:-1] + point[-1]))
    v = np.maximum(0.0, 1.0 - distance / ZONE) / ZONE + EVERYWHERE
    g = np.empty((len(synthetic), len(point)), dtype=np.float32)
    unit = max(1.0, float(np.abs(synthetic).max()))
    g[:, :-1], g[:, -1] = synthetic / unit, 1.0 / unit
    g *= np.sqrt(v)[:, None]
    scale = unit**2 * rows / len(synthetic)
    shared = 1.0 - MOST_ALONE * min(1.0, FEW_ROWS * (len(point) - 1) / rows)
    inner = np.append(np.arange(leading), len(point) - 1)
    part = g[:, inner]
    curvature = np.zeros((len(point), len(point)))
    curvature[np.ix_(inner, inner)] = shared * scale * (part.T @ part).astype(np.float64)
    np.fill_diagonal(curvature, scale * np.einsum("ij,ij->j", g, g).astype(np.float64))
    return curvature
