"""How many rows all that the coordinator has would determine, if it knew them nearly: an upper limit of every attack.

At the truth the sums are made linear in the rows. With the rounding of the sums and what is known of a
row beforehand, that gives each cell a standard deviation that no unbiased guess can go below. Who was selected is taken
as known, which the coordinator would first have to find out.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from simulations.attack.equations import Equations
from simulations.attack.findings import ONE, TEN
from simulations.attack.fit import with_factors
from simulations.attack.guess import Guess, Weights
from simulations.attack.knowledge import Floats, Knowledge

EXACT = 1e-5
"""Standard deviation that sums are taken to have: at worst they are in single precision."""


def determined(knowledge: Knowledge, truth: Floats, y: Floats) -> tuple[int, int]:
    """Return how many rows are determined to 1 and to 10 percent of a standard deviation, root mean square.

    Parameters
    ----------
    knowledge : Knowledge
        What the coordinator has.
    truth : ndarray of shape (rows, features)
        The rows, scaled.
    y : ndarray of shape (rows,)
        Their sides, +1 or -1.
    """
    deviations = cell_deviations(knowledge, truth, y)
    varied = truth.std(axis=0) > 0
    of_rows = np.sqrt(np.square(deviations[:, varied] / truth.std(axis=0)[varied]).mean(axis=1))
    return int(np.count_nonzero(of_rows <= ONE)), int(np.count_nonzero(of_rows <= TEN))


def cell_deviations(knowledge: Knowledge, truth: Floats, y: Floats) -> Floats:
    """Return the standard deviation to which each cell is determined, shape (rows, features)."""
    equations = Equations(knowledge, whiten=False)
    cluster = cdist(truth, knowledge.landmarks).argmin(axis=1)
    guess = with_factors(equations, Guess(truth, y, cluster))
    found = equations.residuals(guess)
    A, _, _ = equations.reduced(guess, found, _weights(knowledge, equations, guess), damping=0.0)
    covariance = cho_solve(cho_factor(A, overwrite_a=True), np.eye(len(A)), overwrite_b=True)
    deviations: Floats = np.sqrt(np.diag(covariance)).reshape(truth.shape)
    return deviations


def _weights(knowledge: Knowledge, equations: Equations, guess: Guess) -> Weights:
    """Return one over the variance of each group of sums."""
    curvatures = np.full(len(knowledge.curvatures), 0.5 / EXACT**2)
    cuts = np.ones(len(equations.a))
    means = np.zeros(len(knowledge.landmarks))
    for one in range(len(means)):
        members = guess.X[guess.cluster == one]
        if len(members) > 1:
            means[one] = len(members) / np.square(EXACT * max(float(members.std(axis=0).mean()), 0.01))
    # Entries above the diagonal are the ones below it once more.
    # Beforehand a cell is known to a standard deviation of its column. That rows are near landmarks is not counted: the
    # baselines say how far that alone leads.
    near = equations.spread**2
    return Weights(curvatures, cuts, cuts, means, np.full(2, 1.0), 1.0, near)
