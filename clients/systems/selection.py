"""The local work of feature selection: sums over all rows, and over the support vectors (Lu 2016, chapters 5 and 6)."""

import numpy as np

from clients.patients import count_patients
from clients.site import Site
from clients.systems import answers
from clients.systems.pan_svm import allowed_problems, feature_map, labels_of, mapped_train
from clients.systems.scaling import scaling_of
from flower_pansvm import scaling
from flower_pansvm.arrays import Bools, Floats, blocks
from flower_pansvm.errors import TableError
from flower_pansvm.systems import selection as tasks
from flower_pansvm.systems.pan_svm.cuts import Problem
from flower_pansvm.systems.selection import Duals
from flower_pansvm.tasks import Nothing

SUPPORT_SHARE = 1e-3
"""A support vector has a dual variable above this share of the largest possible, C times its weight: dual variables
are as exact as the training, and another row can be left with a trace."""


@answers(tasks.CLASS_MOMENTS)
def class_moments(site: Site, question: Nothing) -> tasks.ClassMomentsAnswer:  # noqa: ARG001
    """Sum the cells of each feature, and their squares, over the training rows of each class, in scaled units.

    Missing cells are left out and not filled: the filters compare what was measured.
    """
    rows, names = site.train(), site.schema().classes
    least = site.least_patients
    counts = [count_patients(rows.patients[rows.classes == index]) for index in range(len(names))]
    if any(0 < count < least for count in counts):
        raise TableError(
            f"Site '{site.name}' has a class with fewer than {least} patients to train on, and sums by class would be "
            "about these few. Merge rare classes with the setting 'positive', lower test-fraction, or lower "
            "min-cluster in the site's node config if the hospital agrees."
        )
    units = scaling_of(site, 0)
    X = (rows.X - units.shift) / units.scale
    by_class = [scaling.moments(X[rows.classes == index]) for index in range(len(names))]
    parts = ("count", "total", "square")
    return tasks.ClassMomentsAnswer(**{name: np.stack([index[name] for index in by_class]) for name in parts})


@answers(tasks.SUPPORT)
def support(site: Site, question: tasks.SupportQuestion) -> tasks.SupportAnswer:
    """Sum alpha_i y_i x_i over the rows, and the support vectors of each side, for each problem.

    Equations (5.1) and (5.3): the weights of the linear separation in the space of the features, and number, sum and
    sum of squares of the support vectors, from which the coordinator has their t-statistic.
    """
    problems, duals = allowed_problems(site, question), question.duals()
    parts = [_support_of(site, *problem) for problem in zip(problems, duals, strict=True)]
    return tasks.SupportAnswer(*map(np.stack, zip(*parts, strict=True)))


def support_vectors(site: Site, problem: Problem, duals: Duals) -> tuple[Floats, Bools]:
    """Return alpha_i y_i of one problem, shape (rows,), and which rows are support vectors, shape (2, rows).

    Those of the positive and of the negative side; none of a side of fewer patients than ``min-cluster``.
    """
    labels = labels_of(site, problem)
    alpha = tasks.row_duals(mapped_train(site, problem.feature_map), labels, duals)
    inside = alpha > SUPPORT_SHARE * problem.C * labels.weight
    sides = np.stack([inside & (labels.y > 0), inside & (labels.y < 0)])
    patients = site.train().patients
    enough = [count_patients(patients[rows]) >= site.least_patients for rows in sides]
    return alpha * labels.y, sides & np.array(enough)[:, None]


def _support_of(site: Site, problem: Problem, duals: Duals) -> tuple[Floats, ...]:
    """Return weights, count, total and square of one problem."""
    signed, masks = support_vectors(site, problem, duals)
    X, site_map = site.train().X, feature_map(site, problem.feature_map)
    separation = np.zeros(np.count_nonzero(site_map.features))
    for block in blocks(len(X)):
        separation += signed[block] @ site_map.scaled(X[block])
    vectors = [site_map.scaled(X[mask]) for mask in masks]
    total = np.stack([cells.sum(axis=0) for cells in vectors])
    square = np.stack([np.square(cells).sum(axis=0) for cells in vectors])
    return separation, masks.sum(axis=1).astype(np.float64), total, square
