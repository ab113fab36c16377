"""The local work of finding landmarks: k-means at the site, a step of federated k-means, the bounding box."""

import numpy as np

from clients.gate.answering import answers
from clients.gate.blur import Noised, add_noise, draw_for, weights
from clients.gate.requests import check_size
from clients.gate.slots import own_slots
from clients.gate.terms import defends, least_rows
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.cutting_planes.noise import normal
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.errors import SettingError
from flower_pansvm.landmarks import beyond, cluster_centres, weighted_totals
from flower_pansvm.tasks import landmarks as tasks
from flower_pansvm.tasks.scaling import SCALING

CENTRE_NOISE, ROWS_WORTH = 0.8, 4.0
"""Largest standard deviation of the noise in a centre, as a share of that of the rows around theirs. In the sum of a
centre's rows it is as much as four rows deviate: centres of many rows have less."""

FEW_CENTRES, CLUSTERS_OF_FEW = 3, 8
"""A site that is to give fewer centres than the one makes as many clusters as the other, and gives some of them."""

LANDMARK_ROWS, ROWS_A_CENTRE = 2**15, 50
"""Of how many rows a large site's centres are made, at least, and for each of them: of more they would hardly differ,
and the time would go with the rows."""


@answers(tasks.LANDMARKS)
def landmarks(site: Site, question: tasks.LandmarksQuestion) -> Noised[tasks.LandmarksAnswer]:
    """Write the site's k-means centres into its own slots of a zero matrix (Lu 2016, Algorithm 1, line 1).

    Means over all rows are exact. Of two sets of them, with another seed or number, two that differ in one row would
    give it away: a run gets one, in one round trip.
    """
    if NO_FOLD in question.folds:
        round_trip = site.participation.this.round_trip if site.participation else 0
        what = (
            "a second set of landmarks of all its rows: means that differ in one row would give that row away"
        )
        site.settle(tasks.LANDMARKS.name, f"{round_trip} {_asked(site, question)}", what)
    slots, total = own_slots(site, question.slots_per_site, question.slots)
    scalings, features = len(question.folds), site.train().X.shape[1]
    check_size(site, float(scalings) * total * features)
    exact = tasks.LandmarksAnswer(np.zeros((scalings, total, features)), np.zeros((scalings, total)))
    own = [own_centres(site, question, number) for number in range(scalings)] if len(slots) else []
    for number, (centres, _) in enumerate(own):
        used = slots[: len(centres)]
        exact.centres[number, used], exact.filled[number, used] = centres, 1.0

    def noise() -> dict[str, Floats]:
        found = np.zeros(exact.centres.shape)
        for number, (centres, sizes) in enumerate(own):
            found[number, slots[: len(centres)]] = _noise(site, question, number, centres, sizes)
        return {"centres": found}

    return add_noise(site, exact, noise)


def _asked(site: Site, question: tasks.LandmarksQuestion) -> str:
    return f"{records.digest(records.values_of(question))} {site.digest_of(SCALING)}"


def own_centres(site: Site, question: tasks.LandmarksQuestion, number: int) -> tuple[Floats, Ints]:
    """Return the site's k-means centres for one of the scalings, and of how many rows each is the mean.

    The cells have secret random weights in the means. With equal ones, a centre over the same rows and a single one of
    a fold besides would give that row away by the difference, and such centres occur. With one weight for a whole row,
    the centres of all folds would say which space few rows of many features span. And exact means of few rows are a
    fifth of all that there is to know of the rows. Only with exact sums those over all rows are plain means.

    A site that is to give very few makes some more, and gives those that a secret draw says: one centre alone would be
    the mean of its rows, and near that of the other sites' rows.
    """
    min_cluster = _agreed_min_cluster(site, question.min_cluster)
    fold = int(question.folds[number])
    clusters = _clusters(site, question, number)
    X = sampled_rows(site, number, fold, clusters)
    plain = fold == NO_FOLD and not defends(site.context)
    weight = (
        None
        if plain
        else weights(draw_for(site, tasks.LANDMARKS.name, fold), _asked(site, question), X.shape)
    )
    made = clusters if clusters >= FEW_CENTRES else CLUSTERS_OF_FEW
    centres, sizes = cluster_centres(X, made, min_cluster, question.seed, weight)
    if len(centres) > clusters:
        numbers = draw_for(site, tasks.LANDMARKS.name, fold)(f"given {_asked(site, question)}", len(centres))
        chosen = np.sort(np.argsort(numbers, kind="stable")[:clusters])
        centres, sizes = centres[chosen], sizes[chosen]
    return centres, sizes


def _noise(
    site: Site, question: tasks.LandmarksQuestion, number: int, centres: Floats, sizes: Ints
) -> Floats:
    """Return secret noise for centres: a share of how far rows are from theirs.

    Whoever has a person's row could else see by a centre nearby that the person is among those it is the mean of.
    """
    if not len(centres):
        return np.empty(centres.shape)
    from sklearn.metrics import pairwise_distances_argmin  # noqa: PLC0415 - each message may start a process

    fold = int(question.folds[number])
    X = sampled_rows(site, number, fold, _clusters(site, question, number))
    left = X - centres[pairwise_distances_argmin(X, centres)]
    purpose = f"noise {_asked(site, question)}"
    numbers = normal(draw_for(site, tasks.LANDMARKS.name, fold), purpose, centres.size).reshape(centres.shape)
    share = np.minimum(CENTRE_NOISE, ROWS_WORTH / sizes)[:, None]
    noise: Floats = share * np.sqrt(np.square(left).mean(axis=0)) * numbers
    return noise


@answers(tasks.ASSIGN)
def assign(site: Site, question: tasks.AssignQuestion) -> tasks.AssignAnswer:
    """Sum the site's rows by their nearest centre, each cell with a secret random weight.

    With the same weights in every step, two of them would differ in the rows that have changed centre, perhaps in one.
    """
    min_cluster = _agreed_min_cluster(site, question.min_cluster)
    totals, masses = np.zeros(question.centres.shape), np.zeros(question.centres.shape)
    for number, (fold, count) in enumerate(zip(question.folds, question.counts, strict=True)):
        X, centres = sampled_rows(site, number, int(fold), int(count)), question.centres[number, :count]
        draw = draw_for(site, tasks.ASSIGN.name, int(fold))
        weight = weights(draw, centres.tobytes().hex(), X.shape)
        totals[number, :count], masses[number, :count] = weighted_totals(X, centres, weight, min_cluster)
    return tasks.AssignAnswer(totals, masses)


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

    Which these are is the site's secret, and the same each time.
    """
    chosen, most = _rows_outside(site, fold), max(LANDMARK_ROWS, ROWS_A_CENTRE * centres)
    if len(chosen) > most:
        numbers = draw_for(site, tasks.LANDMARKS.name, fold)(f"rows {most}", len(chosen))
        chosen = np.sort(chosen[np.argpartition(numbers, most)[:most]])
    return site.scaled(site.train().X[chosen], scaling)


def _agreed_min_cluster(site: Site, asked: int) -> int:
    least = least_rows(site.context)
    if asked < least:
        raise SettingError(
            f"Site '{site.name}' refuses min-cluster={asked}: a landmark could be the mean of fewer than {least} "
            f"patients. Start the run with min-cluster={least}, or lower it in the node config if the hospital agrees."
        )
    return asked
