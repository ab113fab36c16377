"""PAN-SVM's tasks: landmarks, cutting planes (Lu 2016, Algorithm 2), and models evaluated on held-out rows.

Problems differ in rank and in number of points, so what belongs to them is put end to end, in order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from flower_pansvm.arrays import Bools, Floats, Ints, Singles
from flower_pansvm.counts import BINS
from flower_pansvm.errors import FederationError
from flower_pansvm.multiclass import Pair
from flower_pansvm.systems.pan_svm.cuts import EVERYWHERE, Answer, Problem, Question
from flower_pansvm.systems.scaling import HEADROOM, LARGEST_CELL, scaled
from flower_pansvm.tasks import COUNT, MOST_ROWS, SQUARES, UNKNOWN, Broadcast, Task, summed
from flower_pansvm.terms import Terms


@dataclass(frozen=True)
class LandmarksQuestion:
    """Which centres are wanted."""

    folds: Ints  # (scalings,): the fold whose rows each scaling has not seen, or NO_FOLD
    shares: Floats  # (scalings,): centres wanted, as a share of the other rows
    slots_per_site: int  # most centres of one site
    slots: int  # and of all; with more sites than these, some have their turn
    min_cluster: int  # fewest patients behind a centre
    seed: int  # of k-means


@dataclass(frozen=True)
class LandmarksAnswer:
    """The site's centres in its own slots of a zero matrix."""

    # (scalings, slots, features), in scaled units; and 1 for each slot in use
    centres: Floats = summed(scaled(lambda _: LARGEST_CELL), shape=lambda q: (len(q.folds), -1, "columns"))
    filled: Floats = summed(1.0, shape=lambda q: (len(q.folds), -1), count=True)


LANDMARKS = Task("landmarks", "train", LandmarksQuestion, LandmarksAnswer)


@dataclass(frozen=True)
class LandmarkBroadcast:
    """A set of landmarks."""

    scaling: int  # number of the scaling that they are in
    landmarks: Floats  # (landmarks, features)


LANDMARK_SET = Broadcast("landmark_set", LandmarkBroadcast)  # numbered: one for each set


@dataclass(frozen=True)
class FeatureMapBroadcast:
    """A feature map."""

    landmark_set: int  # number of its landmarks
    features: Bools  # (features,): mask of those it looks at
    kernel: str  # this and the next: see flower_pansvm.kernels.Kernel
    gamma: float
    normalization: Singles  # (landmarks, rank): U Lambda^(-1/2)


FEATURE_MAP = Broadcast("feature_map", FeatureMapBroadcast)  # numbered: one for each map


@dataclass(frozen=True)
class ProblemsQuestion:
    """The binary problems that a question is about: fields of shape (problems,), see :class:`Problem`."""

    feature_map: Ints
    rank: Ints
    fold: Ints
    positive: Ints
    negative: Ints
    positive_weight: Floats
    negative_weight: Floats
    problem_rows: Floats
    C: Floats

    def problems(self) -> list[Problem]:
        """Return the problems, without names."""
        return [
            Problem(
                name="",
                rank=int(self.rank[i]),
                rows=float(self.problem_rows[i]),
                C=float(self.C[i]),
                pair=Pair(int(self.positive[i]), int(self.negative[i])),
                feature_map=int(self.feature_map[i]),
                fold=int(self.fold[i]),
                weights=(float(self.positive_weight[i]), float(self.negative_weight[i])),
            )
            for i in range(len(self.rank))
        ]

    def heaviest(self) -> float:
        """Return the largest class weight; each site checks that all are within limits."""
        return float(max(np.max(self.positive_weight), np.max(self.negative_weight)))


@dataclass(frozen=True)
class WarmStartAnswer:
    """Local linear SVMs."""

    # Weights and bias, times the weight of the rows; and that weight.
    weights: Floats = summed(shape=lambda q: (int((q.rank + 1).sum()),))
    rows: Floats = summed(shape=lambda q: q.rank.shape, not_negative=True, most=lambda q: q.problem_rows)


WARM_START = Task("warm_start", "train", ProblemsQuestion, WarmStartAnswer)


@dataclass(frozen=True)
class CutsQuestion(ProblemsQuestion):
    """A question for each problem, see :class:`flower_pansvm.systems.pan_svm.cuts.Question`."""

    endpoints: Singles  # (sum of count * (rank + 1),)
    count: Ints  # (problems,): number of endpoints
    width: Floats
    leading: Ints
    points: Ints  # (problems,): number of points on the segments, 0 if the endpoints are the points
    segment: Ints  # (sum of points,)
    fraction: Floats  # (sum of points,)
    centres: Singles  # (sum of rank + 1,): of the problems that need theirs

    @property
    def point_counts(self) -> Ints:
        """The number of points of each problem, shape (problems,)."""
        return np.where(self.points > 0, self.points, self.count)

    def questions(self) -> list[Question]:
        """Return the question of each problem; FederationError if the points are not what they should be."""
        sizes, on_segments = self.rank + 1, np.cumsum(self.points)[:-1]
        centred = np.where((self.leading >= 0) | (self.points > 0), sizes, 0)
        if not self._fits(self.count * sizes, centred):
            raise FederationError(
                "A request for cutting planes has other points than it should, or lie on no segment. Start a new run."
            )
        endpoints = pieces(self.endpoints.astype(np.float64), self.count * sizes)
        centres = pieces(self.centres.astype(np.float64), centred)
        segments, fractions = np.split(self.segment, on_segments), np.split(self.fraction, on_segments)
        return [
            Question(points.reshape(-1, size), centre, float(width), int(leading), segment, fraction)
            for size, points, centre, width, leading, segment, fraction in zip(
                sizes, endpoints, centres, self.width, self.leading, segments, fractions, strict=True
            )
        ]

    def _fits(self, endpoints: Ints, centres: Ints) -> bool:
        lengths = [array.size for array in (self.endpoints, self.centres, self.segment, self.fraction)]
        expected = [sizes.sum() for sizes in (endpoints, centres, self.points, self.points)]
        if lengths != expected or min(endpoints.min(), self.points.min()) < 0:
            return False
        on_segment = (self.segment >= 0) & (self.segment < np.repeat(self.count, self.points))
        return bool((on_segment & (self.fraction >= 0) & (self.fraction <= 1)).all())


