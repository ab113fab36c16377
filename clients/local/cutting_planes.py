"""The local work of PAN-SVM: warm start and cutting planes (Lu 2016, Algorithm 2)."""

import math
import warnings
from dataclasses import replace
from threading import Lock
from typing import cast

import numpy as np

from clients.gate.answering import answers
from clients.gate.blur import Noised, add_noise, check_blurred, draw_of, sites_of_run
from clients.gate.requests import asked_problems, check_size
from clients.gate.terms import defends, least_blur
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.cutting_planes.cuts import Answer, Labels, Question, cuts_at
from flower_pansvm.cutting_planes.noise import noise_in, normal, rows_to_blur
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.multiclass import signs
from flower_pansvm.tasks import cutting_planes as tasks

WARM_START_ROWS = 10_000
"""Rows that a local model is fitted to; more would only polish a first guess, and so would more passes over them."""

WARM_START_PASSES = 200

LARGEST_PRODUCTS = 4096
"""So many rows, or fewer, are fitted by way of their inner products (128 MB at most), which all classes share."""

WARM_START_STEPS, WARM_START_TOLERANCE = 50_000, 0.01
"""Of the solver that works on inner products."""

_one_fit = Lock()
"""liblinear has one random generator for the whole process: of two fits at a time, neither could be repeated."""

START_NOISE = 0.2
"""Length of the noise in the mean of the sites' local models, as a share of the models' length."""


@answers(tasks.WARM_START)
def warm_start(site: Site, question: tasks.ProblemsQuestion) -> Noised[tasks.WarmStartAnswer]:
    """Fit a linear SVM on some of the site's own mapped rows for each problem, and weight it by all its rows.

    C is raised so that the weight of regularisation against loss is that of the whole federation.
    """
    problems = asked_problems(site, question)
    check_size(site, sum(problem.rank + 1.0 for problem in problems))
    weights = [np.zeros(problem.rank + 1) for problem in problems]
    rows = np.zeros(len(problems))
    shared = _Inner(site)
    for i, problem in enumerate(problems):
        labels = labels_of(site, problem)
        chosen = np.flatnonzero(labels.y)
        if len(chosen) > WARM_START_ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(chosen, WARM_START_ROWS, replace=False))
        y, weight = labels.y[chosen], labels.weight[chosen]
        if len(np.unique(y)) == 2:
            local_C = problem.C * problem.rows / weight.sum()
            rows[i] = np.abs(labels.y) @ labels.weight
            if len(chosen) <= LARGEST_PRODUCTS:
                found = _svm_by_products(*shared.of(problem.feature_map, chosen), y, weight, local_C)
            else:
                found = _svm(site.mapped_train(problem.feature_map)(chosen), y, weight, local_C)
            weights[i] = found * rows[i]

    def noise() -> dict[str, Floats]:
        parts = [_start_noise(site, *one) for one in zip(problems, weights, strict=True)]
        return {"weights": np.concatenate(parts)}

    return add_noise(site, tasks.WarmStartAnswer(np.concatenate(weights), rows), noise)


@answers(tasks.CUTS)
def cuts(site: Site, question: tasks.CutsQuestion) -> Noised[tasks.CutsAnswer]:
    """Sum a, d, m, the hinge loss and its curvature over the site's rows (Algorithm 2, lines 4-8)."""
    problems, questions = asked_problems(site, question), question.questions()
    check_size(site, sum(one.points.size + (max(one.leading, 0) + 1.0) ** 2 for one in questions))
    check_blurred(site, min(one.blur for one in questions))
    questions = [
        replace(one, blur=max(one.blur, fewest_blurred(site, problem)))
        for problem, one in zip(problems, questions, strict=True)
    ]
    found: dict[int, Answer] = {}
    for number in {problem.feature_map for problem in problems}:
        own = [i for i, problem in enumerate(problems) if problem.feature_map == number]
        parts = cuts_at(
            site.mapped_train(number),
            [labels_of(site, problems[i]) for i in own],
            [questions[i] for i in own],
            [draw_of(site, problems[i]) for i in own],
        )
        found.update(zip(own, parts, strict=True))
    exact = [found[i] for i in range(len(problems))]

    def noise() -> dict[str, Floats]:
        asked = zip(problems, questions, exact, strict=True)
        return vars(tasks.CutsAnswer.of([_noise(site, *one) for one in asked]))

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


def _noise(site: Site, problem: Problem, question: Question, answer: Answer) -> Answer:
    """Return the site's share of the secret noise in its answer."""
    noise, heaviest = site.noise(problem.feature_map), max(problem.weights)
    draw = draw_of(site, problem)
    return noise_in(answer, question, draw, noise, sites=sites_of_run(site), heaviest=heaviest)


def labels_of(site: Site, problem: Problem) -> Labels:
    """Return which of the site's training rows are in a problem, on which side and with what weight."""
    y = signs(site.train().classes, problem.pair)
    if problem.fold != NO_FOLD:
        y[site.folds() == problem.fold] = 0.0
    positive, negative = problem.weights
    return Labels(y, np.where(y > 0, positive, np.where(y < 0, negative, 0.0)))


def _start_noise(site: Site, problem: Problem, weights: Floats) -> Floats:
    """Return the site's noise for its local model, which is only a first guess: a share of its length."""
    numbers = normal(draw_of(site, problem), f"noise start {problem.C} {problem.rows}", len(weights))
    size = START_NOISE * np.linalg.norm(weights) * math.sqrt(sites_of_run(site) / len(weights))
    return cast("Floats", size * numbers)


class _Inner:
    """Mapped rows and their inner products, kept for the next problem: one versus the rest, they are the same."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.which: tuple[int, bytes] = -1, b""
        self.F, self.products = np.empty((0, 0)), np.empty((0, 0))

    def of(self, number: int, rows: Ints) -> tuple[Floats, Floats]:
        """Return rows mapped by a feature map, shape (rows, rank), and their inner products, shape (rows, rows)."""
        which = number, rows.tobytes()
        if which != self.which:
            self.F = self.site.mapped_train(number)(rows)
            narrow = self.F.astype(np.float32)  # only for a first guess
            self.which, self.products = which, (narrow @ narrow.T).astype(np.float64)
        return self.F, self.products


def _svm_by_products(F: Floats, products: Floats, y: Floats, weight: Floats, C: float) -> Floats:
    """Return weights and bias of a linear SVM over rows with given inner products, shape (rank + 1,)."""
    from sklearn.svm import SVC  # noqa: PLC0415 - each message may start a process

    solver = SVC(C=C, kernel="precomputed", tol=WARM_START_TOLERANCE, max_iter=WARM_START_STEPS, cache_size=1)
    with warnings.catch_warnings():
        _ignore_convergence()
        solver.fit(products, y, sample_weight=weight)
    return np.append(solver.dual_coef_[0] @ F[solver.support_], solver.intercept_[0])


def _svm(F: Floats, y: Floats, weight: Floats, C: float) -> Floats:
    """Return weights and bias of a linear SVM over rows, shape (rank + 1,)."""
    from sklearn.svm import LinearSVC  # noqa: PLC0415 - each message may start a process

    solver = LinearSVC(C=C, loss="hinge", dual=True, max_iter=WARM_START_PASSES, random_state=0)
    with _one_fit, warnings.catch_warnings():
        _ignore_convergence()
        solver.fit(F, y, sample_weight=weight)
    return np.append(solver.coef_[0], solver.intercept_[0])


def _ignore_convergence() -> None:
    """Have no solver warn that it has not converged, which it need not: any point is a valid start."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - each message may start a process

    warnings.simplefilter("ignore", ConvergenceWarning)
