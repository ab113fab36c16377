"""The local work of finding landmarks: k-means at the site, a step of federated k-means, the bounding box."""

import numpy as np

from clients.gate.answering import answers
from clients.gate.requests import check_size
from clients.gate.slots import own_slots
from clients.gate.terms import least_rows
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.errors import SettingError
from flower_pansvm.landmarks import beyond, cluster_centres, totals_by_centre
from flower_pansvm.tasks import landmarks as tasks

FEW_CENTRES, CLUSTERS_OF_FEW = 3, 8
"""A site that is to give fewer centres than the one makes as many clusters as the other, and gives some of them: one
centre alone would be the mean of its rows, and near that of the other sites' rows."""

LANDMARK_ROWS, ROWS_A_CENTRE = 2**15, 50
"""Of how many rows a large site's centres are made, at least, and for each of them: of more they would hardly differ,
and the time would go with the rows."""


@answers(tasks.LANDMARKS)
def landmarks(site: Site, question: tasks.LandmarksQuestion) -> tasks.LandmarksAnswer:
    """Write the site's k-means centres into its own slots of a zero matrix (Lu 2016, Algorithm 1, line 1)."""
    slots, total = own_slots(site, question.slots_per_site, question.slots)
    scalings, features = len(question.folds), site.train().X.shape[1]
    check_size(site, float(scalings) * total * features)
    answer = tasks.LandmarksAnswer(np.zeros((scalings, total, features)), np.zeros((scalings, total)))
    for number in range(scalings) if len(slots) else ():
        centres, _ = own_centres(site, question, number)
        used = slots[: len(centres)]
        answer.centres[number, used], answer.filled[number, used] = centres, 1.0
    return answer


def own_centres(site: Site, question: tasks.LandmarksQuestion, number: int) -> tuple[Floats, Ints]:
    """Return the site's k-means centres for one of the scalings, and of how many rows each is the mean."""
    min_cluster, clusters = _agreed_min_cluster(site, question.min_cluster), _clusters(site, question, number)
    X = sampled_rows(site, number, int(question.folds[number]), clusters)
    made = clusters if clusters >= FEW_CENTRES else CLUSTERS_OF_FEW
    centres, sizes = cluster_centres(X, made, min_cluster, question.seed)
    # Those that k-means has first, which begins at random rows.
    return centres[:clusters], sizes[:clusters]


@answers(tasks.ASSIGN)
def assign(site: Site, question: tasks.AssignQuestion) -> tasks.AssignAnswer:
    """Sum the site's rows by their nearest centre."""
    min_cluster = _agreed_min_cluster(site, question.min_cluster)
    totals, rows = np.zeros(question.centres.shape), np.zeros(question.centres.shape[:2])
    for number, (fold, count) in enumerate(zip(question.folds, question.counts, strict=True)):
        X, centres = sampled_rows(site, number, int(fold), int(count)), question.centres[number, :count]
        totals[number, :count], rows[number, :count] = totals_by_centre(X, centres, min_cluster)
    return tasks.AssignAnswer(totals, rows)


@answers(tasks.BOX)
def box(site: Site, question: tasks.BoxQuestion) -> tasks.BoxAnswer:
    """Say for each feature and step whether the site has a row beyond it; the sum is a number of sites."""
    check_size(site, 2.0 * len(question.folds) * site.train().X.shape[1] * len(question.steps))
    X, folds = site.train().X, site.folds()
    below, above = np.zeros((2, len(question.folds), X.shape[1], len(question.steps)))
    for block in blocks(len(X)):
        for number, fold in enumerate(question.folds):
            rows = slice(None) if fold == NO_FOLD else folds[block] != fold
            low, high = beyond(site.scaled(X[block][rows], number), question.steps)
            below[number], above[number] = np.maximum(below[number], low), np.maximum(above[number], high)
    return tasks.BoxAnswer(below, above)


def _clusters(site: Site, question: tasks.LandmarksQuestion, number: int) -> int:
    rows = len(_rows_outside(site, int(question.folds[number])))
    return min(question.slots_per_site, max(1, round(float(question.shares[number]) * rows)))


def _rows_outside(site: Site, fold: int) -> Ints:
    """Return the numbers of the training rows outside of a fold; of all of them without a fold."""
    return np.flatnonzero((site.folds() != fold) | (fold == NO_FOLD))


def sampled_rows(site: Site, scaling: int, fold: int, centres: int) -> Floats:
    """Return the training rows outside of a fold, scaled, or of more than so many centres need some of them.

    These are the same each time.
    """
    chosen, most = _rows_outside(site, fold), max(LANDMARK_ROWS, ROWS_A_CENTRE * centres)
    if len(chosen) > most:
        chosen = np.sort(np.random.default_rng(most).choice(chosen, most, replace=False))
    return site.scaled(site.train().X[chosen], scaling)


def _agreed_min_cluster(site: Site, asked: int) -> int:
    least = least_rows(site.context)
    if asked < least:
        raise SettingError(
            f"Site '{site.name}' refuses min-cluster={asked}: a landmark could be the mean of fewer than {least} "
            f"patients. Start the run with min-cluster={least}, or lower it in the node config if the hospital agrees."
        )
    return asked
