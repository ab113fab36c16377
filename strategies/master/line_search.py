"""The line search as published, ``search=published``: Lu 2016, Algorithms 2 and 3, one point per round trip.

Algorithm 2's stopping rule is left out: its line 11 tests the slack of a plane that the master has just satisfied, and
would stop after two rounds. Training ends when the bounds meet (:mod:`.progress`), with any search.
"""

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.pan_svm.cuts import Answer, Question
from strategies.master.progress import Progress

STEP = 0.5
"""Lambda, the step size of Algorithm 3. The paper does not give its value; of 0.1, 0.2, 0.5 and 1, 0.5 needs the fewest
round trips in all on the data of its Table 3.1."""


class LineSearch:
    """Walk from w_b towards the master's solution w_a by steps of lambda until the objective stops falling.

    Each step is a round trip, and its cutting plane is kept.
    """

    def __init__(self) -> None:
        self.base = np.empty(0)
        self.direction = np.empty(0)
        self.k = 0

    def first(self, progress: Progress, starts: Floats) -> Question:  # noqa: ARG002
        """Return the question at w = 0, the paper's only start."""
        self.base = np.zeros(progress.problem.rank + 1)
        self.direction = np.zeros(progress.problem.rank + 1)
        return _at(self.base)

    def next(self, progress: Progress, question: Question, answer: Answer) -> Question:
        """Return the next step; once the derivative is not negative, the first step to the master's new solution."""
        point, D = question.points[0], self.direction
        # Equation (3.9) derived afresh, the bias included: the objective falls further if it is negative.
        a = np.append(answer.cuts.a[0], answer.cuts.d[0])
        derivative = point[:-1] @ D[:-1] - progress.problem.C * (D @ a)
        if derivative >= 0:
            self.base = point
            self.direction = np.append(progress.master.w, progress.master.b) - point
            self.k = 0
        self.k += 1
        return _at(self.base + self.k * STEP * self.direction)


def _at(point: Floats) -> Question:
    return Question(point[None, :], centre=point)
