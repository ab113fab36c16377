"""The local work of PAN-SVM: warm start and cutting planes (Lu 2016, Algorithm 2)."""

import math
from dataclasses import replace
from typing import cast

import numpy as np

from clients.gate.answering import answers
from clients.gate.blur import Noised, add_noise, check_blurred, check_curvature, draw_of, sites_of_run
from clients.gate.requests import asked_problems, check_size
from clients.gate.terms import defends, least_blur
from clients.site import Site
from flower_pansvm.arrays import Floats
from flower_pansvm.cutting_planes.cuts import Answer, Cuts, Labels, Question, cuts_at
from flower_pansvm.cutting_planes.noise import noise_in, normal, rows_to_blur
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.multiclass import signs
from flower_pansvm.tasks import cutting_planes as tasks

WARM_START_ROWS = 10_000
"""Rows that a local model is fitted to; more would only polish a first guess, and so would more passes over them."""

WARM_START_STEPS = 35
"""Steps of L-BFGS. More of them fit a site's model closer to its own rows, which takes the mean of all models farther
from the best, more often than not."""

SMOOTHED = 0.1
"""Distance from the margin, in z, within which the hinge of the warm start is a parabola: L-BFGS needs a gradient."""

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
    for i, problem in enumerate(problems):
        labels = labels_of(site, problem)
        own = np.flatnonzero(labels.y)
        if len(own) > WARM_START_ROWS:
            own = np.sort(np.random.default_rng(0).choice(own, WARM_START_ROWS, replace=False))
        chosen = own if len(own) < len(labels.y) else slice(None)  # all of them without a copy
        y, weight = labels.y[chosen], labels.weight[chosen]
        if len(np.unique(y)) == 2:
            local_C = problem.C * problem.rows / weight.sum()
            rows[i] = np.abs(labels.y) @ labels.weight
            weights[i] = rows[i] * near_optimum(
                site.mapped_train(problem.feature_map)(chosen), y, weight, local_C
            )

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
    check_curvature(site, any(one.leading >= 0 for one in questions))
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
        parts = [_noise(site, *one) for one in zip(problems, questions, exact, strict=True)]
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


def _noise(site: Site, problem: Problem, question: Question, answer: Answer) -> Cuts:
    """Return the site's share of the secret noise in its cuts."""
    noise, heaviest = site.noise(problem.feature_map), max(problem.weights)
    draw = draw_of(site, problem)
    return noise_in(answer.cuts, question, draw, noise, sites=sites_of_run(site), heaviest=heaviest)


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


def near_optimum(F: Floats, y: Floats, weight: Floats, C: float) -> Floats:
    """Return weights and bias of a linear SVM over rows, nearly, shape (rank + 1,).

    Minimises ||w||^2 / 2C + the sum of weight times the smoothed hinge. Any point is a valid start, so single precision
    and few steps will do.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - each message may start a process

    narrow, signed = F.astype(np.float32), y.astype(np.float32)

    def loss(point: Floats) -> tuple[float, Floats]:
        w, b = point[:-1].astype(np.float32), np.float32(point[-1])
        z = 1.0 - signed * (narrow @ w + b)
        slope = np.clip((z + SMOOTHED) / (2.0 * SMOOTHED), 0.0, 1.0)
        hinge = np.where(z > SMOOTHED, z, SMOOTHED * slope**2)
        pull = -weight * y * slope
        gradient = np.append(point[:-1] / C + pull.astype(np.float32) @ narrow, pull.sum())
        return 0.5 * float(point[:-1] @ point[:-1]) / C + float(weight @ hinge), gradient

    options = {"maxiter": WARM_START_STEPS, "maxcor": WARM_START_STEPS, "ftol": 0.0}
    found = minimize(loss, np.zeros(F.shape[1] + 1), jac=True, method="L-BFGS-B", options=options)
    return cast("Floats", found.x)
