"""Guessed rows, by how much they miss what is known, and what each kind of miss counts for."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulations.attack.knowledge import Floats


@dataclass
class Guess:
    """Guessed rows.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        The rows, scaled.
    y : ndarray of shape (rows,)
        Their sides, +1 or -1.
    cluster : ndarray of shape (rows,)
        Number of the landmark each is believed to be behind.
    v : ndarray of shape (rows, curvatures)
        Their factors in the curvatures.
    """

    X: Floats
    y: Floats
    cluster: NDArray[np.int64]
    v: Floats = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True)
class Residuals:
    """By how much a guess misses what is known.

    Parameters
    ----------
    curvature : ndarray of shape (curvatures, rank + 1, rank + 1)
        Whitened.
    slopes : ndarray of shape (cuts, rank)
        In units of the noise.
    losses : ndarray of shape (cuts,)
    means : ndarray of shape (landmarks, features)
    moments : ndarray of shape (2, features)
    selected : ndarray of shape (rows, cuts)
        c times y of each row.
    expected : ndarray of shape (rows, curvatures)
        What v is without its random weight.
    """

    curvature: Floats
    slopes: Floats
    losses: Floats
    means: Floats
    moments: Floats
    selected: Floats
    expected: Floats


@dataclass(frozen=True)
class Weights:
    """What each group of equations counts for, see `simulations.attack.equations.Equations.weights`."""

    curvature: Floats
    slopes: Floats
    losses: Floats
    means: Floats
    moments: Floats
    expected: float
    near: float