def flat(arrays: Sequence[Floats]) -> Floats:
    """Return arrays put end to end."""
    return np.concatenate([np.empty(0), *(array.ravel() for array in arrays)])


def pieces(flattened: Floats, sizes: Ints) -> list[Floats]:
    """Return the parts of given sizes that were put end to end."""
    return np.split(flattened, np.cumsum(sizes)[:-1])


def _rows(question: CutsQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    return HEADROOM * MOST_ROWS * question.heaviest()


def _slope(question: CutsQuestion, terms: Terms, sites: int) -> float:
    """Bound slopes of the RBF kernel: ||f||^2 <= k(x, x) = 1, as each site checks of the map."""
    return _rows(question, terms, sites) if terms.kernel == "rbf" else UNKNOWN


def _height(question: CutsQuestion, terms: Terms, sites: int) -> float:
    """Bound losses and heights: a row's are at most 1 + |w.f + b| <= 1 + 2 ||(w, b)||.

    No point on a segment is longer than both of its ends, but for rounding.
    """
    points = [point for asked in question.questions() for point in asked.evaluated_at]
    squares = np.array([point @ point for point in points])  # as each machine rounds: who may be the longest
    ties = np.flatnonzero(squares >= (1 - 1e-9) * squares.max(initial=0.0))
    longest = max((math.fsum(points[i] ** 2) for i in ties), default=0.0)  # rounded once: the same for all
    return _slope(question, terms, sites) * (1.0 + 2.0 * math.sqrt(longest))


def _curvature(question: CutsQuestion, terms: Terms, sites: int) -> float:
    if terms.kernel != "rbf":
        return UNKNOWN
    narrowest = float(np.min(question.width))
    if not narrowest > 0:
        raise FederationError(
            "A request for cutting planes has a width that is not positive. Start a new run."
        )
    return _slope(question, terms, sites) * (1.0 / narrowest + EVERYWHERE)


def _points(question: CutsQuestion) -> tuple[int, ...]:
    return (int(question.point_counts.sum()),)


@dataclass(frozen=True)
class CutsAnswer:
    """The site's share of the cutting planes (Algorithm 2, line 7), of the loss and of its curvature."""

    # See flower_pansvm.systems.pan_svm.cuts.Cuts and Answer.
    a: Floats = summed(_slope, shape=lambda q: (int((q.point_counts * q.rank).sum()),))
    d: Floats = summed(_rows, shape=_points)
    m: Floats = summed(
        _height, shape=_points, not_negative=True, most=lambda q: np.repeat(q.problem_rows, q.point_counts)
    )
    loss: Floats = summed(_height, shape=_points, not_negative=True)
    curvature: Floats = summed(_curvature, shape=(-1,))

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Self:
        """Return the answers to all problems put end to end; they add up over the sites."""
        cuts, names = [answer.cuts for answer in answers], ("a", "d", "m", "loss")
        parts = {name: flat([getattr(planes, name) for planes in cuts]) for name in names}
        return cls(**parts, curvature=flat([answer.curvature for answer in answers]))


CUTS = Task("cuts", "train", CutsQuestion, CutsAnswer)


@dataclass(frozen=True)
class ScoresQuestion:
    """Models to evaluate."""

    feature_maps: Ints  # (models,): number of each model's feature map
    folds: Ints  # (models,): fold on whose rows it is evaluated, or NO_FOLD for the test rows
    ranks: Ints  # (models,): coordinates of its mapped rows
    weights: Floats  # of its binary problems, bias last, put end to end
    positive: Ints  # (problems,): the positive class of each problem, the same for all models
    negative: Ints  # (problems,): the negative class, or REST
    centres: Floats  # (models, columns): of each histogram, see decision_histogram
    scales: Floats  # (models, columns)
    # Whether to count squares by patient, too, of the first model, which is evaluated on the test rows.
    by_patient: bool = False


@dataclass(frozen=True)
class ScoresAnswer:
    """Counts of rows: by model, true and predicted class; and decision values in each bin."""

    confusion: Floats = summed(COUNT, shape=lambda q: (len(q.folds), "classes", "classes"), count=True)
    histogram: Floats = summed(COUNT, shape=lambda q: (*q.centres.shape, 2, BINS), count=True)
    # (1 or 0, 2 classes, 2 classes): see flower_pansvm.counts.patient_squares; of one model a run
    squares: Floats = summed(SQUARES, shape=lambda q: (int(q.by_patient), -1, -1), count=True)


SCORES = Task("scores", "evaluate", ScoresQuestion, ScoresAnswer)
