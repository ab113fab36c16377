"""The local work of feature selection: sums over all rows, and over the support vectors (Lu 2016, chapters 5 and 6)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clients.answering import Inputs, answers
from clients.blur import check_blurred, draw_for
from clients.pan_svm import labels_of
from clients.site import Site
from clients.terms import least_blur, least_rows
from flower_pansvm import messages, scaling
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.cutting_planes.duals import Duals, row_duals, unpack_duals
from flower_pansvm.cutting_planes.packing import unpack_problems
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.errors import TableError
from flower_pansvm.records import Value

SUPPORT_SHARE = 1e-3
"""A support vector has a dual variable above this share of the largest possible, C times its weight: dual variables
are as exact as the training, and a row that is none can be left with a trace."""


@answers(messages.CLASS_MOMENTS)
def class_moments(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
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
    return {part: np.stack([one[part] for one in by_class]) for part in ("count", "total", "square")}


@answers(messages.SUPPORT)
def support(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Sum alpha_i y_i x_i over the rows, and the support vectors of each side, for each problem.

    Equations (5.1) and (5.3): the weights of the linear separation in the space of the features, and number, sum and
    sum of squares of the support vectors, from which the coordinator has their t-statistic.
    """
    problems, duals = unpack_problems(inputs), unpack_duals(inputs)
    check_blurred(site, inputs["blur"])
    # From the same cutting planes as in training, which are at least as random as the hospital insists on.
    least = least_blur(site.context)
    duals = [replace(one, blurred=np.maximum(one.blurred, least)) for one in duals]
    parts = [
        _support_of(site, problem, own, bool(inputs["blur"]))
        for problem, own in zip(problems, duals, strict=True)
    ]
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}


def support_factors(
    site: Site, problem: Problem, duals: Duals, blur: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each training row is multiplied by in the sums of one problem.

    Two sums over support vectors that differ in one row would give that row away by their difference, and from step to
    step few rows become or cease to be support vectors. So with ``blur`` each is weighted at random; by numbers made
    from the set itself, so that the same set always has the same sum.

    Returns
    -------
    signed : ndarray of shape (rows,)
        alpha_i y_i.
    chosen : ndarray of shape (2, rows)
        Weight of each row as a support vector of the positive and of the negative side; 0 if it is none, and for all
        rows of a side with fewer support vectors than the hospital's ``min-cluster``.
    """
    labels, told = labels_of(site, problem), site.told_about(problem.feature_map)
    draw = draw_for(site, told, problem.pair, problem.fold)
    alpha = row_duals(site.mapped_train(problem.feature_map), labels, duals, draw)
    inside = alpha > SUPPORT_SHARE * problem.C * labels.weight
    sides = np.stack([inside & (labels.y > 0), inside & (labels.y < 0)])
    sides &= sides.sum(axis=1, keepdims=True) >= least_rows(site.context)
    weight = np.ones(len(alpha))
    if blur:
        of_the_set = draw_for(site, messages.SUPPORT.name, told[0], problem.pair, problem.fold)
        weight = 0.5 + of_the_set(np.packbits(sides).tobytes().hex(), len(alpha))
    return alpha * labels.y, sides * weight


def _support_of(site: Site, problem: Problem, duals: Duals, blur: bool) -> dict[str, NDArray[np.float64]]:
    signed, chosen = support_factors(site, problem, duals, blur)
    X, number = site.train().X, problem.feature_map
    features = site.feature_map(number).landmarks.shape[1]
    weights, total, square = np.zeros(features), np.zeros((2, features)), np.zeros((2, features))
    for block in blocks(len(X)):
        seen = site.seen(X[block], number)
        weights += signed[block] @ seen
        total += chosen[:, block] @ seen
        square += chosen[:, block] @ np.square(seen)
    return {"weights": weights, "count": chosen.sum(axis=1), "total": total, "square": square}
