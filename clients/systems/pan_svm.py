"""PAN-SVM at a site: landmarks by k-means, and cutting planes of the mapped rows' losses."""

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from clients.cache import cached
from clients.folds import folds_of
from clients.groups import squares_of
from clients.seeds import SLOTS
from clients.site import Site
from clients.systems import answers
from clients.systems.scaling import check_fits, scaled, scaling_of
from flower_pansvm.arrays import BLOCK, Bools, Floats, Ints, blocks
from flower_pansvm.class_columns import winners
from flower_pansvm.counts import BINS, confusion_counts, decision_histogram
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import Pair, class_decisions, signs
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.keys import keystream, sum_context
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.pan_svm import tasks
from flower_pansvm.systems.pan_svm.cuts import (
    LARGEST_WEIGHT,
    LEAST_WEIGHT,
    Answer,
    Labels,
    Mapped,
    Problem,
    cuts_at,
)
from flower_pansvm.systems.pan_svm.landmarks import cluster_centres
from flower_pansvm.systems.pan_svm.near_optimum import near_optima
from flower_pansvm.systems.scaling import NO_FOLD, SCALING
from flower_pansvm.tasks import Broadcast

FEW_CENTRES, CLUSTERS_OF_FEW = 3, 8
"""A site that is to give fewer centres than the one makes as many clusters as the other, and gives some of them: one
centre alone would be the mean of its rows, and near that of the other sites' rows."""

LANDMARK_ROWS, ROWS_A_CENTRE = 2**15, 50
"""Of how many rows a large site's centres are made, at least, and for each of them: of more they would hardly differ,
and the time would go with the rows."""

MOST_LANDMARKS = 100_000
"""More slots are refused: their matrix would only exhaust the site's memory, as a kernel matrix of that size does."""

LARGEST_KEPT = 2**24
"""Numbers of mapped rows that are kept from message to message; more are mapped anew each time, a block at a time."""


@dataclass(frozen=True, eq=False)
class SiteMap:
    """A feature map that the coordinator has broadcast, with all that maps a site's rows by it."""

    features: Bools  # (columns,): which of the columns it looks at
    scaling: Scaling  # of these columns
    nystrom: NystromMap  # from scaled cells to virtual points, equation (3.6)
    digests: tuple[str, ...]  # of each broadcast that a virtual point depends on

    def scaled(self, X: Floats) -> Floats:
        """Return the map's features of rows X, shape (rows, columns): filled, scaled, shape (rows, features)."""
        return self.scaling.transform(X[:, self.features])

    def transform(self, X: Floats) -> Floats:
        """Return the virtual points F of rows X, shape (rows, columns), as a matrix of shape (rows, rank)."""
        return self.nystrom.transform(self.scaled(X))


def feature_map(site: Site, index: int) -> SiteMap:
    """Return one of the feature maps that the coordinator has broadcast.

    FederationError if its parts do not fit the site's columns or each other, its kernel is neither rbf nor the run's,
    or it could make a row's virtual point longer than sqrt(k(x, x)).
    """
    sent = site.get_broadcast(tasks.FEATURE_MAP.numbered(index))
    fits = sent.features.shape == (len(site.schema().columns),) and sent.normalization.ndim == 2
    check_fits(site, fits, "parts of a feature map")
    landmark_set = tasks.LANDMARK_SET.numbered(sent.landmark_set)
    points = site.get_broadcast(landmark_set)
    check_fits(site, points.landmarks.shape == (len(sent.normalization), len(sent.features)), "landmarks")
    kernel = Kernel(sent.kernel, sent.gamma)  # type: ignore[arg-type]
    nystrom = NystromMap(kernel, points.landmarks[:, sent.features], sent.normalization.astype(np.float64))
    broadcasts: list[Broadcast[Any]] = [SCHEMA, SCALING, landmark_set, tasks.FEATURE_MAP.numbered(index)]
    digests = tuple(map(site.digest_of, broadcasts))
    agreed = site.terms.kernel
    sound = "sound map", agreed, *digests
    if not cached(sound, lambda: kernel.name in (agreed, "rbf") and nystrom.is_normalized()):
        raise FederationError(
            f"Site '{site.name}' refuses a feature map that does not belong to the run's kernel '{agreed}' and the "
            f"landmarks. {NOT_FOLLOWED}"
        )
    return SiteMap(sent.features, scaling_of(site, points.scaling).of(sent.features), nystrom, digests)


