"""The choice of nu and mu: a nested design of points in place of a grid (Huang et al. 2007, as the paper uses it)."""

from collections.abc import Callable

import numpy as np
from scipy.stats import qmc

from flower_pansvm.arrays import Floats

POINTS = 30
"""Of each of the two designs."""

LOG_NU = (-7.0, 7.0)
MU_TIMES_DISTANCE = (0.01, 20.0)
"""Range of mu, times the median squared distance between training rows."""


def choose(distance: float, errors_of: Callable[[float, Floats], Floats], seed: int) -> tuple[float, float]:
    """Return the nu and mu with the fewest errors among two designs, the second half as wide around the best.

    Parameters
    ----------
    distance : float
        Median squared distance between training rows.
    errors_of : callable
        Of a mu and an array of values of nu, the errors of each nu.
    seed : int
        Of the points.

    Returns
    -------
    nu, mu : float
        Of equal errors the smaller nu, then the smaller mu.
    """
    low = np.array([LOG_NU[0], np.log10(MU_TIMES_DISTANCE[0] / distance)])
    high = np.array([LOG_NU[1], np.log10(MU_TIMES_DISTANCE[1] / distance)])
    best = (np.inf, 0.0, 0.0)
    for design in range(2):
        sobol = qmc.Sobol(2, seed=np.random.default_rng([seed, design]))
        # A power of two keeps Sobol points balanced; the first ones of it are taken.
        for point in low + sobol.random_base2(5)[:POINTS] * (high - low):
            error = float(errors_of(10 ** point[1], np.array([10 ** point[0]]))[0])
            best = min(best, (error, float(point[0]), float(point[1])))
        centre, width = np.array(best[1:]), (high - low) / 2
        low, high = centre - width / 2, centre + width / 2
    return 10 ** best[1], 10 ** best[2]
