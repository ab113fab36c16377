"""Private training and testing: asking for sums that are charged, and counting what they cost."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from flower_pansvm.errors import FederationError
from flower_pansvm.log import logger
from flower_pansvm.privacy.accountant import admits
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.tasks import Task
from strategies.federation.checks import Relations
from strategies.federation.federation import Federation

Q = TypeVar("Q")
A = TypeVar("A")

SURE = 20.0
"""Deviations of the noise; larger than that it never is, even where sites are lost and it is shared by fewer."""

ROUNDING = 1e-9
"""Share of a budget that is not spent, so that rounding never makes its parts more than the whole."""


@dataclass(frozen=True)
class Spent:
    """What answers to a task have spent (zCDP), how many of every site, about the training or the test rows."""

    task: str
    rows: str
    rho: float
    answers: int


@dataclass(eq=False)
class Budget:
    """What a run may spend of the budgets of the training and of the test rows, and what it has spent."""

    federation: Federation
    rho: float  # what it may spend of each of the two (zCDP)
    colluders: int  # sites whose noise does not count
    # Whether a run goes on that was stopped. It may have been stopped while it waited for an answer, which was charged.
    resumed: bool
    spent: list[Spent] = field(default_factory=list, init=False)  # an entry a sum

    def __post_init__(self) -> None:
        self.rho *= 1 - ROUNDING
        self._costs: list[float] = []
        self._in_flight = self.resumed

    def total(self, rows: str) -> float:
        """Return the spent part of one side's budget."""
        return math.fsum(item.rho for item in self.spent if item.rows == rows)

    def by_task(self) -> list[Spent]:
        """Return the charges, an entry a task."""
        entries: dict[str, Spent] = {}
        for item in self.spent:
            old = entries.get(item.task, Spent(item.task, item.rows, 0.0, 0))
            entries[item.task] = replace(item, rho=old.rho + item.rho, answers=old.answers + item.answers)
        return list(entries.values())

    def allows(self, rho: float) -> bool:
        """Return whether one more answer about the training rows can be paid, if none was lost with a stopped run."""
        return admits(self._costs, rho, self.rho / (1 - ROUNDING))

    def deviation(self, task: Task[Any, A], field: str, rho: float, answer: A | None = None) -> float:
        """Return the standard deviation of the noise in a field of a sum of this cost, over the sites that are left.

        Infinite where too few are left to share it; then they refuse.
        """
        sites, sensitivity = len(self.federation.sites), task.declared[field].sensitivity(answer)
        roster = SumRound("", task.name, 0, 0, tuple(sorted(self.federation.sites)))
        honest = max(self.federation.protocol.fewest(roster), sites - self.colluders) - self.colluders
        sensitivity *= self.federation.terms.rows_per_patient
        return sensitivity * math.sqrt(sites / (honest * 2 * rho)) if honest > 0 else math.inf

    def ask(
        self,
        task: Task[Q, A],
        question: Q,
        relations: Relations | None = None,
        **shapes: tuple[int, ...],
    ) -> A:
        """Ask for a private sum and count its cost, once more for each site that was lost: then it was repeated.

        Parameters
        ----------
        task : Task
            A private task.
        question : object
            The task's question.
        relations : callable, optional
            As of :meth:`strategies.federation.federation.Federation.secure_sum`.
        **shapes : tuple of int
            Shape of each part of the answer.

        Raises
        ------
        FederationError
            If a part has another shape.
        """
        costs = self.federation.costs
        lost, trips = len(costs.dropped), costs.round_trips
        rows, rho = "test" if task.category == "evaluate" else "train", question.rho  # type: ignore[attr-defined]
        empty = task.answer(**{name: np.zeros(shape) for name, shape in shapes.items()})
        slack = {name: SURE * self.deviation(task, name, rho, empty) for name in shapes}
        answer = self.federation.secure_sum(task, question, slack, relations)
        times = 1 + len(costs.dropped) - lost
        self._costs += times * [rho] if rows == "train" else []
        if self._in_flight and costs.round_trips > trips:
            times, self._in_flight = times + 1, False
        self.spent.append(Spent(task.name, rows, times * rho, times))
        for name, shape in shapes.items():
            if getattr(answer, name).shape != shape:
                raise FederationError(
                    f"The sum '{name}' of task '{task.name}' does not have the shape that was asked for. The sites run "
                    "another version of flower-pansvm, or a changed one."
                )
        return answer


def warn_of_early_end(steps: int) -> None:
    """Log that the hospitals pay for no more steps."""
    logger.warning("the budget is spent after %d steps; the model is what they have made of it", steps)
