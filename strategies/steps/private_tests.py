"""Tests of models with differential privacy: which cells are asked for, and what noisy ones say.

With two classes a row is in two cells: of its prediction, and in a histogram of few bins. The first, which have the
larger part of the budget, make sensitivity and specificity; both together, by generalised least squares, the area under
the curve, thresholds and calibration. How far the noise alone moves a figure follows from the figure's derivatives.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import norm

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import BudgetError
from flower_pansvm.log import logger
from flower_pansvm.metrics import DecisionGroup, Evaluation, agreement, area_noise, area_under_curve
from flower_pansvm.models.model import Model
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.systems.evaluation import MODEL_TEST, TEST_DELTA
from flower_pansvm.tasks import Task
from flower_pansvm.tested import FINE
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.settings import Settings
from strategies.steps.private_training import ROUNDING, Budget
from strategies.steps.subgroups import Groups, groups_of_run

TRUE_RECORDS = "true records, with differential privacy"

BINS = 8
"""Of the histogram: with more of them each count has more noise than rows at a usual budget."""

OF_GROUPS = 1 / 3
"""Share of the cost of a test that counts by subgroup."""

NO_EDGES: Floats = np.empty(0)


@dataclass(frozen=True)
class PrivateTest:
    """What a test with differential privacy has found; nothing where its budget was spent before."""

    evaluation: Evaluation | None = None
    accuracy_noise: float | None = None  # standard deviation of the accuracy by the noise alone
    figures: dict[str, Any] = field(default_factory=dict)  # the counts by subgroup, if a run asks for them


def edges_around(centre: float, scale: float) -> Floats:
    """Return the edges between bins that as many normal decision values fall into each, one of them moved to 0."""
    edges: Floats = centre + scale * norm.ppf(np.arange(1, BINS) / BINS)
    edges[np.argmin(np.abs(edges))] = 0.0
    return edges


def private_test(
    budget: Budget,
    task: Task[Any, Any],
    rho: float,
    model: Any,
    edges: Floats,
    probabilities: Floats | None = None,
) -> PrivateTest:
    """Ask for the cells of a model's test.

    Parameters
    ----------
    budget : Budget
        What is counted on.
    task : Task
        One whose question has, besides cost and groups, what makes the model.
    rho : float
        Cost.
    model : object
        That part of the question.
    edges : ndarray of shape (edges,)
        Decision values of two classes between which rows are counted, increasing, one of them 0; empty for none. They
        cost nothing if they follow from no test record.
    probabilities : ndarray of shape (edges + 1,), optional
        Probability of class 1 that the model gives in each bin.
    """
    federation = budget.federation
    assert federation.schema is not None
    classes, groups = len(federation.schema.classes), groups_of_run(federation)
    edges, test = edges if classes == 2 else NO_EDGES, PrivateTest()

    def ask(cost: float, **asked: Any) -> tuple[Floats, float]:
        question = task.question(cost, model, **asked)
        answer = budget.ask(task, question, cells=(question.groups, classes, question.columns))
        return answer.cells, budget.deviation(task, "cells", cost, answer)

    try:
        # The figures of all rows are worth most: as a sum of groups they would have the noise of each.
        (cells,), deviation = ask((1 - OF_GROUPS) * rho if groups else rho, edges=edges)
        test = PrivateTest(*evaluated(cells, deviation, edges, probabilities))
        if groups:
            test = replace(test, figures=_by_group(groups, *ask(OF_GROUPS * rho, **groups.asked)))
    except BudgetError as error:
        logger.warning("the model is not tried, or not by group: %s", error)
    return test


def _by_group(groups: Groups, cells: Floats, deviation: float) -> dict[str, Any]:
    """Return the counts of each group, for ``result.json``."""
    kind = "confusion" if cells.shape[1] == 2 else "wrong_and_right"
    counts = np.maximum(cells[:, :, :2], 0.0).tolist()
    # No group is too small to be told, and every row has a site.
    names = groups.names[:-1] if groups.sites else (*groups.names[:-1], "missing")
    entries = [{"name": name, kind: matrix} for name, matrix in zip(names, counts, strict=False)]
    return {"subgroups": {"column": groups.column, "count_noise": deviation, "groups": entries}}


def evaluated(
    cells: Floats, deviation: float, edges: Floats = NO_EDGES, probabilities: Floats | None = None
) -> tuple[Evaluation, float | None]:
    """Return figures of noisy counts of test rows, and the standard deviation of the accuracy by their noise alone.

    Parameters
    ----------
    cells : ndarray of shape (classes, 2 or edges + 3)
        Noisy cells of a test (:class:`flower_pansvm.tested.TestedAnswer`).
    deviation : float
        Of the noise of each.
    edges, probabilities
        As of :func:`private_test`.
    """
    histogram, bin_noise = None, 0.0
    counts, classes = np.maximum(cells[:, :2], 0.0), len(cells)
    if len(edges):
        counts, histogram, deviation, covariance = combined(cells, deviation, edges)
        bin_noise = math.sqrt(covariance.diagonal().max())
    total, by_class = float(counts.sum()), counts.sum(axis=1)
    if total < 1:
        return Evaluation(0, None, None, None, None), None
    right = np.diag(counts) if classes == 2 else counts[:, 1]
    accuracy = float(right.sum() / total)
    seen = by_class > 0
    balanced = float(np.mean(right[seen] / by_class[seen])) if np.count_nonzero(seen) > 1 else None
    f1 = (
        float(2 * counts[1, 1] / (by_class[1] + counts[:, 1].sum()))
        if classes == 2 and counts[1, 1] > 0
        else None
    )
    noise = deviation * math.sqrt(classes * (accuracy**2 + (1 - accuracy) ** 2)) / total
    evaluation = Evaluation(round(total), accuracy, balanced, f1, None, count_noise=deviation)
    known = tuple(map(tuple, counts.tolist()))
    if classes != 2:
        return replace(evaluation, wrong_and_right=known), noise
    evaluation = replace(evaluation, confusion=known)
    if histogram is None:
        return evaluation, noise
    return replace(
        evaluation,
        auc=area_under_curve(histogram),
        auc_noise=area_noise(histogram, covariance),
        bin_noise=bin_noise,
        groups=(_groups(histogram, edges, probabilities),),
        agreement=None if probabilities is None else agreement(histogram, probabilities, covariance),
    ), noise


def combined(cells: Floats, deviation: float, edges: Floats) -> tuple[Floats, Floats, float, Floats]:
    """Return counts by prediction and by bin that agree, and the noise in them, from cells of two classes.

    A class has on each side of 0 a count and bins of another noise: their sum is the mean by precision of both, and the
    bins are the nearest that are not negative and have this sum.

    Returns
    -------
    counts : ndarray of shape (2, 2)
    histogram : ndarray of shape (2, edges + 1)
    deviation : float
        The largest of the counts.
    covariance : ndarray of shape (edges + 1, edges + 1)
        Of the bins of each class.
    """
    bins, below = len(edges) + 1, int(np.flatnonzero(edges == 0)[0]) + 1
    fine, variance = cells[:, 2:] / FINE, (deviation / FINE) ** 2
    counts, histogram, covariance, largest = (
        np.zeros((2, 2)),
        np.zeros((2, bins)),
        variance * np.eye(bins),
        0.0,
    )
    for column, side in enumerate((slice(0, below), slice(below, bins))):
        width = side.stop - side.start
        weight = width * variance / (deviation**2 + width * variance)
        totals = weight * cells[:, column] + (1 - weight) * fine[:, side].sum(axis=1)
        counts[:, column] = np.maximum(totals, 0.0)
        for k in range(2):
            histogram[k, side] = nearest_with_sum(fine[k, side], counts[k, column])
        covariance[side, side] -= weight * variance / width
        largest = max(largest, math.sqrt(weight) * deviation)
    return counts, histogram, largest, covariance


def nearest_with_sum(values: Floats, total: float) -> Floats:
    """Return the numbers, none negative, that add up to a total and are nearest to some values (Duchi et al. 2008)."""
    falling = np.sort(values)[::-1]
    levels = (falling.cumsum() - total) / np.arange(1, len(values) + 1)
    level = levels[np.flatnonzero(falling >= levels)[-1]]
    nearest: Floats = np.maximum(values - level, 0.0)
    return nearest


def _groups(histogram: Floats, edges: Floats, probabilities: Floats | None) -> tuple[DecisionGroup, ...]:
    """Return the bins as groups of rows."""
    given = [None] * len(histogram[0]) if probabilities is None else probabilities.tolist()
    return tuple(
        DecisionGroup(float(others), float(cases), probability, least)
        for others, cases, probability, least in zip(*histogram, given, [None, *edges.tolist()], strict=True)
    )


def edges_of_copies(model: Model, before: Evaluation, threshold: float = 0.0) -> tuple[Floats, Floats | None]:
    """Return edges for a test on true records, and the probability of each bin, from decision values of the copies.

    The edges part the copies' groups into about as large bins; one of them is at the run's threshold, a probability, if
    it has one. None without decision values of two classes.
    """
    if len(before.groups) != 1 or len(model.schema_.classes) != 2:
        return NO_EDGES, None
    rows = np.array([group.others + group.of_class for group in before.groups[0]], dtype=np.float64)
    least = np.array([-np.inf if group.least is None else group.least for group in before.groups[0]])
    places = np.searchsorted(rows.cumsum() / rows.sum(), np.arange(1, BINS) / BINS, side="right")
    edges = np.unique(least[places[places > 0].clip(max=len(least) - 1)])
    edges = edges[np.isfinite(edges)]
    if not len(edges):
        return NO_EDGES, None
    edges[np.argmin(np.abs(edges))] = 0.0
    given = [group.probability for group in before.groups[0]]
    calibration = getattr(model, "calibration_", None)
    if None in given or calibration is None:
        return edges, None
    if threshold and calibration.slopes[0] > 0:
        at = float((logit(threshold) - calibration.intercepts[0]) / calibration.slopes[0])
        others = edges[edges != 0]
        edges = np.unique([0.0, at, *others[np.argsort(np.abs(others - at))[1:]]])
    # A bin that no group begins in has the mean of its ends.
    ends = calibration.probabilities(edges[:, None])[:, 1]
    means = (np.concatenate([[0.0], ends]) + np.concatenate([ends, [1.0]])) / 2
    bins = np.searchsorted(edges, least, side="right")
    for b in np.unique(bins):
        means[b] = np.average(np.array(given, dtype=np.float64)[bins == b], weights=rows[bins == b])
    return edges, means


def test_budget(federation: Federation) -> Budget:
    """Return the budget of a run at level perturbed for a test of true records."""
    settings = federation.settings
    rho = rho_of(settings.test_epsilon, TEST_DELTA)
    return Budget(federation, rho, settings.colluders, resumed=settings.resume)


def tested_on_true_records(budget: Budget, settings: Settings, model: Model, outcome: Outcome) -> Outcome:
    """Return the outcome with the model's figures on true test records in place of those on their copies.

    They stay as they are, with a warning, where a hospital's budget for test records is spent.
    """
    federation, before = budget.federation, outcome.evaluation or Evaluation(0, None, None, None, None)
    octets = np.frombuffer(model.to_bytes(), dtype=np.uint8)
    with federation.costs.phase("test on true records"):
        binned = edges_of_copies(model, before, getattr(settings, "threshold", 0.0))
        test = private_test(budget, MODEL_TEST, budget.rho, octets, *binned)
    if test.evaluation is None:
        return outcome
    on_true_records: dict[str, Any] = {
        # A run that was resumed in a simulation may have asked twice.
        "epsilon": max(settings.test_epsilon, epsilon_of(budget.total("test") * (1 - ROUNDING), TEST_DELTA)),
        "delta": TEST_DELTA,
        "colluders": settings.colluders,
        "answers": sum(item.answers for item in budget.spent),
        "accuracy_noise": test.accuracy_noise,
    }
    if all(site.simulated for site in federation.sites.values()):
        # Of several rows of a patient only some have taken part in the test.
        if federation.rows is not None and federation.rows.patients[1] == federation.rows.test:
            on_true_records["true_accuracy"] = before.accuracy
    else:
        on_true_records["accuracy_of_copies"] = before.accuracy
    replaced = {"tested_on": TRUE_RECORDS, "test_on_true_records": on_true_records, **test.figures}
    return replace(outcome, evaluation=test.evaluation, figures={**outcome.figures, **replaced})
