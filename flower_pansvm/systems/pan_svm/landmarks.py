"""Landmarks: k-means centres, none of which is the mean of too few records.

Paper: Lu 2016, section 3.2.2.1 and Algorithm 1, line 1. The floor on the cluster size is ours: with the paper's 25 % of
landmarks, up to half of the centres are single patient records.
"""

import warnings

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import SettingError

LARGEST_ASSIGNMENT = 1_000_000
"""Distances of places in small clusters to rows that are compared at most, for the time it takes. Beyond that there are
many rows to a cluster, few clusters are small, and these are merged."""

FILLING_STEPS = 3  # steps of k-means with a floor on the size of the clusters; it begins near its end


def cluster_centres(X: Floats, clusters: int, min_cluster: int, seed: int) -> tuple[Floats, Ints]:
    """Return k-means centres of the rows, each the mean of at least ``min_cluster`` rows.

    Fewer than ``clusters`` come back when there are not enough rows, or distinct rows, for so many; none if there are
    fewer than ``min_cluster``, which is 1 in the paper.

    Returns
    -------
    centres : ndarray of shape (at most clusters, features)
    sizes : ndarray of shape (centres,)
        How many rows each centre is the mean of.
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415 - each message may start a process
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - each message may start a process

    if clusters < 1 or min_cluster < 1:
        raise SettingError(
            f"landmarks per site is {clusters} and min-cluster {min_cluster}; both must be at least 1."
        )
    if len(X) < min_cluster:
        return np.empty((0, X.shape[1])), np.empty(0, dtype=np.int64)
    k_means = KMeans(min(clusters, len(X) // min_cluster), n_init=1, random_state=seed)
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters is no fault of the site's: the empty clusters are left out below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        assigned = k_means.fit_predict(X)
    sums, sizes = _totals(X, assigned)
    if sizes.min() < min_cluster and len(sizes) * min_cluster * len(X) <= LARGEST_ASSIGNMENT:
        assigned = _filled_up(X, sums / sizes[:, None], min_cluster)
        sums, sizes = _totals(X, assigned)
    return _merge_small(sums, sizes, min_cluster)


def _totals(X: Floats, assigned: Ints) -> tuple[Floats, Ints]:
    """Return, of each cluster that has any rows, the sum of its rows and their number."""
    sizes = np.bincount(assigned).astype(np.int64)
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, assigned, X)
    return sums[sizes > 0], sizes[sizes > 0]


def _filled_up(X: Floats, centres: Floats, min_cluster: int) -> Ints:
    """Return each row's cluster when k-means goes on such that every cluster keeps enough rows.

    Every centre has ``min_cluster`` places, which are given to rows at the least total distance; the other rows go
    to the centre nearest to them (Bradley, Bennett and Demiriz 2000, "Constrained k-means clustering").
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - each message may start a process

    assigned = np.empty(0, dtype=np.int64)
    for _ in range(FILLING_STEPS):
        distances = np.square(X).sum(axis=1) - 2.0 * (centres @ X.T) + np.square(centres).sum(axis=1)[:, None]
        assigned = distances.argmin(axis=0)
        places, rows = linear_sum_assignment(np.repeat(distances, min_cluster, axis=0))
        assigned[rows] = places // min_cluster
        sums, sizes = _totals(X, assigned)
        centres = sums / sizes[:, None]
    return assigned


def _merge_small(sums: Floats, sizes: Ints, min_cluster: int) -> tuple[Floats, Ints]:
    """Merge the smallest cluster into the one with the nearest centre until none is too small."""
    sums, sizes = sums.copy(), sizes.copy()
    while len(sizes) > 1 and sizes.min() < min_cluster:
        smallest = int(np.argmin(sizes))
        centres = sums / sizes[:, None]
        distances = np.square(centres - centres[smallest]).sum(axis=1)
        distances[smallest] = np.inf
        nearest = int(np.argmin(distances))
        sums[nearest] += sums[smallest]
        sizes[nearest] += sizes[smallest]
        sums, sizes = np.delete(sums, smallest, axis=0), np.delete(sizes, smallest)
    return sums / sizes[:, None], sizes
