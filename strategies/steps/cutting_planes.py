"""The cutting-plane phase: the engine sends questions, the sites reply with sums (Lu 2016, Algorithms 2 and 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from logging import DEBUG, INFO, WARNING

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.log import logger
from flower_pansvm.systems.pan_svm.cuts import Answer, Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CUTS, CutsAnswer
from strategies.federation.checks import ROUNDING, AggregateResult, Problems
from strategies.federation.federation import Federation
from strategies.master.engine import MAX_ROUNDS, Search, solve
from strategies.master.line_search import LineSearch
from strategies.master.packing import curvature_diagonal, curvature_size, pack_questions, unpack_answers
from strategies.master.progress import Progress
from strategies.master.search import LATE_PLANES, PATIENCE, PointSearch
from strategies.steps.binary_problems import weighted_rows
from strategies.steps.scaling import count_rows
from strategies.svm_settings import PanSvmSettings

SHORT_PATIENCE = 4
"""Rounds without progress after which a model that is only compared with others stops early."""


class SitesChangedError(Exception):
    """A site dropped out: earlier cuts include its rows, so they bound another objective than later ones."""


@dataclass(eq=False)
class CuttingPlanes:
    """Trains all binary problems of a job together."""

    federation: Federation
    settings: PanSvmSettings  # tolerance, and search of the points
    problems: Sequence[Problem]
    rows: Floats  # (folds, classes): training rows, summed in the problems' numbers of rows
    sites: tuple[str, ...]  # of these rows
    most_rounds: int = MAX_ROUNDS  # most round trips of a problem
    needed: int | None = None  # training ends when so many of the first problems are solved; None: all
    # Whether the models are only compared with others: then a problem whose bounds stall soon stops early, and single
    # round trips are not logged.
    compared: bool = False
    progress: Sequence[Progress] = field(default=(), init=False)  # of each problem so far
    # Of each problem, upper and lower bound after each round trip; and the questions of each round trip, by problem.
    history: list[list[tuple[float, float]]] = field(init=False)
    questions: list[dict[int, Question]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.history = [[] for _ in self.problems]

    def train(self, starts: Sequence[Floats]) -> list[Progress]:
        """Solve all problems; when a site drops out, begin again with the others at the incumbents.

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

    def _ask(self, asked: Mapping[int, Question]) -> dict[int, Answer]:
        """Return the answers to the questions of all problems, by one round trip."""
        problems, questions = [self.problems[i] for i in asked], list(asked.values())
        self.questions.append(dict(asked))
        sums = self.federation.secure_sum(CUTS, pack_questions(problems, questions), relations=wrong_cuts)
        if tuple(self.federation.sites) != self.sites:
            raise SitesChangedError
        return dict(zip(asked, unpack_answers(sums, questions), strict=True))

    def _count_rows(self) -> None:
        """Count the rows of the remaining sites."""
        self.rows = count_rows(self.federation)
        self.sites = tuple(self.federation.sites)
        logger.info("training continues with the %d rows of %d sites", self.rows.sum(), len(self.sites))
        self.problems = [
            replace(problem, rows=weighted_rows(problem, self.rows)) for problem in self.problems
        ]

    def _report(self, round_trip: int, states: Sequence[Progress]) -> None:
        """Log a round trip."""
        self.progress = states
        for state, past in zip(states, self.history, strict=True):
            if state.rounds == round_trip:
                past.append((state.upper, state.lower))
                if state.failure:
                    logger.warning("%s stops at its best point so far: %s", state.problem.name, state.failure)
        trained = [state for state in states if state.rounds == round_trip]
        worst = max(trained, key=lambda state: state.gap)
        self.federation.costs.note(**{"upper-bound": worst.upper, "lower-bound": worst.lower})
        unsolved = sum(state.gap > self.settings.tol and not state.failure for state in trained)
        which = f" ({worst.problem.name}; {unsolved} of {len(states)} open)" if len(states) > 1 else ""
        text = "cutting planes, round %3d: upper bound %.6g, lower bound %.6g, gap %.1e%s"
        level = DEBUG if self.compared else INFO
        logger.log(level, text, round_trip, worst.upper, worst.lower, worst.gap, which)

    def _warn_of_gaps(self, states: Sequence[Progress]) -> None:
        """Log the problems that stopped early because their bounds stall."""
        text = "%s stops at a gap of %.1e, where its bounds stall; it is usable. Lower C for a smaller gap."
        for state in states[: self.needed]:
            ended = state.failure or state.rounds >= self.most_rounds
            if state.gap > self.settings.tol and not ended:
                logger.log(DEBUG if self.compared else WARNING, text, state.problem.name, state.gap)


CURVATURE_ROUNDING = 1e-4
"""As `ROUNDING`, for a Hessian, which the sites sum in single precision; relative to its largest entry."""


def wrong_cuts(result: AggregateResult) -> Problems:
    """Yield the relations that cutting planes break: with c in [0, 1] for each row, no plane exceeds the loss."""
    request, sums = result.request.question, result.sums
    pairs = zip(request.rank, request.leading, strict=True)
    curvature = sum(curvature_size(int(rank), int(leading)) for rank, leading in pairs)
    yield from result.wrong_shape(curvature=(curvature,))
    if (
        result.exceeds("d", sums["m"], "m")
        or (-sums["d"] > sums["m"] * (1 + ROUNDING) + result.tolerance("d", "m")).any()
    ):
        yield "'d' is larger than 'm'"
    questions = request.questions()
    for question, answer in zip(questions, unpack_answers(CutsAnswer(**sums), questions), strict=True):
        cuts, (w, b) = answer.cuts, (question.points[:, :-1], question.points[:, -1:])
        planes = cuts.m - w @ cuts.a.T - b * cuts.d
        size = cuts.m + np.abs(w) @ np.abs(cuts.a.T) + np.abs(b * cuts.d)
        tolerance = result.tolerance("m", "loss") + np.abs(w).sum(axis=1, keepdims=True) * result.tolerance(
            "a"
        )
        tolerance = tolerance + np.abs(b) * result.tolerance("d")
        if (planes > cuts.loss[:, None] + ROUNDING * size + tolerance).any():
            yield "'loss' is below a cutting plane, but is never"
        if question.leading >= 0:
            diagonal = curvature_diagonal(answer.curvature, question.leading)
            if (diagonal < -CURVATURE_ROUNDING * np.abs(diagonal).max()).any():
                yield "'curvature' is negative in a direction, but the loss is convex"