def mapped_train(site: Site, index: int) -> Mapped:
    """Return a function from some of the training rows to their virtual points F[rows] by a feature map."""
    X, site_map = site.train().X, feature_map(site, index)
    rank = site_map.nystrom.rank
    if len(X) * rank > LARGEST_KEPT:
        return lambda rows: site_map.transform(X[rows])

    def all_mapped() -> Floats:
        F = np.empty((len(X), rank))
        for block in blocks(len(X)):
            F[block] = site_map.transform(X[block])
        return F

    # Of this run: a map that was sound with another run's kernel has to pass the check again.
    key = ("mapped", site.run_id, index, *site_map.digests, site.least_patients)
    return site.cached(key, all_mapped, cached).__getitem__


@answers(tasks.LANDMARKS)
def landmarks(site: Site, question: tasks.LandmarksQuestion) -> tasks.LandmarksAnswer:
    """Write the site's k-means centres into its own slots of a zero matrix (Lu 2016, Algorithm 1, line 1)."""
    total = slots_of_all(site, question.slots_per_site, question.slots)
    scalings, features = len(question.folds), site.train().X.shape[1]
    site.check_size(float(scalings) * total * features)
    answer = tasks.LandmarksAnswer(np.zeros((scalings, total, features)), np.zeros((scalings, total)))
    for scaling in range(scalings):
        slots = own_slots(site, question.slots_per_site, total, scaling)
        if len(slots):
            centres, _ = own_centres(site, question, scaling)
            used = slots[: len(centres)]
            answer.centres[scaling, used], answer.filled[scaling, used] = centres, 1.0
    return answer


def own_centres(site: Site, question: tasks.LandmarksQuestion, scaling: int) -> tuple[Floats, Ints]:
    """Return the site's k-means centres for one of the scalings, and of how many patients' rows each is the mean."""
    min_cluster, least = question.min_cluster, site.least_patients
    if min_cluster < least:
        raise SettingError(
            f"Site '{site.name}' refuses min-cluster={min_cluster}: a landmark could be the mean of fewer than {least} "
            f"patients. Start the run with min-cluster={least}, or lower it in the node config if the hospital agrees."
        )
    rows = len(_rows_outside(site, int(question.folds[scaling])))
    clusters = min(question.slots_per_site, max(1, round(float(question.shares[scaling]) * rows)))
    chosen = sampled_rows(site, int(question.folds[scaling]), clusters)
    X, patients = scaled(site, site.train().X[chosen], scaling), site.train().patients[chosen]
    clusters_made = clusters if clusters >= FEW_CENTRES else CLUSTERS_OF_FEW
    centres, sizes = cluster_centres(X, clusters_made, min_cluster, question.seed, patients)
    # Those that k-means has first, which begins at random rows.
    return centres[:clusters], sizes[:clusters]


def _rows_outside(site: Site, fold: int) -> Ints:
    """Return the numbers of the training rows outside of a fold; of all of them without a fold."""
    return np.flatnonzero((folds_of(site) != fold) | (fold == NO_FOLD))


def sampled_rows(site: Site, fold: int, centres: int) -> Ints:
    """Return the numbers of the training rows outside of a fold, or of more than so many centres need some of them.

    These are the same each time.
    """
    chosen, most = _rows_outside(site, fold), max(LANDMARK_ROWS, ROWS_A_CENTRE * centres)
    if len(chosen) > most:
        chosen = np.sort(np.random.default_rng(most).choice(chosen, most, replace=False))
    return chosen


WARM_START_ROWS = 10_000
"""Rows that a local model is fitted to; more would only polish a first guess, and so would more passes over them."""


