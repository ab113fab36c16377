"""What is known of one binary problem so far: the best point, both bounds, all cutting planes."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Answer, Cuts, Duals
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.models.errors import TrainingError
from strategies.master.master import MasterSolution, solve_master
from strategies.master.noise_bounds import bounds_off, likely_error

NEGLIGIBLE = 1e-6
"""A cut whose dual variable is below this share of the largest one is not expected in the next solution."""

ALMOST_NOISE, NEARLY, NEAR = 1.5, 5.0, 0.02
"""A gap that is no more than so many times the noise is small enough up to so many times the tolerance, but no larger
than the last: the last bit of a gap that cannot be believed any more takes half of the round trips."""

MOST_NOISE = 0.05
"""Bounds that noise may have put further off than this, relative to the upper one, have not met."""

FAR, CERTAINLY = 0.01, 10.0
"""A cut whose noise at the best point is likely to be more than this share of the rows counts as far; it is lowered by
so many standard deviations."""


@dataclass
class Progress:
    """What is known of one problem so far.

    Attributes
    ----------
    best : ndarray of shape (rank + 1,)
        The best point seen, weights and bias.
    upper, lower : float
        Its objective, and the master's bound below which no point can come; both exact, or off by `noise`.
    cuts : Cuts
        All cutting planes so far.
    points : ndarray of shape (cuts, rank + 1)
        Where they were asked for.
    blurred : ndarray of shape (cuts,)
        At how many rows of each site they were asked to be random.
    master : MasterSolution
        The master's latest solution.
    rounds : int
        Round trips in which this problem took part.
    failure : str
        Why it could not be trained further; empty if it could.
    """

    problem: Problem
    best: NDArray[np.float64] = field(init=False)
    upper: float = np.inf
    lower: float = 0.0
    cuts: Cuts = field(init=False)
    points: NDArray[np.float64] = field(init=False)
    blurred: NDArray[np.int64] = field(init=False)
    master: MasterSolution = field(init=False)
    rounds: int = 0
    failure: str = ""

    def __post_init__(self) -> None:
        rank = self.problem.rank
        self.best = np.zeros(rank + 1)
        self.cuts = Cuts(np.empty((0, rank)), np.empty(0), np.empty(0), np.empty(0))
        self.points, self.blurred = np.empty((0, rank + 1)), np.empty(0, dtype=np.int64)
        self.master = MasterSolution(np.zeros(rank), 0.0, np.empty(0), 0.0, 0.0)

    @property
    def gap(self) -> float:
        """Upper minus lower bound, relative to the upper one; 0 when the objective is 0 but for rounding.

        It is for a problem without rows of one class: then all are right without any weights.
        """
        rounding = float(np.finfo(np.float64).eps) * self.problem.C * self.problem.rows
        return (self.upper - self.lower) / self.upper if self.upper > rounding else 0.0

    @property
    def noise(self) -> float:
        """By how much secret noise may have brought the bounds together, relative to the upper one; 0 without noise."""
        if self.problem.noise is None or not 0 < self.upper < np.inf:
            return 0.0
        beta = self.master.beta
        off = bounds_off(
            self.points[: len(beta)],
            beta,
            self.best,
            np.append(self.master.w, self.master.b),
            self.upper - self.lower,
            self.problem.C,
            self.problem.noise,
            max(self.problem.weights),
        )
        return off / self.upper

    @property
    def honest_gap(self) -> float:
        """The gap if the noise has been as misleading as it can be."""
        return max(self.gap, 0.0) + self.noise

    def met(self, tol: float) -> bool:
        """Tell whether the bounds have met: to a tolerance, or nearly and to little more than noise.

        As long as the cuts are few and far away, noise may bring the bounds together by chance.
        """
        noise = self.noise
        return noise <= MOST_NOISE and self.gap <= max(tol, min(ALMOST_NOISE * noise, NEARLY * tol, NEAR))

    def believed_cuts(self) -> Cuts:
        """Return the cuts, each lowered by what its noise is likely to be at the best point; exact ones as they are.

        The highest of many noisy cuts would be too high nearly everywhere, the more so the more there are. Cuts at far
        points, such as a master's solution with few cuts often is, are lowered out of the way.
        """
        if self.problem.noise is None:
            return self.cuts
        likely = likely_error(self.points, self.best, self.problem.noise, max(self.problem.weights))
        far = likely > FAR * self.problem.rows
        return replace(self.cuts, m=self.cuts.m - np.where(far, CERTAINLY * likely, likely))

    def duals(self) -> Duals:
        """Return the cuts that hold up the master's solution; those without a share in it are left out."""
        beta = self.master.beta
        kept = beta > NEGLIGIBLE * beta.max(initial=0.0)
        return Duals(self.points[: len(beta)][kept], self.blurred[: len(beta)][kept], beta[kept])

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
        self.blurred = np.append(self.blurred, np.full(len(points), question.blur))
        believed = self.believed_cuts()
        beta = self.master.beta
        shared = beta > NEGLIGIBLE * beta.max(initial=0.0)
        likely = np.append(shared, np.ones(len(new.m), dtype=np.bool_))
        self.rounds += 1
        try:
            self.master = solve_master(
                believed.a, believed.d, believed.m, C, self.problem.rows, likely=likely
            )
        except TrainingError as error:
            self.failure = str(error)
            return
        self.lower = max(self.lower, self.master.lower)
