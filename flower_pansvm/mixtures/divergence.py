"""Jensen-Shannon divergences (Luo et al. 2009, equations 3 and 4), natural logarithms: from 0 to log 2."""

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.mixtures.mixture import Mixture

DRAWS = 1000
LARGEST = float(np.log(2))
TINY = 1e-300  # half of the smallest numbers is 0, and the divergence from 0 infinite


def divergence(one: Mixture, other: Mixture, normals: Floats, share: float = 0.5) -> float:
    """Return H(pi_1 P_1 + pi_2 P_2) - pi_1 H(P_1) - pi_2 H(P_2) of two mixtures (3), pi_1 being ``share``.

    It has no closed form: as many draws of each component as there are standard normal ones, shape (draws, features),
    which are common to all components. So equal mixtures have divergence 0 exactly.
    """
    found = 0.0
    for pi, mixture in ((share, one), (1 - share, other)):
        points = mixture.points(normals)
        flat = points.reshape(-1, points.shape[2])
        logs = one.log_density(flat), other.log_density(flat)
        middle = np.logaddexp(np.log(share) + logs[0], np.log(1 - share) + logs[1])
        own = logs[0] if mixture is one else logs[1]
        found += pi * float(mixture.weights @ (own - middle).reshape(points.shape[:2]).mean(axis=1))
    return min(max(found, 0.0), LARGEST)


def local_divergence(posterior: Floats, log_density: Floats) -> float:
    """Return how far a component is from the rows that it stands for (4, reconstructed).

    Both are distributions over the rows: the rows by their posterior of the component, and its density at them.

    Parameters
    ----------
    posterior, log_density : ndarray of shape (rows,)
        Of the component.
    """
    from scipy.special import rel_entr  # noqa: PLC0415 - each message may start a process

    rows, model = posterior / posterior.sum(), np.exp(log_density - np.logaddexp.reduce(log_density))
    middle = np.maximum((rows + model) / 2, TINY)
    return float(rel_entr(rows, middle).sum() + rel_entr(model, middle).sum()) / 2