@answers(tasks.WARM_START)
def warm_start(site: Site, question: tasks.ProblemsQuestion) -> tasks.WarmStartAnswer:
    """Fit a linear SVM to some of the site's own mapped rows for each problem, and weight it by all its rows.

    C is raised so that the weight of regularisation against loss is that of the whole federation.
    """
    problems = allowed_problems(site, question)
    site.check_size(sum(problem.rank + 1.0 for problem in problems))
    weights = [np.zeros(problem.rank + 1) for problem in problems]
    rows = np.zeros(len(problems))
    labels = [labels_of(site, problem) for problem in problems]
    for map_number, together in _over_the_same_rows(problems, labels):
        chosen = _some_rows(labels[together[0]].y)
        trained = [i for i in together if len(np.unique(labels[i].y[chosen])) == 2]
        if not trained:
            continue
        y = np.array([labels[i].y[chosen] for i in trained])
        weight = np.array([labels[i].weight[chosen] for i in trained])
        local_C = np.array([problems[i].C * problems[i].rows for i in trained]) / weight.sum(axis=1)
        points = near_optima(mapped_train(site, map_number)(chosen), y, weight, local_C)
        for i, point in zip(trained, points, strict=True):
            rows[i] = np.abs(labels[i].y) @ labels[i].weight
            weights[i] = rows[i] * point
    return tasks.WarmStartAnswer(np.concatenate(weights), rows)


@answers(tasks.CUTS)
def cuts(site: Site, question: tasks.CutsQuestion) -> tasks.CutsAnswer:
    """Sum a, d, m, the hinge loss and its curvature over the site's rows (Algorithm 2, lines 4-8).

    `flower_pansvm.systems.pan_svm.cuts.cuts_at` has the equations; all problems with the same map share its rows.
    """
    problems, questions = allowed_problems(site, question), question.questions()
    numbers = sum(q.count * q.endpoints.shape[1] + (max(q.leading, 0) + 1.0) ** 2 for q in questions)
    # Of the answer, and of decisions that are in memory at once.
    site.check_size(max(numbers, max(q.count for q in questions) * float(BLOCK)))
    answers_of: dict[int, Answer] = {}
    for map_number in {problem.feature_map for problem in problems}:
        indices = [i for i, problem in enumerate(problems) if problem.feature_map == map_number]
        labels = [labels_of(site, problems[i]) for i in indices]
        results = cuts_at(mapped_train(site, map_number), labels, [questions[i] for i in indices])
        answers_of.update(zip(indices, results, strict=True))
    return tasks.CutsAnswer.of([answers_of[i] for i in range(len(problems))])


def labels_of(site: Site, problem: Problem) -> Labels:
    """Return the labels of a problem: sides and weights of the site's training rows."""
    y = signs(site.train().classes, problem.pair)
    if problem.fold != NO_FOLD:
        y[folds_of(site) == problem.fold] = 0.0
    positive, negative = problem.weights
    return Labels(y, np.where(y > 0, positive, np.where(y < 0, negative, 0.0)))


def _over_the_same_rows(
    problems: Sequence[Problem], labels: Sequence[Labels]
) -> Iterator[tuple[int, list[int]]]:
    """Return feature map and numbers of the problems that are over the same mapped rows."""
    alike: dict[tuple[int, bytes], list[int]] = {}
    for i, (problem, sides) in enumerate(zip(problems, labels, strict=True)):
        alike.setdefault((problem.feature_map, (sides.y != 0).tobytes()), []).append(i)
    return ((map_number, together) for (map_number, _), together in alike.items())


def _some_rows(y: Floats) -> slice | Ints:
    """Return the rows of a problem's first guess: all that are in it, or some if they are many."""
    rows = np.flatnonzero(y)
    if len(rows) > WARM_START_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, WARM_START_ROWS, replace=False))
    return rows if len(rows) < len(y) else slice(None)  # all of them without a copy


@answers(tasks.SCORES)
def scores(site: Site, question: tasks.ScoresQuestion) -> tasks.ScoresAnswer:
    """Count rows that a model has not been trained on, by class, predicted class and decision value."""
    classes = len(site.schema().classes)
    pairs = tuple(map(Pair, question.positive, question.negative))
    columns, models = question.centres.shape[1], len(question.folds)
    site.check_size(float(models) * (classes**2 + 2 * BINS * columns))
    confusion, histogram = np.zeros((models, classes, classes)), np.zeros((models, columns, 2, BINS))
    squares = np.zeros((int(question.by_patient), 2 * classes, 2 * classes))
    weights = np.split(question.weights, np.cumsum(len(pairs) * (question.ranks + 1))[:-1])
    for model, (map_number, fold) in enumerate(zip(question.feature_maps, question.folds, strict=True)):
        points = weights[model].reshape(len(pairs), -1)
        true, binary = _decisions(site, int(map_number), int(fold), points)
        decisions = class_decisions(binary, pairs, classes)
        confusion[model] = confusion_counts(true, winners(decisions), classes)
        if question.by_patient and model == 0:
            if fold != NO_FOLD:
                raise FederationError(f"Site '{site.name}' counts only test rows by patient. {NOT_FOLLOWED}")
            squares[0] = squares_of(site, winners(decisions), question)
        for column in range(columns):
            centre, scale = question.centres[model, column], question.scales[model, column]
            # The one column of two classes is that of class 1.
            positive = true == (column if classes > 2 else 1)
            histogram[model, column] = decision_histogram(decisions[:, column], positive, centre, scale)
    return tasks.ScoresAnswer(confusion, histogram, squares)


