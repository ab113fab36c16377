"""Where to ask next, the preset ``private``: few round trips, and no row that two cuts give away.

The paper looks along the line from w_b, the best weights so far, to w_a, the master's solution, one step and so
one round trip at a time (Lu 2016, Algorithm 3). Here all steps are asked for at once, points that the curvature
of the loss suggests besides (:mod:`.proximal`), and every cutting plane that comes back is kept: each is valid.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Answer
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.cutting_planes.question import Question
from strategies.master.curvature import curvature_matrix, curvature_size
from strategies.master.guessed_curvature import guessed_curvature
from strategies.master.progress import Progress
from strategies.master.proximal import TRUST, WIDER_TRUST, TrustedCurvature, proximal_targets

LINE, LINE_WITH_NOISE = (0.1, 5), (0.02, 8)
"""The shortest step on the line, and how many there are in geometric progression from it to 1, unless another number is
wanted. Shorter steps than the first hardly ever lead to a better point where the sums have no noise."""

STEPS = (0.3, 0.6, 1.0)
"""Shares of the way to each proximal point at which the sites are asked."""

FIRST_WIDTH, LAST_WIDTH, NARROWING = 3.0, 0.1, 0.5
"""Width of the zone around the margin whose rows make up the curvature, in the first round and at the least, and the
factor from round to round. The margin itself is at distance 1 from the decision surface."""

SMALL, RENEWED = 256, 6
"""With more coordinates than so many, the curvature is renewed in every so many rounds only once its zone is at its
narrowest: it hardly changes any more, and is most of the message and much of the work of all. So is a guess of it."""

STALLED = 0.7
"""A round that leaves more than this share of the gap has stalled: then fewer rows are blurred."""

PATIENCE, SHRUNK = 8, 0.9
"""After so many rounds that have not once left less than this share of the distance between the bounds, a problem is
given up as it is. Where fewer rows lie on the margin than are blurred, no more can be known of its optimum."""

PATIENCE_WITH_NOISE = 5
"""The same where the gap may be nothing but noise."""


class PointSearch:
    """The points of one problem, round after round.

    Parameters
    ----------
    points : int or None
        Points on the line from the best point to the master's solution in a round after the bounds have stalled; None
        for the usual number. Else there is one, the solution itself: sums at points close together span few rows.
    blur : int
        Rows at each site, in the first round, whose c is random; halved when the bounds stall, never below 1.
        0 for none.
    patience : int
        Rounds after which a problem whose bounds do not move any more is given up.
    """

    def __init__(self, points: int | None, blur: int, patience: int = PATIENCE) -> None:
        self.points, self.blurred, self.patience = points, blur, patience
        self.width = FIRST_WIDTH
        self.gap = math.inf
        self.distance = math.inf
        self.idle = 0
        self.curvature: TrustedCurvature | None = None  # the latest
        self.age = 0  # in rounds

    def first(self, progress: Progress, starts: NDArray[np.float64], numbers: int) -> Question:
        """Ask at the origin and at the given points; the last of them is the best guess."""
        points = np.vstack([np.zeros(progress.problem.rank + 1), starts])
        leading = self._wanted(progress.problem, numbers)
        return Question(points, self.blurred, points[-1], self.width, leading)

    def next(self, progress: Progress, question: Question, answer: Answer, numbers: int) -> Question | None:
        """Ask on the line to the master's solution and at the proximal points; give up when nothing helps any more."""
        self._count_idle_rounds(progress.upper - progress.lower)
        nothing_but_noise = progress.gap <= progress.noise
        if self.idle >= (min(self.patience, PATIENCE_WITH_NOISE) if nothing_but_noise else self.patience):
            return None
        stalled = progress.gap > STALLED * self.gap
        if stalled:
            self.blurred = min(self.blurred, max(1, self.blurred // 2))
        self.gap = progress.gap
        self.width = max(LAST_WIDTH, NARROWING * self.width)
        best, master, problem = progress.best, progress.master, progress.problem
        ways = [line_steps(self.points if stalled else 1, problem.noise is not None)]
        ends = np.append(master.w, master.b)[None, :]
        self._learn_curvature(progress, question, answer, numbers)
        if self.curvature is not None:
            found = proximal_targets(
                best, progress.believed_cuts(), master.beta, self.curvature, problem.C, problem.rows
            )
            ends = np.vstack([ends, found])
            ways += [np.array(STEPS)] * len(found)
        return Question(
            ends, self.blurred, best, self.width, self._wanted(problem, numbers), *points_on(ways)
        )

    def _wanted(self, problem: Problem, numbers: int) -> int:
        """Return of how many leading coordinates the sites are to tell the curvature; -1 for none at all."""
        due = self._due(problem) and problem.noise is None
        return leading_coordinates(problem.rank, numbers) if due else -1

    def _due(self, problem: Problem) -> bool:
        """Tell whether the curvature is to be renewed after this round."""
        return problem.rank <= SMALL or self.width > LAST_WIDTH or self.age >= RENEWED

    def _learn_curvature(self, progress: Progress, question: Question, answer: Answer, numbers: int) -> None:
        """Take the curvature that the sites have told, or of sites that hide their rows a guess."""
        problem, due = progress.problem, self._due(progress.problem)
        self.age += 1
        leading = leading_coordinates(problem.rank, numbers)
        if question.leading >= 0:
            found, trust = curvature_matrix(answer.curvature, problem.rank, question.leading), TRUST
        elif problem.synthetic is not None and due and leading >= 0:
            found = guessed_curvature(problem.synthetic, progress.best, problem.rows, leading)
            trust = WIDER_TRUST
        else:
            return
        self.curvature, self.age = TrustedCurvature(found, problem.C, trust), 1

    def _count_idle_rounds(self, distance: float) -> None:
        # Noise may put the lower bound above the upper one; then nothing more can be gained.
        distance = max(distance, 0.0)
        if distance < SHRUNK * self.distance:
            self.distance, self.idle = distance, 0
        else:
            self.idle += 1


def line_steps(points: int | None, noise: bool) -> NDArray[np.float64]:
    """Return the shares of the way on the line, shape (points,): the last is 1; None for the usual number.

    They are the steps of Algorithm 3, line 3, all at once.
    """
    first, usual = LINE_WITH_NOISE if noise else LINE
    return np.geomspace(1.0, first, usual if points is None else points)[::-1]


def points_on(ways: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return way and share of each point (:class:`Question`) from the shares on each way; none where all are ends."""
    share = np.concatenate(ways)
    if (share == 1.0).all():
        return np.empty(0, dtype=np.int64), np.empty(0)
    return np.repeat(np.arange(len(ways)), [len(part) for part in ways]), share


def leading_coordinates(rank: int, numbers: int) -> int:
    """Return between how many leading coordinates the curvature is asked for, so that it is at most so many numbers.

    -1, for no curvature at all, if it would not even be the diagonal.
    """
    if curvature_size(rank, 0) > numbers:
        return -1
    leading = min(rank, math.isqrt(2 * numbers))
    while curvature_size(rank, leading) > numbers:
        leading -= 1
    return leading
