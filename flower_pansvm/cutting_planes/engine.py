"""The loop around cutting planes and master problem, for any number of SVM problems at once.

Paper: Lu 2016, Algorithms 2 and 3. The paper looks along the line from w_b, the best weights so far, to w_a,
the master's solution, one step and so one round trip at a time. Here the sites are asked for all steps of all
problems in one round trip, and every cutting plane that comes back is kept: each of them is valid.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from flower_pansvm.cutting_planes.cuts import Cuts
from flower_pansvm.cutting_planes.master import MasterSolution, solve_master

MAX_ROUNDS = 1000
"""A problem that has not met its tolerance after so many round trips is returned as it is."""

NEGLIGIBLE = 1e-6
"""A cut whose dual variable is below this share of the largest one is not expected in the next solution."""

Ask = Callable[[Mapping[int, NDArray[np.float64]]], Mapping[int, Cuts]]
"""``ask({problem: points})`` returns, summed over all sites, the cuts of each problem at its points."""

Report = Callable[[int, Sequence["Progress"]], None]
"""``report(round, states)`` is called after every round trip with the state of every problem."""


@dataclass(frozen=True)
class Problem:
    """One linear SVM over the mapped rows of all sites: min 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.f_i + b)).

    Parameters
    ----------
    name : str
        What a log line calls it, for instance the positive class.
    rank : int
        Coordinates of a mapped row.
    rows : float
        Rows over all sites.
    C : float
        Penalty, positive.
    """

    name: str
    rank: int
    rows: float
    C: float


@dataclass
class Progress:
    """What is known of one problem so far.

    Attributes
    ----------
    best : ndarray of shape (rank + 1,)
        The best point seen, weights and bias.
    upper, lower : float
        Its objective, exact; and the master's bound below which no point can come.
    cuts : Cuts
        All cutting planes so far.
    beta : ndarray of shape (cuts,)
        The master's dual variables.
    rounds : int
        Round trips in which this problem took part.
    """

    problem: Problem
    best: NDArray[np.float64] = field(init=False)
    upper: float = np.inf
    lower: float = 0.0
    cuts: Cuts = field(init=False)
    beta: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rounds: int = 0

    def __post_init__(self) -> None:
        self.best = np.zeros(self.problem.rank + 1)
        self.cuts = Cuts(np.empty((0, self.problem.rank)), np.empty(0), np.empty(0), np.empty(0))

    @property
    def gap(self) -> float:
        """Upper minus lower bound, relative to the upper one; 0 when the objective is 0 but for rounding.

        It is for a problem without rows of one class: then all are right without any weights.
        """
        rounding = float(np.finfo(np.float64).eps) * self.problem.C * self.problem.rows
        return (self.upper - self.lower) / self.upper if self.upper > rounding else 0.0

    def learn(self, points: NDArray[np.float64], new: Cuts) -> MasterSolution:
        """Take in the cuts at ``points``, improve both bounds and return the master's new solution."""
        C = self.problem.C
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
        shared = self.beta > NEGLIGIBLE * self.beta.max(initial=0.0)
        likely = np.append(shared, np.ones(len(new.m), dtype=np.bool_))
        master = solve_master(self.cuts.a, self.cuts.d, self.cuts.m, C, self.problem.rows, likely=likely)
        self.lower = max(self.lower, master.lower)
        self.beta = master.beta
        self.rounds += 1
        return master


def line_points(
    best: NDArray[np.float64], target: NDArray[np.float64], steps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return best + s (target - best) for every step s: Algorithm 3, line 3, for all k at once.

    Returns
    -------
    ndarray of shape (steps, rank + 1)
    """
    return best + steps[:, None] * (target - best)


def solve(
    problems: Sequence[Problem],
    starts: Sequence[NDArray[np.float64]],
    ask: Ask,
    *,
    tol: float,
    points: int,
    report: Report,
) -> list[Progress]:
    """Solve all problems together; each leaves the round trips when its bounds have met.

    Parameters
    ----------
    problems : sequence of Problem
        The problems.
    starts : sequence of ndarray of shape (any, rank + 1)
        Points to begin with, for each problem; the origin is always added.
    ask : callable
        One round trip to the sites.
    tol : float
        Stop a problem at (upper - lower) <= tol * upper.
    points : int
        Points per problem and round trip on the line from the best point to the master's solution, their
        steps in geometric progression from 1/50 to 1; with one point it is the master's solution itself.
    report : callable
        Called after every round trip.

    Returns
    -------
    list of Progress
        In the order of ``problems``.

    Raises
    ------
    TrainingError
        If a master problem cannot be solved.
    """
    steps = np.geomspace(0.02, 1.0, points) if points > 1 else np.ones(1)
    states = [Progress(problem) for problem in problems]
    wanted = {i: np.vstack([np.zeros(p.rank + 1), starts[i]]) for i, p in enumerate(problems)}
    for round_number in range(1, MAX_ROUNDS + 1):
        replies = ask(wanted)
        following: dict[int, NDArray[np.float64]] = {}
        # On matrices as small as the master's, threads only wait for each other: many times slower on a busy machine.
        with threadpool_limits(limits=1):
            for i, asked in wanted.items():
                master = states[i].learn(asked, replies[i])
                if states[i].gap > tol:
                    following[i] = line_points(states[i].best, np.append(master.w, master.b), steps)
        report(round_number, states)
        if not following:
            break
        wanted = following
    return states
