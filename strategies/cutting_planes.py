"""The cutting-plane phase: the engine asks for points, the sites answer with sums (Lu 2016, Algorithms 2 and 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from logging import INFO

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm import messages
from flower_pansvm.cutting_planes.cuts import Cuts
from flower_pansvm.cutting_planes.engine import Problem, Progress, solve
from flower_pansvm.settings import Settings
from strategies.federation import Federation

MARGIN = 1.01
"""Bounds are raised by this factor, so that rounding never makes a proper value break one."""


class SitesChangedError(Exception):
    """A site was lost: earlier cuts hold its rows, so they bound another objective than later ones."""


class CuttingPlanes:
    """Trains all binary problems of a run together.

    Parameters
    ----------
    federation : Federation
        The sites.
    settings : Settings
        Tolerance and points per round trip.
    problems : sequence of Problem
        The problems.
    positive_classes : sequence of int
        Class index of the positive class of each problem.
    coordinate_bound : float
        Bound on ||f|| of every mapped training row.
    sites : tuple of str
        The sites that the problems' numbers of rows were counted at.

    Attributes
    ----------
    progress : sequence of Progress
        Bounds, cuts and dual variables of each problem, as far as training has come.
    history : list of list of tuple
        For each problem, upper and lower bound after each round trip.
    """

    def __init__(
        self,
        federation: Federation,
        settings: Settings,
        problems: Sequence[Problem],
        positive_classes: Sequence[int],
        coordinate_bound: float,
        sites: tuple[str, ...],
    ) -> None:
        self.federation = federation
        self.settings = settings
        self.problems = list(problems)
        self.positive_classes = np.array(positive_classes)
        self.coordinate_bound = coordinate_bound
        self.sites = sites
        self.progress: Sequence[Progress] = ()
        self.history: list[list[tuple[float, float]]] = [[] for _ in problems]

    def train(self, starts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Solve all problems; when a site is lost, begin again with the others at the best points so far.

        Parameters
        ----------
        starts : sequence of ndarray of shape (any, rank + 1)
            Points to begin with, for each problem.

        Returns
        -------
        ndarray of shape (problems, rank + 1)
            Weights and, last, bias of the best point of each problem.

        Raises
        ------
        PanSVMError
            If the federation fails or a master problem cannot be solved.
        """
        while True:
            if tuple(self.federation.sites) != self.sites:
                self._count_rows()
            try:
                solved = solve(
                    self.problems,
                    starts,
                    self._ask,
                    tol=self.settings.tol,
                    points=self.settings.points,
                    report=self._report,
                )
            except SitesChangedError:
                if self.progress:
                    starts = [state.best[None, :] for state in self.progress]
            else:
                return np.stack([state.best for state in solved])

    def _ask(self, wanted: Mapping[int, NDArray[np.float64]]) -> dict[int, Cuts]:
        """Ask the sites for the cuts at all points of all problems, in one round trip."""
        points = np.vstack(list(wanted.values()))
        owner = np.repeat(list(wanted), [len(own) for own in wanted.values()])
        norms = np.linalg.norm(points[:, :-1], axis=1)
        largest_hinge = 1.0 + float(np.max(norms * self.coordinate_bound + np.abs(points[:, -1])))
        rows = self.problems[0].rows
        sums = self.federation.secure_sum(
            messages.CUTS,
            {"points": points, "positive": self.positive_classes[owner]},
            {
                "a": MARGIN * rows * self.coordinate_bound,
                "d": rows,
                "m": rows,
                "loss": MARGIN * rows * largest_hinge,
            },
        )
        if tuple(self.federation.sites) != self.sites:
            raise SitesChangedError
        return {i: Cuts(*(sums[part][owner == i] for part in ("a", "d", "m", "loss"))) for i in wanted}

    def _count_rows(self) -> None:
        """Count the rows again, of the sites that are left."""
        sums = self.federation.secure_sum(messages.ROWS, {}, {"rows": messages.COUNT})
        rows = float(sums["rows"].sum())
        log(INFO, "training goes on with the %d rows of %d sites", int(rows), len(self.federation.sites))
        self.problems = [replace(problem, rows=rows) for problem in self.problems]
        self.sites = tuple(self.federation.sites)

    def _report(self, number: int, states: Sequence[Progress]) -> None:
        """Write one line about a round trip."""
        self.progress = states
        for state, past in zip(states, self.history, strict=True):
            if state.rounds == number:
                past.append((state.upper, state.lower))
        worst = max(states, key=lambda state: state.gap)
        still_open = sum(state.gap > self.settings.tol for state in states)
        which = (
            f" (class {worst.problem.name}; {still_open} of {len(states)} open)" if len(states) > 1 else ""
        )
        text = "cutting planes, round %3d: upper bound %.6g, lower bound %.6g, gap %.1e%s"
        log(INFO, text, number, worst.upper, worst.lower, worst.gap, which)
