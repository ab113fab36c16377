"""From the weights by one feature map to weights by another."""

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.nystroem import NystromMap

PENALTIES = (1e-2, 1e-4, 1e-6)
"""Penalties of fits to decisions at the landmarks, in shares of the largest eigenvalue."""


def carry_over(weights: NDArray[np.float64], old: NystromMap, new: NystromMap) -> NDArray[np.float64]:
    """Return weights by which a new map decides about as ``weights`` do by an old one.

    Both maps are of the same landmarks, but look at other features of them. The weights are a least-squares fit to
    the old decisions at the landmarks, with several penalties, since the directions of small eigenvalues differ
    most from map to map.

    Parameters
    ----------
    weights : ndarray of shape (old rank + 1,)
        Weights and, last, bias.
    old, new : NystromMap
        The map they belong to, and the one that weights are wanted for.

    Returns
    -------
    ndarray of shape (3, rank + 1)
        Weights and bias by each penalty.
    """
    decisions = old.transform(old.landmarks) @ weights[:-1]
    F = new.transform(new.landmarks)
    eigenvalues = np.square(F).sum(axis=0)
    penalties = np.array(PENALTIES)[:, None] * eigenvalues.max()
    fitted = (F.T @ decisions) / (eigenvalues + penalties)
    return np.hstack([fitted, np.full((len(PENALTIES), 1), weights[-1])])
