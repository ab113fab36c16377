"""The cutting-plane phase: the engine asks questions, the sites answer with sums (Lu 2016, Algorithms 2 and 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from logging import DEBUG, INFO, WARNING

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.systems.pan_svm.cuts import Answer, Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CUTS, CutsAnswer
from strategies.federation.checks import ROUNDING, AggregateResult, Problems
from strategies.federation.federation import Federation
from strategies.log import log
from strategies.master.engine import MAX_ROUNDS, Search, solve
from strategies.master.line_search import LineSearch
from strategies.master.packing import curvature_diagonal, curvature_size, pack_questions, unpack_answers
from strategies.master.progress import Progress
from strategies.master.search import LATE_PLANES, PATIENCE, PointSearch
from strategies.steps.binary_problems import weighted_rows
from strategies.steps.scaling import count_rows
from strategies.svm_settings import PanSvmSettings

SHORT_PATIENCE = 4
"""Rounds without progress after which a model that is only compared with others is taken as it is."""


class SitesChangedError(Exception):
    """A site was lost: earlier cuts hold its rows, so they bound another objective than later ones."""


class CuttingPlanes:
    """Trains all binary problems of a job together.

    Parameters
    ----------
    federation : Federation
        The sites.
    settings : PanSvmSettings
        Tolerance, and how the points are searched.
    problems : sequence of Problem
        The problems.
    rows : ndarray of shape (folds, classes)
        Training rows, from which the problems' numbers of rows were made.
    sites : tuple of str
        The sites whose rows these are.
    most_rounds : int
        Round trips after which a problem is left as it is.
    needed : int, optional
        Training ends when so many problems, the first ones, are done; by default when all are.
    compared : bool, optional
        Whether the models are only compared with others: then a problem whose bounds stand still is soon given up, and
        single round trips are not logged.

    Attributes
    ----------
    progress : sequence of Progress
        Bounds, cuts and dual variables of each problem, as far as training has come.
    history : list of list of tuple
        For each problem, upper and lower bound after each round trip.
    questions : list of dict of int to Question
        What the sites were asked, round trip by round trip.
    """

    def __init__(
        self,
        federation: Federation,
        settings: PanSvmSettings,
        problems: Sequence[Problem],
        rows: NDArray[np.float64],
        sites: tuple[str, ...],
        most_rounds: int = MAX_ROUNDS,
        needed: int | None = None,
        compared: bool = False,
    ) -> None:
        self.federation = federation
        self.settings = settings
        self.problems = list(problems)
        self.rows = rows
        self.sites = sites
        self.most_rounds = most_rounds
        self.needed = needed
        self.compared = compared
        self.progress: Sequence[Progress] = ()
        self.history: list[list[tuple[float, float]]] = [[] for _ in problems]
        self.questions: list[dict[int, Question]] = []

    def train(self, starts: Sequence[NDArray[np.float64]]) -> list[Progress]:
        """Solve all problems; when a site is lost, begin again with the others at the best points so far.

        Parameters
        ----------
        starts : sequence of ndarray of shape (any, rank + 1)
            Points to begin with, for each problem.

        Returns
        -------
        list of Progress
            In the order of the problems.

        Raises
        ------
        PanSVMError
            If the federation fails.
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
                    search=self._search,
                    report=self._report,
                    most_rounds=self.most_rounds,
                    needed=self.needed,
                )
            except SitesChangedError:
                if self.progress:
                    starts = [state.best[None, :] for state in self.progress]
                continue
            self._warn_of_gaps(solved)
            return solved

    def _search(self) -> Search:
        if self.settings.search == "published":
            return LineSearch()
        patience = SHORT_PATIENCE if self.compared else PATIENCE
        return PointSearch(patience, late=LATE_PLANES / len(self.problems))

    def _ask(self, wanted: Mapping[int, Question]) -> dict[int, Answer]:
        """Ask the sites the questions of all problems, in one round trip."""
        problems, questions = [self.problems[i] for i in wanted], list(wanted.values())
        self.questions.append(dict(wanted))
        sums = self.federation.secure_sum(CUTS, pack_questions(problems, questions), relations=wrong_cuts)
        if tuple(self.federation.sites) != self.sites:
            raise SitesChangedError
        return dict(zip(wanted, unpack_answers(sums, questions), strict=True))

    def _count_rows(self) -> None:
        """Count the rows again, of the sites that are left."""
        self.rows = count_rows(self.federation)
        log(
            INFO, "training goes on with the %d rows of %d sites", self.rows.sum(), len(self.federation.sites)
        )
        self.problems = [
            replace(problem, rows=weighted_rows(problem, self.rows)) for problem in self.problems
        ]
        self.sites = tuple(self.federation.sites)

    def _report(self, number: int, states: Sequence[Progress]) -> None:
        """Write one line about a round trip."""
        self.progress = states
        for state, past in zip(states, self.history, strict=True):
            if state.rounds == number:
                past.append((state.upper, state.lower))
                if state.failure:
                    log(WARNING, "%s is left at its best point so far: %s", state.problem.name, state.failure)
        asked = [state for state in states if state.rounds == number]
        worst = max(asked, key=lambda state: state.gap)
        self.federation.costs.note(**{"upper-bound": worst.upper, "lower-bound": worst.lower})
        still_open = sum(state.gap > self.settings.tol and not state.failure for state in asked)
        which = f" ({worst.problem.name}; {still_open} of {len(states)} open)" if len(states) > 1 else ""
        text = "cutting planes, round %3d: upper bound %.6g, lower bound %.6g, gap %.1e%s"
        level = DEBUG if self.compared else INFO
        log(level, text, number, worst.upper, worst.lower, worst.gap, which)

    def _warn_of_gaps(self, states: Sequence[Progress]) -> None:
        """Say which problems were given up because their bounds did not move any more."""
        text = "%s is left at a gap of %.1e, where its bounds stand still; it is usable. Lower C for a smaller gap."
        for state in states[: self.needed]:
            ended = state.failure or state.rounds >= self.most_rounds
            if state.gap > self.settings.tol and not ended:
                log(DEBUG if self.compared else WARNING, text, state.problem.name, state.gap)


