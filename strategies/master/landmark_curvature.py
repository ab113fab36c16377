"""The curvature of the loss as the landmarks have it: a guess for which no site has to be asked.

A curvature of the rows is what rows are computed from most easily (docs/threat-model.md), and the noise that would
hide them leaves hardly more of it than this guess holds, which is made of what the coordinator has anyway.
"""

import numpy as np
from numpy.typing import NDArray

ZONE = 1.5
"""Distance from the margin, in z, up to which a landmark counts. It stands for rows all around it."""

EVERYWHERE = 0.1
"""What a landmark counts for wherever it lies; next to the margin 1 / `ZONE` comes on top."""

ALONE = 0.3
"""Share of each coordinate's curvature that is taken to have nothing to do with the other coordinates: rows spread in
more directions than landmarks, which are means of rows."""


def landmark_curvature(
    landmarks: NDArray[np.float64], point: NDArray[np.float64], rows: float, leading: int
) -> NDArray[np.float64]:
    """Return what the second derivative of the smoothed loss may be at a point.

    Each landmark stands for as many rows as any other. On which side a row at a landmark is nobody has told; it is
    taken to be on the side that makes it lie nearer the margin.

    Parameters
    ----------
    landmarks : ndarray of shape (landmarks, rank)
        The landmarks, mapped.
    point : ndarray of shape (rank + 1,)
        Weights and bias.
    rows : float
        Weight of all rows together.
    leading : int
        Leading coordinates between which the curvature is wanted; of the others only the diagonal is.

    Returns
    -------
    ndarray of shape (rank + 1, rank + 1)
        Positive definite but for rounding; the bias is last.
    """
    distance = np.abs(1.0 - np.abs(landmarks @ point[:-1] + point[-1]))
    v = np.maximum(0.0, 1.0 - distance / ZONE) / ZONE + EVERYWHERE
    g = np.hstack([landmarks, np.ones((len(landmarks), 1))])
    g *= np.sqrt(v * rows / len(landmarks))[:, None]
    sizes = np.square(g).sum(axis=0)
    inner = np.append(np.arange(leading), len(point) - 1)
    curvature = np.zeros((len(point), len(point)))
    curvature[np.ix_(inner, inner)] = (1.0 - ALONE) * (g[:, inner].T @ g[:, inner])
    np.fill_diagonal(curvature, sizes)
    return curvature
