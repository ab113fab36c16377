"""Output perturbation: a linear SVM on random Fourier features, of which only weights with Laplace noise are released.

Either the sites find it together, by exact sums, and the coordinator adds the noise. Or each site finds its own and
adds the noise itself; then what leaves is charged to its budget.
"""

import math
from dataclasses import dataclass, field

from flower_pansvm.arrays import Floats, Singles
from flower_pansvm.counts import BINS
from flower_pansvm.privacy.output_perturbation import Perturbation
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.systems.pan_svm.cuts import EVERYWHERE
from flower_pansvm.tasks import (
    COUNT,
    DECLARATION,
    MOST_ROWS,
    PRIVATE_BOUND,
    SQUARES,
    UNKNOWN,
    Broadcast,
    Declaration,
    Task,
    disclosed,
    summed,
)
from flower_pansvm.terms import Terms
from flower_pansvm.tested import TestedAnswer, TestedQuestion

LARGEST = 2.0 * MOST_ROWS
"""Bound of sums over rows of length 1, which rounding may make a little longer."""

LEAST_C, LARGEST_C, LEAST_TOL, LARGEST_CONDITION = 1e-100, 1e6, 1e-8, 1e9
"""Within these, and with C / tol up to the last one, a fixed number of steps finds a site's weights as exactly as their
noise is sized for, rounding included. Of a tiny C the noise's grid would be 0."""

LEAST_EPSILON = 1e-6
"""Of a site's own weights: with less, the rounding to the grid of the noise would cost a noticeable part of it."""

RFF = Broadcast("rff", RandomFourierMap)


@dataclass(frozen=True)
class PublicRowsQuestion:
    """Asks a simulated site for some of its training rows, as if they were public."""

    rows: int


@dataclass(frozen=True)
class PublicRowsAnswer:
    """They are of all classes, in the shares of the site; labels are not asked for."""

    rows: Floats = disclosed()  # (rows, columns)


PUBLIC_ROWS = Task("public_rows", "query", PublicRowsQuestion, PublicRowsAnswer, simulated=True)


@dataclass(frozen=True)
class RffCutsQuestion:
    """Asks for cutting planes, see :class:`flower_pansvm.systems.pan_svm.cuts.Question`; there is no bias."""

    points: Floats  # (T, coordinates)
    centre: Singles  # (coordinates,)
    width: float


def _curvature(question: RffCutsQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    """Bound a sum of products of rows of length 1; of a width that each site refuses, nothing."""
    return LARGEST * (1 / question.width + EVERYWHERE) if question.width > 0 else UNKNOWN


@dataclass(frozen=True)
class RffCutsAnswer:
    """Exact sums, see :class:`flower_pansvm.systems.pan_svm.cuts.Cuts` and `Answer`."""

    a: Floats = summed(LARGEST, shape=lambda q: q.points.shape)
    m: Floats = summed(LARGEST, shape=lambda q: q.points.shape[:1], not_negative=True)
    loss: Floats = summed(shape=lambda q: q.points.shape[:1], not_negative=True)
    curvature: Floats = summed(_curvature, shape=lambda q: (math.comb(len(q.centre) + 1, 2),))


RFF_CUTS = Task("rff_cuts", "train", RffCutsQuestion, RffCutsAnswer)


@dataclass(frozen=True)
class RffScoresQuestion:
    """A model to evaluate on the test rows."""

    weights: Floats  # (coordinates,)
    scale: float  # of the histogram of decision values


@dataclass(frozen=True)
class RffScoresAnswer:
    """Counts of test rows: by class and predicted class, and of decision values in each bin."""

    confusion: Floats = summed(COUNT, shape=(2, 2), count=True)
    squares: Floats = summed(SQUARES, shape=(4, 4), count=True)  # see patient_squares
    histogram: Floats = summed(COUNT, shape=(2, BINS), count=True)


RFF_SCORES = Task("rff_scores", "evaluate", RffScoresQuestion, RffScoresAnswer)


@dataclass(frozen=True)
class LocalWeightsQuestion(Perturbation):
    """Asks for the site's own weights: how much noise they are to have, and how exact they are to be before."""


@dataclass(frozen=True)
class LocalWeightsAnswer:
    """The weights of the least objective over the site's own training rows.

    Their noise is each site's own, and enough without that of others: Laplace's. Numbers of rows are public in its
    promise, so that it takes a consent.
    """

    # (coordinates,)
    weights: Floats = field(
        metadata={
            DECLARATION: Declaration(
                "dp", PRIVATE_BOUND, scale=LocalWeightsQuestion.scale, consent="own-weights"
            )
        }
    )


LOCAL_WEIGHTS = Task("local_weights", "train", LocalWeightsQuestion, LocalWeightsAnswer)


@dataclass(frozen=True)
class RffPrivateScoresQuestion(TestedQuestion):
    """A model to evaluate on the test rows, at a cost."""

    rho: float
    weights: Floats  # (coordinates,)


RFF_PRIVATE_SCORES = Task("rff_private_scores", "evaluate", RffPrivateScoresQuestion, TestedAnswer)
