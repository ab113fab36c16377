"""Where to ask next, in few round trips.

The paper looks along the line from w_b, the best weights so far, to w_a, the master's solution, one step and so
one round trip at a time (Lu 2016, Algorithm 3). Here all steps are asked for at once, points that the curvature
of the loss suggests besides (:mod:`.proximal`), and every cutting plane that comes back is kept: each is valid.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.systems.pan_svm.cuts import Answer, Question
from strategies.master.packing import curvature_matrix, curvature_size, in_single_precision
from strategies.master.progress import Progress
from strategies.master.proximal import TrustedCurvature, proximal_targets

SHORTEST, LINE = 0.1, 5
"""The shortest step on the line, and how many there are in geometric progression from it to 1 in a round after the
bounds have stalled; else there is one. Shorter steps hardly ever lead to a better point."""

STEPS = (0.3, 0.6, 1.0)
"""Fractions of the segment to each proximal point at which the sites are asked."""

SHORTEST_SEGMENT = 1e-3
"""The shortest segment, in shares of its centre. Endpoints travel in single precision, and where the optimum lies in a
kink of all rows an error of 2^-24 of the weights is a gap of 1e-6. A point next to its centre lies at a small fraction
of a longer segment, so that it is off by at most 2^-24 / SHORTEST_SEGMENT of its distance."""

FIRST_WIDTH, LAST_WIDTH, NARROWING = 3.0, 0.1, 0.5
"""Width of the zone around the margin whose rows make up the curvature, in the first round and at the least, and the
factor from round to round. The margin itself is at distance 1 from the decision surface."""

EARLY, EARLY_PLANES, LATE_PLANES = 4, 3.0, 600.0
"""In so many rounds, which most problems do not go beyond, a curvature is at most as many numbers as so many cutting
planes; later, those of all problems together are at most so many: the whole one of a single problem with at most 1,200
coordinates, which halves the number of further round trips."""

SMALL, RENEWED = 256, 6
"""With more coordinates than so many, the curvature is renewed in every so many rounds only once its zone is at its
narrowest: it hardly changes any more, and is most of the message and much of the work of all."""

STALLED = 0.7
"""A round that leaves more than this share of the gap has stalled."""

PATIENCE, SHRUNK = 8, 0.9
"""After so many rounds that have not once left less than this share of the distance between the bounds, a problem is
given up as it is."""


class PointSearch:
    """The points of one problem, round after round.

    Parameters
    ----------
    patience : int
        Rounds after which a problem whose bounds do not move any more is given up.
    early, late : float
        As many cutting planes as a curvature may have numbers, in the first rounds and from then on (at least as many);
        infinite for the whole one.
    """

    def __init__(
        self, patience: int = PATIENCE, early: float = EARLY_PLANES, late: float = LATE_PLANES
    ) -> None:
        self.patience, self.early, self.late = patience, early, max(early, late)
        self.width = FIRST_WIDTH
        self.gap = math.inf
        self.distance = math.inf
        self.idle = 0
        self.curvature: TrustedCurvature | None = None  # the latest
        self.age = 0  # in rounds

    def first(self, progress: Progress, starts: NDArray[np.float64]) -> Question:
        """Ask at the origin and at the given points; the last of them is the best guess."""
        points = np.vstack([np.zeros(progress.problem.rank + 1), starts])
        leading = self._wanted(progress)
        return Question(points, points[-1], self.width, leading)

    def next(self, progress: Progress, question: Question, answer: Answer) -> Question | None:
        """Ask on the line to the master's solution and at the proximal points; give up when nothing helps any more."""
        self._count_idle_rounds(progress.upper - progress.lower)
        if self.idle >= self.patience:
            return None
        stalled = progress.gap > STALLED * self.gap
        self.gap = progress.gap
        self.width = max(LAST_WIDTH, NARROWING * self.width)
        best, master, problem = progress.best, progress.master, progress.problem
        centre = in_single_precision(best)
        # The steps of Algorithm 3, line 3, all at once.
        fractions = [np.geomspace(SHORTEST, 1.0, LINE) if stalled else np.ones(1)]
        targets = np.append(master.w, master.b)[None, :]
        self._learn_curvature(progress, question, answer)
        if self.curvature is not None:
            found = proximal_targets(
                best, progress.cuts, master.beta, self.curvature, problem.C, problem.rows
            )
            targets = np.vstack([targets, found])
            fractions += [np.array(STEPS)] * len(found)
        endpoints, shares = long_segments(centre, targets)
        asked = points_on([share * part for share, part in zip(shares, fractions, strict=True)])
        return Question(endpoints, centre, self.width, self._wanted(progress), *asked)

    def _wanted(self, progress: Progress) -> int:
        """Return of how many leading coordinates the sites are to tell the curvature; -1 for none at all."""
        rank = progress.problem.rank
        due = rank <= SMALL or self.width > LAST_WIDTH or self.age >= RENEWED
        planes = self.early if progress.rounds < EARLY else self.late
        return leading_coordinates(rank, planes) if due else -1

    def _learn_curvature(self, progress: Progress, question: Question, answer: Answer) -> None:
        """Take the curvature that the sites have told, if they were asked for one."""
        self.age += 1
        if question.leading >= 0:
            found = curvature_matrix(answer.curvature, progress.problem.rank, question.leading)
            self.curvature, self.age = TrustedCurvature(found, progress.problem.C), 1

    def _count_idle_rounds(self, distance: float) -> None:
        if distance < SHRUNK * self.distance:
            self.distance, self.idle = distance, 0
        else:
            self.idle += 1


def long_segments(
    centre: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return endpoints of long enough segments from the centre, and at which fraction each meets its target."""
    steps, size = targets - centre, np.abs(centre).max()
    lengths = np.maximum(np.abs(steps).max(axis=1), np.finfo(np.float64).eps * size)
    shares = np.minimum(1.0, lengths / (SHORTEST_SEGMENT * size)) if size > 0 else np.ones(len(steps))
    return np.where(shares[:, None] < 1.0, centre + steps / shares[:, None], targets), shares


def points_on(fractions: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return segment and fraction of each point (:class:`Question`), from those on each segment; none if all are 1."""
    fraction = np.concatenate(fractions)
    if (fraction == 1.0).all():
        return np.empty(0, dtype=np.int64), np.empty(0)
    return np.repeat(np.arange(len(fractions)), [len(part) for part in fractions]), fraction


def leading_coordinates(rank: int, planes: float) -> int:
    """Return between how many leading coordinates the curvature is asked for, the most that so many planes allow."""
    numbers = planes * (rank + 1)
    leading = rank
    while curvature_size(rank, leading) > numbers:
        leading -= 1
    return leading
