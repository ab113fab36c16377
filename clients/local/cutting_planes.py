"""The local work of PAN-SVM: warm start and cutting planes (Lu 2016, Algorithm 2)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from clients.gate.answering import answers
from clients.gate.blur import Noised, add_noise, check_blurred, check_curvature, draw_of, sites_of_run
from clients.gate.requests import asked_problems, check_size
from clients.gate.terms import defends, least_blur
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.cutting_planes.cuts import BLOCK, Answer, Cuts, Draw, Labels, cuts_at
from flower_pansvm.cutting_planes.near_optimum import near_optima
from flower_pansvm.cutting_planes.noise import noise_in, normal, rows_to_blur
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.multiclass import signs
from flower_pansvm.tasks import cutting_planes as tasks

WARM_START_ROWS = 10_000
"""Rows that a local model is fitted to; more would only polish a first guess, and so would more passes over them."""

START_NOISE = 0.2
"""Length of the noise in the mean of the sites' local models, as a share of the models' length."""


@answers(tasks.WARM_START)
def warm_start(site: Site, question: tasks.ProblemsQuestion) -> Noised[tasks.WarmStartAnswer]:
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

    def noise() -> dict[str, Floats]:
        parts = [_start_noise(site, *one) for one in zip(problems, weights, strict=True)]
        return {"weights": np.concatenate(parts)}

    return add_noise(site, tasks.WarmStartAnswer(np.concatenate(weights), rows), noise)


@answers(tasks.CUTS)
def cuts(site: Site, question: tasks.CutsQuestion) -> Noised[tasks.CutsAnswer]:
    """Sum a, d, m, the hinge loss and its curvature over the site's rows (Algorithm 2, lines 4-8)."""
    problems, questions = asked_problems(site, question), question.questions()
    numbers = sum(one.count * one.ends.shape[1] + (max(one.leading, 0) + 1.0) ** 2 for one in questions)
    # Of the answer, and of decisions that are in memory at once.
    check_size(site, max(numbers, max(one.count for one in questions) * float(BLOCK)))
    check_blurred(site, min(one.blur for one in questions))
    check_curvature(site, any(one.leading >= 0 for one in questions))
    questions = [
        replace(one, blur=max(one.blur, fewest_blurred(site, problem)))
        for problem, one in zip(problems, questions, strict=True)
    ]
    draws = [draw_of(site, problem) for problem in problems]
    found: dict[int, Answer] = {}
    for number in {problem.feature_map for problem in problems}:
        own = [i for i, problem in enumerate(problems) if problem.feature_map == number]
        parts = cuts_at(
            site.mapped_train(number),
            [labels_of(site, problems[i]) for i in own],
            [questions[i] for i in own],
            [draws[i] for i in own],
        )
        found.update(zip(own, parts, strict=True))
    exact = [found[i] for i in range(len(problems))]

    def noise() -> dict[str, Floats]:
        parts = [_noise(site, *one) for one in zip(problems, questions, exact, draws, strict=True)]
        return {name: tasks.flat([getattr(part, name) for part in parts]) for name in ("a", "d", "m", "loss")}

    return add_noise(site, tasks.CutsAnswer.of(exact), noise)


def fewest_blurred(site: Site, problem: Problem) -> int:
    """Return at how many of its rows the site makes each cut of a problem random, whatever fewer it is asked for.

    The search for points blurs fewer rows as it goes on, and need not know how many each hospital insists on.
    """
    least = least_blur(site.context)
    if not defends(site.context):
        return least
    features = int(np.count_nonzero(site.features(problem.feature_map)))
    return max(least, rows_to_blur(problem.rank, features, sites_of_run(site)))


def _noise(site: Site, problem: Problem, question: Question, answer: Answer, draw: Draw) -> Cuts:
    """Return the site's share of the secret noise in its cuts."""
    noise, heaviest = site.noise(problem.feature_map), max(problem.weights)
    return noise_in(answer.cuts, question, draw, noise, sites=sites_of_run(site), heaviest=heaviest)


def labels_of(site: Site, problem: Problem) -> Labels:
    """Return which of the site's training rows are in a problem, on which side and with what weight."""
    y = signs(site.train().classes, problem.pair)
    if problem.fold != NO_FOLD:
        y[site.folds() == problem.fold] = 0.0
    positive, negative = problem.weights
    return Labels(y, np.where(y > 0, positive, np.where(y < 0, negative, 0.0)))


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


def _start_noise(site: Site, problem: Problem, weights: Floats) -> Floats:
    """Return the site's noise for its local model, which is only a first guess: a share of its length."""
    numbers = normal(draw_of(site, problem), f"noise start {problem.C} {problem.rows}", len(weights))
    size = START_NOISE * np.linalg.norm(weights) * math.sqrt(sites_of_run(site) / len(weights))
    return cast("Floats", size * numbers)
