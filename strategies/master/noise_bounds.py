"""By how much secret noise may have put sums, cuts and bounds off."""

import math

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Question
from flower_pansvm.cutting_planes.noise import HEIGHT, Noise

CERTAIN = 3.0
"""The bounds are said to be off by at most so many standard deviations."""

AS_GOOD_AS_CERTAIN = 8.0
"""Noise beyond so many standard deviations does not occur: one number in 10^15 is."""


def largest_noise(noise: Noise, question: Question, heaviest: float) -> dict[str, float]:
    """Return by how much any number of an answer may be off by noise, as good as certainly; for checks of sums.

    Parameters
    ----------
    noise, question, heaviest
        As in `flower_pansvm.cutting_planes.noise.noise_in`.
    """
    tilt = float(_tilt(question.points, noise).max())
    slope, height = float(noise.slope.max()), HEIGHT
    sizes = {"a": slope, "d": float(noise.slope[-1]), "m": tilt + height, "loss": height}
    return {name: AS_GOOD_AS_CERTAIN * heaviest * size for name, size in sizes.items()}


def likely_error(
    points: NDArray[np.float64], best: NDArray[np.float64], noise: Noise, heaviest: float
) -> NDArray[np.float64]:
    """Return the standard deviation of the noise of each cut at the best point, shape (cuts,).

    Parameters
    ----------
    points, best, noise, heaviest
        As in `bounds_off`.
    """
    error: NDArray[np.float64] = heaviest * np.hypot(_tilt(points - best, noise), HEIGHT)
    return error


def bounds_off(
    points: NDArray[np.float64],
    beta: NDArray[np.float64],
    best: NDArray[np.float64],
    solution: NDArray[np.float64],
    C: float,
    noise: Noise,
    heaviest: float,
) -> float:
    """Return by how much noise may have brought upper and lower bound together, in units of the objective.

    The lower bound is a mean of the cuts with weights beta, and the noise of a cut at the optimum is its tilt times the
    way there from its point. Where the optimum is nobody knows; it is taken to be as far from the best point as the
    master's solution is, at most.

    Parameters
    ----------
    points : ndarray of shape (cuts, rank + 1)
        Where the cuts were asked for.
    beta : ndarray of shape (cuts,)
        Their dual variables, in sum at most C.
    best : ndarray of shape (rank + 1,)
        The best point.
    solution : ndarray of shape (rank + 1,)
        The master's solution.
    C : float
        Penalty.
    noise, heaviest
        As in `flower_pansvm.cutting_planes.noise.noise_in`.
    """
    tilts = _tilt(points - best, noise) + _tilt(solution - best, noise)
    variance = np.square(beta) @ (np.square(tilts) + HEIGHT**2)
    return CERTAIN * heaviest * (math.sqrt(float(variance)) + C * HEIGHT)


def _tilt(ways: NDArray[np.float64], noise: Noise) -> NDArray[np.float64]:
    """Return the standard deviation of what a random slope adds at the end of each way from its point."""
    tilt: NDArray[np.float64] = np.linalg.norm(ways * noise.slope, axis=-1)
    return tilt
