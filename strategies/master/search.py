"""The choice of the next points, for few round trips.

The paper searches the line from w_b, the best weights so far, to w_a, the master's solution, one step and so one
round trip at a time (Lu 2016, Algorithm 3). Here a round trip evaluates all steps at once, and proximal points besides
(:mod:`.proximal`). Every cutting plane that comes back is valid and kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.systems.pan_svm.cuts import Answer, Problem, Question
from strategies.master.packing import curvature_matrix, curvature_size, in_single_precision
from strategies.master.progress import Progress
from strategies.master.proximal import Root, damped_roots, proximal_targets

SHORTEST, LINE = 0.1, 5
"""Shortest step on the line, and number of steps in geometric progression from it to 1 in a round after the bounds have
stalled; other rounds take the step 1 alone. Shorter steps hardly ever lead to a better point."""

STEPS = (0.3, 0.6, 1.0)
"""Fractions of the segment to each proximal point at which the loss is evaluated."""

SHORTEST_SEGMENT = 1e-3
"""Shortest segment, in shares of its centre. Endpoints travel in single precision, and where the optimum lies in a
kink of all rows an error of 2^-24 of the weights is a gap of 1e-6. A point near its centre lies at a small fraction
of a longer segment, so that its error is at most 2^-24 / SHORTEST_SEGMENT of its distance."""

FIRST_WIDTH, LAST_WIDTH, NARROWING = 3.0, 0.1, 0.5
"""Width of the zone around the margin whose rows contribute to the Hessian, in the first round and at the least, and
the factor from round to round. The margin itself is at distance 1 from the decision surface."""

EARLY, EARLY_PLANES, LATE_PLANES = 4, 3.0, 600.0
"""In the first ``EARLY`` rounds, which suffice for most problems, a Hessian has at most as many entries as
``EARLY_PLANES`` cutting planes; later, the Hessians of all problems together have at most as many as ``LATE_PLANES``:
all of the Hessian of a single problem with at most 1,200 coordinates, which halves the further round trips."""

SMALL, RENEWED = 256, 6
"""A problem with more than ``SMALL`` coordinates renews its Hessian only every ``RENEWED`` rounds once the zone is at
its narrowest: the Hessian hardly changes then, and takes most of the message and much of the work."""

STALLED = 0.7
"""A round that leaves more than this share of the gap has stalled."""

PATIENCE, SHRUNK = 8, 0.9
"""A problem stops early after ``PATIENCE`` rounds that leave the distance between its bounds above ``SHRUNK`` of what
it was."""


@dataclass(eq=False)
class PointSearch:
    """The points of one problem, round after round."""

    patience: int = PATIENCE  # rounds without progress of the bounds after which a problem stops early
    # Most entries of a Hessian, in cutting planes of as many numbers, in the first rounds and later (at least as many);
    # infinite for all entries.
    early: float = EARLY_PLANES
    late: float = LATE_PLANES

    def __post_init__(self) -> None:
        self.late = max(self.early, self.late)
        self.width = FIRST_WIDTH
        self.gap = self.distance = math.inf
        self.idle = 0
        self.hessian: list[Root] | None = None  # the latest, decomposed with every damping
        self.age = 0  # in rounds

    def first(self, progress: Progress, starts: Floats) -> Question:
        """Return the question at the origin and at the given points; the last of them is the best guess."""
        points = np.vstack([np.zeros(progress.problem.rank + 1), starts])
        return Question(points, points[-1], self.width, self._leading(progress))

    def next(self, progress: Progress, question: Question, answer: Answer) -> Question | None:
        """Return points on the segments to the master's solution and to the proximal points; None without progress."""
        distance = progress.upper - progress.lower
        if distance < SHRUNK * self.distance:
            self.distance, self.idle = distance, 0
        else:
            self.idle += 1
        if self.idle >= self.patience:
            return None
        stalled = progress.gap > STALLED * self.gap
        self.gap = progress.gap
        self.width = max(LAST_WIDTH, NARROWING * self.width)
        incumbent, master, problem = progress.best, progress.master, progress.problem
        centre = in_single_precision(incumbent)
        # The steps of Algorithm 3, line 3, all at once.
        fractions = [np.geomspace(SHORTEST, 1.0, LINE) if stalled else np.ones(1)]
        targets = np.append(master.w, master.b)[None, :]
        self._update_hessian(problem, question, answer)
        if self.hessian is not None:
            proximal = proximal_targets(
                incumbent, progress.cuts, master.beta, self.hessian, problem.C, problem.rows
            )
            targets = np.vstack([targets, proximal])
            fractions += [np.array(STEPS)] * len(proximal)
        endpoints, meeting = long_segments(centre, targets)
        points = points_on([scale * steps for scale, steps in zip(meeting, fractions, strict=True)])
        return Question(endpoints, centre, self.width, self._leading(progress), *points)

    def _leading(self, progress: Progress) -> int:
        """Return the number of leading coordinates of the next Hessian; -1 if it need not be renewed."""
        rank = progress.problem.rank
        due = rank <= SMALL or self.width > LAST_WIDTH or self.age >= RENEWED
        planes = self.early if progress.rounds < EARLY else self.late
        return leading_coordinates(rank, planes) if due else -1

    def _update_hessian(self, problem: Problem, question: Question, answer: Answer) -> None:
        """Take the Hessian of the answer, if the question asked for one."""
        self.age += 1
        if question.leading >= 0:
            matrix = curvature_matrix(answer.curvature, problem.rank, question.leading)
            self.hessian, self.age = damped_roots(matrix, problem.C), 1


def long_segments(centre: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Return endpoints of long enough segments from the centre, and the fraction at which each meets its target."""
    steps, size = targets - centre, np.abs(centre).max()
    lengths = np.maximum(np.abs(steps).max(axis=1), np.finfo(np.float64).eps * size)
    meeting = np.minimum(1.0, lengths / (SHORTEST_SEGMENT * size)) if size > 0 else np.ones(len(steps))
    return np.where(meeting[:, None] < 1.0, centre + steps / meeting[:, None], targets), meeting


def points_on(fractions: Sequence[Floats]) -> tuple[Ints, Floats]:
    """Return segment and fraction of each point (:class:`Question`), from those on each segment; none if all are 1."""
    fraction = np.concatenate(fractions)
    if (fraction == 1.0).all():
        return np.empty(0, dtype=np.int64), np.empty(0)
    return np.repeat(np.arange(len(fractions)), [len(values) for values in fractions]), fraction


def leading_coordinates(rank: int, planes: float) -> int:
    """Return the most leading coordinates whose Hessian has at most as many entries as so many cutting planes."""
    leading = rank
    while curvature_size(rank, leading) > planes * (rank + 1):
        leading -= 1
    return leading
