"""What the coordinator makes of curvatures that hold secret noise, round after round."""

import numpy as np
from numpy.typing import NDArray

LATEST = 0.4
"""Weight of the latest curvature in the mean; the ones before share the rest. The loss bends much the same from round
to round, and the noise of a mean is smaller."""

LEAST = 0.1
"""Least eigenvalue that is believed, in units in which the diagonal is 1: noise alone would make some negative."""


class NoisyCurvature:
    """A running mean of the curvatures of one problem."""

    def __init__(self) -> None:
        self.mean: NDArray[np.float64] | None = None

    def take(self, curvature: NDArray[np.float64], leading: int) -> NDArray[np.float64]:
        """Take in the latest curvature and return what is believed of all so far, which is positive definite.

        Parameters
        ----------
        curvature : ndarray of shape (rank + 1, rank + 1)
            As `curvature_matrix` returns it.
        leading : int
            Leading coordinates, between which it is not 0; the bias is last.
        """
        self.mean = curvature if self.mean is None else LATEST * curvature + (1.0 - LATEST) * self.mean
        inner = np.append(np.arange(leading), len(curvature) - 1)
        block = self.mean[np.ix_(inner, inner)]
        # Where noise has made the diagonal negative, its size is still the best guess; without any the step would be
        # far too long.
        size = np.abs(np.diag(self.mean))
        scale = np.sqrt(np.maximum(size[inner], np.finfo(np.float64).tiny))
        values, vectors = np.linalg.eigh(block / np.outer(scale, scale))
        believed = np.diag(size)
        believed[np.ix_(inner, inner)] = (
            (vectors * np.maximum(values, LEAST)) @ vectors.T * np.outer(scale, scale)
        )
        return believed
