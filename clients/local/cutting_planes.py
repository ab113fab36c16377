"""The local work of PAN-SVM: warm start and cutting planes (Lu 2016, Algorithm 2)."""

from collections.abc import Iterator, Sequence

import numpy as np

from clients.gate.answering import answers
from clients.gate.requests import asked_problems, check_size
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.cutting_planes.cuts import BLOCK, Answer, Labels, cuts_at
from flower_pansvm.cutting_planes.near_optimum import near_optima
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.multiclass import signs
from flower_pansvm.tasks import cutting_planes as tasks

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
