"""The way an elimination takes through the subsets of the features, written down step by step."""

from collections.abc import Iterable, Mapping, Sequence
from logging import INFO

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from strategies.federation.costs import Costs
from strategies.selection.choice import choose
from strategies.selection.outcome import Point, Screening, Selection, Step, decided_by
from strategies.subsets import Mask, Score, Trained

MOST_NAMES = 3
"""Removed features that a log line names; of more it says how many."""


class Trail:
    """Takes down subsets and steps, writes a log line about each step, and puts the outcome together.

    Parameters
    ----------
    schema : Schema
        Names of the features.
    costs : Costs
        Counts round trips and bytes.
    """

    def __init__(self, schema: Schema, costs: Costs) -> None:
        self.schema, self.costs = schema, costs
        self.points: list[Point] = []
        self.steps: list[Step] = []
        self.screening: Screening | None = None
        self.screened: list[int] = []
        self._solutions: dict[int, tuple[NystromMap, NDArray[np.float64]]] = {}
        self._cost = costs.round_trips, costs.bytes_up

    def add_point(self, trained: Trained, score: Score) -> None:
        """Write down how good the models of a subset are, and keep those on all rows."""
        count = int(np.count_nonzero(trained.features))
        self.points.append(Point(count, score.accuracy, float(score.by_fold.std()), score.test))
        weights = np.stack([state.best for state in trained.states[NO_FOLD]])
        self._solutions[count] = trained.maps[NO_FOLD], weights

    def add_screening(self, screening: Screening, order: NDArray[np.float64]) -> None:
        """Write down what filters have removed; ``order`` is how good they find each feature."""
        self.screening = screening
        screened = set(range(len(order))) - set(screening.kept)
        self.screened = sorted(screened, key=lambda one: (-order[one], one))
        passed = ", ".join(f"{name} {number}" for name, number in screening.passed.items())
        log(INFO, "filters: %d of %d features pass all (%s)", len(screening.kept), len(order), passed)

    def add_step(
        self,
        features: Mask,
        candidates: Mapping[str, Iterable[int]],
        accuracies: Mapping[str, float],
        removed: Sequence[int],
    ) -> None:
        """Write down what a step has removed, and what it cost; parameters as in :class:`Step`."""
        before, self._cost = self._cost, (self.costs.round_trips, self.costs.bytes_up)
        step = Step(
            features=int(np.count_nonzero(features)),
            candidates={name: tuple(map(int, own)) for name, own in candidates.items()},
            accuracies=dict(accuracies),
            removed=tuple(map(int, removed)),
            round_trips=self._cost[0] - before[0],
            bytes_up=self._cost[1] - before[1],
        )
        self.steps.append(step)
        text = "%4d features, accuracy %.4f: %s removed by %s (%d round trip%s, %.2f MB from the sites)"
        how = decided_by(step.candidates, step.accuracies, step.removed)
        trips = step.round_trips, "" if step.round_trips == 1 else "s"
        accuracy, gone = self.points[-1].accuracy, self._named(step.removed)
        log(INFO, text, step.features, accuracy, gone, how, *trips, step.bytes_up / 1e6)

    def outcome(self, tolerance: float, wanted: int | None) -> Selection:
        """Return what was found: the ranking, and the chosen subset (:func:`strategies.selection.choice.choose`)."""
        everything = range(len(self.schema.columns))
        gone = [feature for step in self.steps for feature in step.removed]
        (last,) = set(everything) - set(gone) - set(self.screened)
        ranking = (last, *reversed(gone), *self.screened)
        able = [point for point in self.points if point.features <= len(everything) - len(self.screened)]
        chosen = able[choose(able, tolerance, wanted)]
        before = self.points[0]
        text = "chosen: %d of %d features, accuracy %.4f (with %d: %.4f)"
        log(INFO, text, chosen.features, len(everything), chosen.accuracy, before.features, before.accuracy)
        return Selection(
            ranking, tuple(self.points), tuple(self.steps), ranking[: chosen.features], self.screening
        )

    def solution(self, count: int) -> tuple[NystromMap, NDArray[np.float64]]:
        """Return feature map and weights, shape (problems, rank + 1), of the subset with so many features."""
        return self._solutions[count]

    def _named(self, features: Sequence[int]) -> str:
        if len(features) > MOST_NAMES:
            return f"{len(features)} features"
        return ", ".join(f"'{self.schema.columns[one]}'" for one in features)