CURVATURE_ROUNDING = 1e-4
"""As `ROUNDING`, of a curvature, which the sites sum in single precision; relative to its largest number."""


def wrong_cuts(result: AggregateResult) -> Problems:
    """Yield what is wrong of cutting planes: any c in [0, 1] for each row gives one that is nowhere above the loss."""
    asked, sums = result.request.question, result.sums
    pairs = zip(asked.rank, asked.leading, strict=True)
    curvature = sum(curvature_size(int(rank), int(leading)) for rank, leading in pairs)
    yield from result.wrong_shape(curvature=(curvature,))
    if (
        result.exceeds("d", sums["m"], "m")
        or (-sums["d"] > sums["m"] * (1 + ROUNDING) + result.tolerance("d", "m")).any()
    ):
        yield "'d' is larger than 'm'"
    questions = asked.questions()
    for question, answer in zip(questions, unpack_answers(CutsAnswer(**sums), questions), strict=True):
        cuts, (w, b) = answer.cuts, (question.points[:, :-1], question.points[:, -1:])
        planes = cuts.m - w @ cuts.a.T - b * cuts.d
        size = cuts.m + np.abs(w) @ np.abs(cuts.a.T) + np.abs(b * cuts.d)
        tolerance = result.tolerance("m", "loss") + np.abs(w).sum(axis=1, keepdims=True) * result.tolerance(
            "a"
        )
        tolerance = tolerance + np.abs(b) * result.tolerance("d")
        if (planes > cuts.loss[:, None] + ROUNDING * size + tolerance).any():
            yield "'loss' is below a cutting plane, none of which can be above it"
        if question.leading >= 0:
            steep = curvature_diagonal(answer.curvature, question.leading)
            if (steep < -CURVATURE_ROUNDING * np.abs(steep).max()).any():
                yield "'curvature' is negative in a direction, and the loss is convex"
