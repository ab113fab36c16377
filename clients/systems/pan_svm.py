"""PAN-SVM at a site: landmarks by k-means, and cutting planes of the mapped rows' losses."""

from collections.abc import Iterator, Sequence

import numpy as np

from clients.gate.answering import answers
from clients.gate.requests import asked_problems, check_size
from clients.gate.slots import own_slots
from clients.gate.terms import least_rows
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import SettingError
from flower_pansvm.multiclass import signs
from flower_pansvm.systems.pan_svm import tasks
from flower_pansvm.systems.pan_svm.cuts import BLOCK, NO_FOLD, Answer, Labels, Problem, blocks, cuts_at
from flower_pansvm.systems.pan_svm.landmarks import beyond, cluster_centres, totals_by_centre
from flower_pansvm.systems.pan_svm.near_optimum import near_optima

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


WARM_START_ROWS = 10_000
"""Rows that a local model is fitted to; more would only polish a first guess, and so would more passes over them."""


@answers(tasks.WARM_START)
def warm_start(site: Site, question: tasks.ProblemsQuestion) -> tasks.WarmStartAnswer:
    """Fit a linear SVM to some of the site's own mapped rows for each problem, and weight it by all its rows.

    C is raised so that the weight of regularisation against loss is that of the whole federation.
    """
    problems = asked_problems(site, question)
    check_size(site, sum(problem.rank + 1.0 for problem in problems))
    weights = [np.zeros(problem.rank + 1) for problem in problems]
    rows = np.zeros(len(problems))
    labels = [labels_of(site, problem) for problem in problems]
    for number, together in _over_the_same_rows(problems, labels):
        chosen = _some_rows(labels[together[0]].y)
        trained = [i for i in together if len(np.unique(labels[i].y[chosen])) == 2]
        if not trained:
            continue
        y = np.array([labels[i].y[chosen] for i in trained])
        weight = np.array([labels[i].weight[chosen] for i in trained])
        local_C = np.array([problems[i].C * problems[i].rows for i in trained]) / weight.sum(axis=1)
        found = near_optima(site.mapped_train(number)(chosen), y, weight, local_C)
        for i, point in zip(trained, found, strict=True):
            rows[i] = np.abs(labels[i].y) @ labels[i].weight
            weights[i] = rows[i] * point
    return tasks.WarmStartAnswer(np.concatenate(weights), rows)


@answers(tasks.CUTS)
def cuts(site: Site, question: tasks.CutsQuestion) -> tasks.CutsAnswer:
    """Sum a, d, m, the hinge loss and its curvature over the site's rows (Algorithm 2, lines 4-8)."""
    problems, questions = asked_problems(site, question), question.questions()
    numbers = sum(one.count * one.ends.shape[1] + (max(one.leading, 0) + 1.0) ** 2 for one in questions)
    # Of the answer, and of decisions that are in memory at once.
    check_size(site, max(numbers, max(one.count for one in questions) * float(BLOCK)))
    found: dict[int, Answer] = {}
    for number in {problem.feature_map for problem in problems}:
        own = [i for i, problem in enumerate(problems) if problem.feature_map == number]
        labels = [labels_of(site, problems[i]) for i in own]
        parts = cuts_at(site.mapped_train(number), labels, [questions[i] for i in own])
        found.update(zip(own, parts, strict=True))
    return tasks.CutsAnswer.of([found[i] for i in range(len(problems))])


def labels_of(site: Site, problem: Problem) -> Labels:
    """Return which of the site's training rows are in a problem, on which side and with what weight."""
    y = signs(site.train().classes, problem.pair)
    if problem.fold != NO_FOLD:
        y[site.folds() == problem.fold] = 0.0
    positive, negative = problem.weights
    weight, own = np.where(y > 0, positive, np.where(y < 0, negative, 0.0)), site.train().weights
    return Labels(y, weight if own is None else weight * own)


def _over_the_same_rows(
    problems: Sequence[Problem], labels: Sequence[Labels]
) -> Iterator[tuple[int, list[int]]]:
    """Return feature map and numbers of the problems that are over the same mapped rows."""
    alike: dict[tuple[int, bytes], list[int]] = {}
    for i, (problem, one) in enumerate(zip(problems, labels, strict=True)):
        alike.setdefault((problem.feature_map, (one.y != 0).tobytes()), []).append(i)
    return ((number, together) for (number, _), together in alike.items())


def _some_rows(y: Floats) -> slice | Ints:
    """Return which rows a problem's first guess is fitted to: all that are in it, or some if they are many."""
    own = np.flatnonzero(y)
    if len(own) > WARM_START_ROWS:
        own = np.sort(np.random.default_rng(0).choice(own, WARM_START_ROWS, replace=False))
    return own if len(own) < len(y) else slice(None)  # all of them without a copy
