"""By how much secret noise may have put sums, cuts and bounds off."""

import math

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.noise import HEIGHT, Noise
from flower_pansvm.cutting_planes.question import Question

CERTAIN = 3.0
"""The bounds are said to be off by at most so many standard deviations."""

UNTIL_IT_STAYS = 20
"""Steps from how far bounds are off to how far away the optimum is and back; each leaves half of the error or less."""

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
    gap: float,
    C: float,
    noise: Noise,
    heaviest: float,
) -> float:
    """Return by how much noise may have brought upper and lower bound together, in units of the objective.

    The lower bound is a mean of the cuts with weights beta, and the noise of a cut at the optimum is its tilt times the
    way there from its point. Where the optimum is nobody knows. But the objective is 1/2 ||w||^2 and a convex loss, so
    an optimum that is lower than the best point by delta has weights no further than sqrt(2 delta) from it; and delta
    is at most the gap and what is returned here. The way there is taken to be so long, or as long as that to the
    master's solution if it is longer, and to go in the same direction.

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
    gap : float
        Upper minus lower bound; below 0 if noise has put one above the other.
    C : float
        Penalty.
    noise, heaviest
        As in `flower_pansvm.cutting_planes.noise.noise_in`.
    """
    way = solution - best
    length, tilt, tilts = float(np.linalg.norm(way[:-1])), _tilt(way, noise), _tilt(points - best, noise)
    off = 0.0
    for _ in range(UNTIL_IT_STAYS):
        distance = math.sqrt(2.0 * (max(gap, 0.0) + off))
        longer = max(1.0, distance / length) if length > 0 else 1.0
        variance = float(np.square(beta) @ (np.square(tilts + longer * tilt) + HEIGHT**2))
        off = CERTAIN * heaviest * (math.sqrt(variance) + C * HEIGHT)
    return off


def _tilt(ways: NDArray[np.float64], noise: Noise) -> NDArray[np.float64]:
    """Return the standard deviation of what a random slope adds at the end of each way from its point."""
    tilt: NDArray[np.float64] = np.linalg.norm(ways * noise.slope, axis=-1)
    return tilt
