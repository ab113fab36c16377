"""Landmarks: k-means centres, none of which is the mean of too few patients' records.

Paper: Lu 2016, section 3.2.2.1 and Algorithm 1, line 1. The floor on a cluster's patients is ours: with the paper's
25 % of landmarks, up to half of the centres are single patient records.
"""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import SettingError

LARGEST_ASSIGNMENT = 1_000_000
"""Distances of places in small clusters to rows that are compared at most, for the time it takes. Beyond that there are
many rows to a cluster, few clusters are small, and these are merged."""

FILLING_STEPS = 3  # steps of k-means with a floor on the size of the clusters; it begins near its end


def cluster_centres(
    X: Floats, clusters: int, min_cluster: int, seed: int, patients: Ints | None = None
) -> tuple[Floats, Ints]:
    """Return k-means centres of the rows, each the mean of rows of at least ``min_cluster`` patients.

    Fewer than ``clusters`` come back when there are not enough patients, or distinct rows, for so many; none if there
    are fewer than ``min_cluster``, which is 1 in the paper.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        Scaled rows.
    clusters, min_cluster, seed : int
        How many centres, of how many patients each (SettingError below 1), and the seed of k-means.
    patients : ndarray of shape (rows,), optional
        Number of each row's patient; by default each row is one.

    Returns
    -------
    centres : ndarray of shape (at most clusters, features)
    sizes : ndarray of shape (centres,)
        How many patients' rows each centre is the mean of.
    """
    if clusters < 1 or min_cluster < 1:
        raise SettingError(
            f"landmarks per site is {clusters} and min-cluster {min_cluster}; both must be at least 1."
        )
    patient_of_row = np.arange(len(X)) if patients is None else np.unique(patients, return_inverse=True)[1]
    if patient_of_row.max(initial=-1) + 1 < min_cluster:
        return np.empty((0, X.shape[1])), np.empty(0, dtype=np.int64)
    k_means = KMeans(min(clusters, int(patient_of_row.max() + 1) // min_cluster), n_init=1, random_state=seed)
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters is no fault of the site's: the empty clusters are left out below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        assigned = k_means.fit_predict(X)
    sums, sizes = _totals(X, assigned)
    if (
        _patients_of(assigned, patient_of_row).min() < min_cluster
        and len(sizes) * min_cluster * len(X) <= LARGEST_ASSIGNMENT
    ):
        assigned = _filled_up(X, sums / sizes[:, None], min_cluster, patient_of_row)
    return _merge_small(X, assigned, min_cluster, patient_of_row)


def _totals(X: Floats, assigned: Ints) -> tuple[Floats, Ints]:
    """Return, of each cluster that has any rows, the sum of its rows and their number."""
    sizes = np.bincount(assigned).astype(np.int64)
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, assigned, X)
    return sums[sizes > 0], sizes[sizes > 0]


def _patients_of(assigned: Ints, patients: Ints) -> Ints:
    """Return how many patients have rows in each cluster that has any."""
    pairs = np.unique(assigned * (patients.max() + 1) + patients)
    return np.unique(pairs // (patients.max() + 1), return_counts=True)[1]


def _filled_up(X: Floats, centres: Floats, min_cluster: int, patients: Ints) -> Ints:
    """Return each row's cluster when k-means goes on such that every cluster keeps rows of enough patients.

    Every centre has ``min_cluster`` places, which are given to patients, each with its nearest row, at the least total
    distance; the other rows go to the centre nearest to them (Bradley, Bennett and Demiriz 2000, "Constrained k-means
    clustering").
    """
    assigned, order = np.empty(0, dtype=np.int64), np.argsort(patients, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(patients[order]) != 0))
    rows_of = np.split(order, starts[1:])
    for _ in range(FILLING_STEPS):
        distances = np.square(X).sum(axis=1) - 2.0 * (centres @ X.T) + np.square(centres).sum(axis=1)[:, None]
        assigned = distances.argmin(axis=0)
        nearest = np.minimum.reduceat(distances[:, order], starts, axis=1)  # (centres, patients)
        slots, chosen = linear_sum_assignment(np.repeat(nearest, min_cluster, axis=0))
        for centre, patient in zip(slots // min_cluster, chosen, strict=True):
            rows = rows_of[patient]
            assigned[rows[distances[centre, rows].argmin()]] = centre
        sums, sizes = _totals(X, assigned)
        centres = sums / sizes[:, None]
    return assigned


def _merge_small(X: Floats, assigned: Ints, min_cluster: int, patients: Ints) -> tuple[Floats, Ints]:
    """Merge the cluster of the fewest patients into the one with the nearest centre until none has too few.

    Each patient of a cluster weighs as much: of one with many rows, its centre would be nearly that patient.
    """
    (sums, rows), sizes = _totals(X, assigned), _patients_of(assigned, patients)
    assigned = np.unique(assigned, return_inverse=True)[1]
    while len(sizes) > 1 and sizes.min() < min_cluster:
        smallest = int(np.argmin(sizes))
        centres = sums / rows[:, None]
        distances = np.square(centres - centres[smallest]).sum(axis=1)
        distances[smallest] = np.inf
        nearest = int(np.argmin(distances))
        assigned[assigned == smallest] = nearest
        sums[nearest] += sums[smallest]
        rows[nearest] += rows[smallest]
        # A patient may have rows in both.
        sizes[nearest] = len(np.unique(patients[assigned == nearest]))
        sums, rows = np.delete(sums, smallest, axis=0), np.delete(rows, smallest)
        sizes = np.delete(sizes, smallest)
        assigned -= assigned > smallest
    if len(X) == patients.max() + 1:
        return sums / rows[:, None], sizes
    _, pairs, repeats = np.unique(
        assigned * (patients.max() + 1) + patients, return_inverse=True, return_counts=True
    )
    return _totals(X / repeats[pairs][:, None], assigned)[0] / sizes[:, None], sizes
