"""Feature selection: sums over all rows by class, and over the support vectors (Lu 2016, chapters 5 and 6)."""

import math
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats, Ints, blocks
from flower_pansvm.systems.pan_svm.cuts import Labels, Mapped, Question, rows_in_cuts
from flower_pansvm.systems.pan_svm.tasks import ProblemsQuestion, pieces
from flower_pansvm.systems.scaling import HEADROOM, scaled
from flower_pansvm.tasks import COUNT, MOST_ROWS, UNKNOWN, Nothing, Task, summed
from flower_pansvm.terms import Terms


@dataclass(frozen=True)
class ClassMomentsAnswer:
    """Sums over all training rows of each class, in scaled units: the filters are made of them (section 6.2.1)."""

    count: Floats = summed(COUNT, shape=("classes", "columns"), count=True)  # cells present
    total: Floats = summed(shape=("classes", "columns"))  # their sum
    square: Floats = summed(shape=("classes", "columns"), not_negative=True)  # the sum of their squares


CLASS_MOMENTS = Task("class_moments", "train", Nothing, ClassMomentsAnswer)


@dataclass(frozen=True)
class Duals:
    """The cutting planes that hold up the solution of one problem."""

    points: Floats  # (cuts, rank + 1): where they were asked for
    beta: Floats  # (cuts,): their dual variables


@dataclass(frozen=True)
class SupportQuestion(ProblemsQuestion):
    """The cutting planes that hold up each problem's solution, see :class:`Duals`, put end to end."""

    points: Floats  # (sum of cuts * (rank + 1),)
    cuts: Ints  # (problems,): how many they are
    beta: Floats  # (sum of cuts,): their dual variables

    def duals(self) -> list[Duals]:
        """Return the cutting planes of each problem."""
        sizes = self.rank + 1
        points = pieces(self.points.astype(np.float64), self.cuts * sizes)
        beta = pieces(self.beta, self.cuts)
        return [Duals(points[i].reshape(-1, sizes[i]), beta[i]) for i in range(len(sizes))]


def largest_total(sites: int) -> float:
    """Return the largest sum of a scaled column's absolute cells at one site.

    Over all sites the squares of a scaled column add up to the number of rows at most, ``sites * MOST_ROWS``. A sum of
    ``MOST_ROWS`` absolute values is largest where all are the same.
    """
    return MOST_ROWS * math.sqrt(sites)


def _weights(question: SupportQuestion, terms: Terms, sites: int) -> float:
    """Bound sums of alpha y x: a dual variable is at most the row's weight times the sum of those of the cuts."""
    if terms.scaling == "none":
        return UNKNOWN
    largest_dual = question.heaviest() * max(float(np.abs(duals.beta).sum()) for duals in question.duals())
    return HEADROOM * (largest_dual or 1.0) * largest_total(sites)


def _sides(question: SupportQuestion) -> tuple[int, ...]:
    return len(question.rank), 2, -1


@dataclass(frozen=True)
class SupportAnswer:
    """Sums over each problem's rows, and over its support vectors, in scaled units (5.2.2)."""

    # (problems, features): sum over rows of alpha_i y_i x_i
    weights: Floats = summed(_weights, shape=lambda q: (len(q.rank), -1))
    count: Floats = summed(MOST_ROWS, shape=lambda q: (len(q.rank), 2), count=True)  # of each side
    # (problems, 2, features): sum of their cells, and of the squares
    total: Floats = summed(scaled(lambda sites: HEADROOM * largest_total(sites)), shape=_sides)
    square: Floats = summed(
        scaled(lambda sites: HEADROOM * MOST_ROWS * sites), shape=_sides, not_negative=True
    )


SUPPORT = Task("support", "train", SupportQuestion, SupportAnswer)


def row_duals(mapped: Mapped, labels: Labels, duals: Duals) -> Floats:
    """Return the dual variable alpha_i = sum_t beta_t c_i(t) of each of a site's rows, shape (rows,).

    The master's solution is w = sum_t beta_t a_t, and a_t = sum_i c_i(t) y_i f_i. So w = sum_i alpha_i y_i f_i with
    this alpha, which satisfies 0 <= alpha_i <= C weight_i and sum_i alpha_i y_i = 0: it is a solution of the SVM's dual
    problem, as exact as the master's lower bound.
    """
    alpha = np.zeros(len(labels.y))
    if len(duals.beta):
        question = Question(duals.points, centre=duals.points[0])
        for block in blocks(len(alpha)):
            decisions = duals.points[:, :-1] @ mapped(block).T + duals.points[:, -1:]
            near, c = rows_in_cuts(labels, question, block, decisions)
            alpha[block][near] += c @ duals.beta
    # A row whose c are 0 in all of them but for a difference of roundings is no support vector.
    return np.maximum(alpha, 0.0)
