"""The state of one binary problem in training: its incumbent, both bounds and all cutting planes."""

from dataclasses import dataclass, field

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Problem, Question
from flower_pansvm.systems.selection import Duals
from strategies.master.master import MasterSolution, solve_master

NEGLIGIBLE = 1e-6
"""A cut whose dual variable is below this share of the largest one is not expected in the next solution."""


@dataclass
class Progress:
    """The state of one problem in training."""

    problem: Problem
    best: Floats = field(init=False)  # (rank + 1,): the incumbent, weights and bias
    upper: float = np.inf  # objective of the incumbent
    lower: float = 0.0  # the master's lower bound of the objective
    cuts: Cuts = field(init=False)  # all cutting planes so far
    points: Floats = field(init=False)  # (cuts, rank + 1): the point of each plane
    master: MasterSolution = field(init=False)  # the master's latest solution
    rounds: int = 0  # round trips in which this problem took part
    failure: str = ""  # error of the master problem that ended training; empty without one

    def __post_init__(self) -> None:
        rank = self.problem.rank
        self.best = np.zeros(rank + 1)
        self.cuts = Cuts(np.empty((0, rank)), np.empty(0), np.empty(0), np.empty(0))
        self.points = np.empty((0, rank + 1))
        self.master = MasterSolution(np.zeros(rank), 0.0, np.empty(0), 0.0, 0.0)

    @property
    def gap(self) -> float:
        """Upper minus lower bound, relative to the upper one; 0 when the objective is 0 but for rounding.

        So it is in a problem without rows of one class: zero weights predict all rows right.
        """
        rounding = float(np.finfo(np.float64).eps) * self.problem.C * self.problem.rows
        return (self.upper - self.lower) / self.upper if self.upper > rounding else 0.0

    def duals(self) -> Duals:
        """Return the cuts that support the master's solution."""
        beta, support = self.master.beta, self._support
        return Duals(self.points[: len(beta)][support], beta[support])

    def learn(self, question: Question, answer: Answer) -> None:
        """Add the cuts at the points of a question and improve both bounds."""
        C, points, new = self.problem.C, question.points, answer.cuts
        objective = 0.5 * np.square(points[:, :-1]).sum(axis=1) + C * new.loss
        lowest = int(np.argmin(objective))
        if objective[lowest] < self.upper:
            self.upper, self.best = float(objective[lowest]), points[lowest]
        self.cuts = Cuts(
            np.vstack([self.cuts.a, new.a]),
            np.append(self.cuts.d, new.d),
            np.append(self.cuts.m, new.m),
            np.append(self.cuts.loss, new.loss),
        )
        self.points = np.vstack([self.points, points])
        likely = np.append(self._support, np.ones(len(new.m), dtype=np.bool_))
        self.rounds += 1
        try:
            cuts = self.cuts
            self.master = solve_master(cuts.a, cuts.d, cuts.m, C, self.problem.rows, likely=likely)
        except TrainingError as error:
            self.failure = str(error)
            return
        self.lower = max(self.lower, self.master.lower)

    @property
    def _support(self) -> Bools:
        """Mask of the cuts that support the master's solution."""
        beta = self.master.beta
        support: Bools = beta > NEGLIGIBLE * beta.max(initial=0.0)
        return support
