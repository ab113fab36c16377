"""The local work of feature selection: sums over all rows, and over the support vectors (Lu 2016, chapters 5 and 6)."""

import hashlib
from dataclasses import replace
from typing import cast

import numpy as np

from clients.gate.answering import answers
from clients.gate.blur import check_blurred, draw_for, draw_of, weights
from clients.gate.requests import asked_problems
from clients.gate.terms import least_rows
from clients.local.cutting_planes import fewest_blurred, labels_of
from clients.site import Site
from flower_pansvm import scaling
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.cutting_planes.cuts import Duals, blocks, row_duals
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.errors import TableError
from flower_pansvm.tasks import selection as tasks
from flower_pansvm.tasks.joining import SCHEMA
from flower_pansvm.tasks.task import Nothing

SUPPORT_SHARE = 1e-3
"""A support vector has a dual variable above this share of the largest possible, C times its weight: dual variables
are as exact as the training, and a row that is none can be left with a trace."""


@answers(tasks.CLASS_MOMENTS)
def class_moments(site: Site, question: Nothing) -> tasks.ClassMomentsAnswer:  # noqa: ARG001
    """Sum the cells of each feature, and their squares, over the training rows of each class, in scaled units.

    Missing cells are left out and not filled: the filters compare what was measured.
    """
    rows, names = site.train(), site.schema().classes
    least = least_rows(site.context)
    counts = np.bincount(rows.classes, minlength=len(names))
    if any(0 < count < least for count in counts):
        raise TableError(
            f"Site '{site.name}' has a class with fewer than {least} training rows, and sums by class would be about "
            "these few patients. Merge rare classes with the setting 'positive', lower test-fraction, or lower "
            "min-cluster in the site's node config if the hospital agrees."
        )
    units = site.scaling(0)
    X = (rows.X - units.shift) / units.scale
    by_class = [scaling.moments(X[rows.classes == one]) for one in range(len(names))]
    parts = ("count", "total", "square")
    return tasks.ClassMomentsAnswer(**{part: np.stack([one[part] for one in by_class]) for part in parts})


@answers(tasks.SUPPORT)
def support(site: Site, question: tasks.SupportQuestion) -> tasks.SupportAnswer:
    """Sum alpha_i y_i x_i over the rows, and the support vectors of each side, for each problem.

    Equations (5.1) and (5.3): the weights of the linear separation in the space of the features, and number, sum and
    sum of squares of the support vectors, from which the coordinator has their t-statistic.
    """
    problems, duals = asked_problems(site, question), question.duals()
    check_blurred(site, question.blur)
    parts = [_support_of(site, *one, bool(question.blur)) for one in zip(problems, duals, strict=True)]
    return tasks.SupportAnswer(*map(np.stack, zip(*parts, strict=True)))


def support_vectors(site: Site, problem: Problem, duals: Duals) -> tuple[Floats, Bools]:
    """Return alpha_i y_i of one problem, shape (rows,), and which rows are support vectors, shape (2, rows).

    Those of the positive and of the negative side; none of a side that has fewer than the hospital's ``min-cluster``.
    """
    labels = labels_of(site, problem)
    draw = draw_of(site, problem)
    # From the same cutting planes as in training, which are at least as random as the hospital insists on.
    duals = replace(duals, blurred=np.maximum(duals.blurred, fewest_blurred(site, problem)))
    alpha = row_duals(site.mapped_train(problem.feature_map), labels, duals, draw)
    inside = alpha > SUPPORT_SHARE * problem.C * labels.weight
    sides = np.stack([inside & (labels.y > 0), inside & (labels.y < 0)])
    return alpha * labels.y, sides & (sides.sum(axis=1, keepdims=True) >= least_rows(site.context))


def cell_weights(site: Site, problem: Problem, side: Bools, features: Ints, blur: bool) -> Floats:
    """Return the weight of each cell in the sums over the support vectors of one side.

    Two sums that differ in one row would give that row away by their difference, and from step to step few rows become
    or cease to be support vectors. So with ``blur`` each is weighted at random; by numbers made from the set itself, so
    that the same set always has the same sum. They differ from cell to cell: with one number for a whole row, sums and
    sums of squares of many more features than there are rows can be solved for the rows.

    ``side`` is a mask of rows; the result has shape (support vectors, features) and the same sum in all columns.
    """
    count = int(np.count_nonzero(side))
    if count == 0 or not blur:
        return np.ones((count, len(features)))
    draw = draw_for(site, tasks.SUPPORT.name, site.digest_of(SCHEMA), problem.pair, problem.fold)
    the_set = hashlib.sha256(np.packbits(side).tobytes()).hexdigest()
    of_cells = np.column_stack([weights(draw, f"{the_set} {feature}", (count,)) for feature in features])
    mass = weights(draw, the_set, (count,)).sum()
    return cast("Floats", of_cells * (mass / of_cells.sum(axis=0)))


def _support_of(site: Site, problem: Problem, duals: Duals, blur: bool) -> tuple[Floats, ...]:
    """Return weights, count, total and square of one problem."""
    signed, sides = support_vectors(site, problem, duals)
    X, number = site.train().X, problem.feature_map
    features = np.flatnonzero(site.features(number))
    separation = np.zeros(len(features))
    for block in blocks(len(X)):
        separation += signed[block] @ site.seen(X[block], number)
    count, total, square = np.zeros(2), np.zeros((2, len(features))), np.zeros((2, len(features)))
    for one, side in enumerate(sides):
        seen, of_cells = site.seen(X[side], number), cell_weights(site, problem, side, features, blur)
        count[one] = of_cells[:, 0].sum()
        total[one], square[one] = (of_cells * seen).sum(axis=0), (of_cells * np.square(seen)).sum(axis=0)
    return separation, count, total, square
