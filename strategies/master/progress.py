"""What is known of one binary problem so far: the best point, both bounds, all cutting planes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Duals, Problem, Question
from strategies.master.master import MasterSolution, solve_master

NEGLIGIBLE = 1e-6
"""A cut whose dual variable is below this share of the largest one is not expected in the next solution."""


@dataclass
class Progress:
    """What is known of one problem so far."""

    problem: Problem
    best: NDArray[np.float64] = field(init=False)  # (rank + 1,): the best point seen, weights and bias
    upper: float = np.inf  # objective of the best point
    lower: float = 0.0  # the master's bound below which no point can come
    cuts: Cuts = field(init=False)  # all cutting planes so far
    points: NDArray[np.float64] = field(init=False)  # (cuts, rank + 1): where they were asked for
    master: MasterSolution = field(init=False)  # the master's latest solution
    rounds: int = 0  # round trips in which this problem took part
    failure: str = ""  # why it could not be trained further; empty if it could

    def __post_init__(self) -> None:
        rank = self.problem.rank
        self.best = np.zeros(rank + 1)
        self.cuts = Cuts(np.empty((0, rank)), np.empty(0), np.empty(0), np.empty(0))
        self.points = np.empty((0, rank + 1))
        self.master = MasterSolution(np.zeros(rank), 0.0, np.empty(0), 0.0, 0.0)

    @property
    def gap(self) -> float:
        """Upper minus lower bound, relative to the upper one; 0 when the objective is 0 but for rounding.

        It is for a problem without rows of one class: then all are right without any weights.
        """
        rounding = float(np.finfo(np.float64).eps) * self.problem.C * self.problem.rows
        return (self.upper - self.lower) / self.upper if self.upper > rounding else 0.0

    def duals(self) -> Duals:
        """Return the cuts that hold up the master's solution; those without a share in it are left out."""
        beta = self.master.beta
        kept = beta > NEGLIGIBLE * beta.max(initial=0.0)
        return Duals(self.points[: len(beta)][kept], beta[kept])

    def learn(self, question: Question, answer: Answer) -> None:
        """Take in the cuts at the points of a question and improve both bounds."""
        C, points, new = self.problem.C, question.points, answer.cuts
        objective = 0.5 * np.square(points[:, :-1]).sum(axis=1) + C * new.loss
        winner = int(np.argmin(objective))
        if objective[winner] < self.upper:
            self.upper, self.best = float(objective[winner]), points[winner]
        self.cuts = Cuts(
            np.vstack([self.cuts.a, new.a]),
            np.append(self.cuts.d, new.d),
            np.append(self.cuts.m, new.m),
            np.append(self.cuts.loss, new.loss),
        )
        self.points = np.vstack([self.points, points])
        beta = self.master.beta
        shared = beta > NEGLIGIBLE * beta.max(initial=0.0)
        likely = np.append(shared, np.ones(len(new.m), dtype=np.bool_))
        self.rounds += 1
        try:
            cuts = self.cuts
            self.master = solve_master(cuts.a, cuts.d, cuts.m, C, self.problem.rows, likely=likely)
        except TrainingError as error:
            self.failure = str(error)
            return
        self.lower = max(self.lower, self.master.lower)
