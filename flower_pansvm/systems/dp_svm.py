"""Private training: a kernel SVM from sums that are all differentially private.

The cost ``rho`` in each question is the coordinator's choice; the sensitivity is not. A row's part in each answer is
bounded beside it.
"""

import math
from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.fourier_map import BINS, FourierMap
from flower_pansvm.tasks import Broadcast, Task, dp
from flower_pansvm.tested import TestedAnswer, TestedQuestion


@dataclass(frozen=True)
class BinsQuestion:
    """Asks how the cells are spread between the public ends of their columns."""

    rho: float
    low: Floats  # (columns,)
    high: Floats


@dataclass(frozen=True)
class BinsAnswer:
    """Training rows, and cells in each bin (:func:`flower_pansvm.fourier_map.bins`).

    A row is 1 row and in at most one bin of each of d columns: 1 / (1 + sqrt(d)) + d / (d + sqrt(d)) = 1. So the number
    of rows, from which much follows, has far less noise than the counts.
    """

    rows: Floats = dp(
        lambda answer: math.sqrt(1 + math.sqrt(len(answer.cells))), shape=(1,), not_negative=True
    )
    cells: Floats = dp(
        lambda answer: math.sqrt(len(answer.cells) + math.sqrt(len(answer.cells))),
        shape=lambda q: (len(q.low), BINS),
        not_negative=True,
    )


PRIVATE_BINS = Task("private_bins", "train", BinsQuestion, BinsAnswer)

PRIVATE_MAP = Broadcast("private_map", FourierMap)


@dataclass(frozen=True)
class PrivateMomentsQuestion:
    """Asks for second moments of the features, and with the classes."""

    rho: float


@dataclass(frozen=True)
class PrivateMomentsAnswer:
    """Sums over training rows of z z' and z y', z the features, y one column of ±1, or one of 0 or 1 for each class.

    z z' and z y' have norm at most 1, as z and y have: together sqrt(2). Each number above the diagonal stands twice in
    z z', so that the same noise on it is worth half as much.
    """

    diagonal: Floats = dp(lambda _: math.sqrt(2), shape=(-1,), not_negative=True)  # (features,)
    # (features * (features - 1) / 2,): above the diagonal, row by row
    above: Floats = dp(lambda _: 1.0, shape=(-1,))
    classes: Floats = dp(lambda _: math.sqrt(2), shape=(-1, -1))  # (features, columns of y)


PRIVATE_MOMENTS = Task("private_moments", "train", PrivateMomentsQuestion, PrivateMomentsAnswer)


@dataclass(frozen=True)
class PrivateWeightsQuestion:
    """Asks for the slope of the loss at these weights."""

    rho: float
    weights: Floats  # (features, columns of y)


@dataclass(frozen=True)
class PrivateStepAnswer:
    """Sum over training rows of z s', s the slopes of the Huberised hinge loss, clipped to norm 1, as z is."""

    slope: Floats = dp(lambda _: 1.0, shape=lambda q: q.weights.shape)


PRIVATE_STEP = Task("private_step", "train", PrivateWeightsQuestion, PrivateStepAnswer)


@dataclass(frozen=True)
class PrivateScoresQuestion(TestedQuestion, PrivateWeightsQuestion):
    """Asks how well these weights tell the test rows' classes."""


PRIVATE_SCORES = Task("private_scores", "evaluate", PrivateScoresQuestion, TestedAnswer)