def _decisions(site: Site, index: int, fold: int, points: Floats) -> tuple[Ints, Floats]:
    """Return class and binary decision values of the rows of a fold, or of the test rows."""
    w, b = points[:, :-1], points[:, -1]
    if fold == NO_FOLD:
        rows, site_map = site.test(), feature_map(site, index)
        parts = [site_map.transform(rows.X[block]) @ w.T + b for block in blocks(len(rows.X))]
        return rows.classes, np.vstack([np.empty((0, len(points))), *parts])
    chosen = np.flatnonzero(folds_of(site) == fold)
    points_of = mapped_train(site, index)
    parts = [points_of(chosen[block]) @ w.T + b for block in blocks(len(chosen))]
    return site.train().classes[chosen], np.vstack([np.empty((0, len(points))), *parts])


def allowed_problems(site: Site, question: tasks.ProblemsQuestion) -> list[Problem]:
    """Return the problems of a question; SettingError if the run's ``class-weight`` does not allow their weights."""
    weighted = site.terms.class_weight != "none" or site.level == "perturbed"
    least, largest = (LEAST_WEIGHT, LARGEST_WEIGHT) if weighted else (1.0, 1.0)
    problems = question.problems()
    if not all(least <= weight <= largest for problem in problems for weight in problem.weights):
        allowed = f"weights from {least:g} to {largest:g}" if weighted else "no weight but 1"
        raise SettingError(
            f"Site '{site.name}' refuses the weights of the classes: class-weight in the run's settings allows "
            f"{allowed}. {NOT_FOLLOWED}"
        )
    return problems


def slots_of_all(site: Site, slots_per_site: int, most: int) -> int:
    """Return how many rows the landmark matrix has: as many for each site, or fewer rows than sites, one for each turn.

    SettingError if they are too many, or not enough for all: the sites after the first ones would have none left, and
    the coordinator would know whose the landmarks are.
    """
    participation = site.participation
    assert participation is not None  # landmarks are summed
    needed = slots_per_site * len(participation.sum_round.roster)
    total = min(needed, most)
    if not 1 <= total <= MOST_LANDMARKS or (total < needed and slots_per_site > 1):
        raise SettingError(
            f"Site '{site.name}' refuses {slots_per_site} landmark slots of {most}: it takes as many as all "
            f"other sites, at most {MOST_LANDMARKS} over all. Lower the number of landmarks."
        )
    return total


def own_slots(site: Site, slots_per_site: int, total: int, scaling: int) -> Ints:
    """Return which rows of the landmark matrix of one of the scalings are this site's.

    All sites know them, and the coordinator does not: they distribute the slots by one secret seed, which the first
    site draws (:mod:`clients.seeds`). A run has one seed, from which each matrix of each sum gets new slots: two whose
    slots were related, such as one with more slots for each site, would reveal whose they are.

    Where there is less than a row for each site, the seed says whose turn it is, and the others have none.
    """
    participation = site.participation
    assert participation is not None  # landmarks are summed
    sites = len(participation.sum_round.roster)
    seed = cast(bytes, site.remembered(SLOTS))
    about = tags.join_fields(tags.SLOTS, sum_context(participation.sum_round), scaling.to_bytes(8, "big"))
    order = np.argsort(keystream(hmac.digest(seed, about, "sha256"), max(total, sites)), kind="stable")
    index = participation.sum_round.roster.index(site.name)
    slots = order[index * slots_per_site : (index + 1) * slots_per_site]
    return slots[slots < total]
