"""Base of all feature selections: eliminate features step by step, choose a subset, train a model on it."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import setting, whole
from flower_pansvm.errors import SettingError
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from flower_pansvm.systems.scaling import NO_FOLD
from flower_pansvm.systems.selection import CLASS_MOMENTS
from flower_pansvm.tasks import Nothing
from strategies.api import AggregateResult, Costs, Federation, PanSvmSettings, Problems, logger, or_word
from strategies.pan_svm.strategy import PanSVM
from strategies.selection.filters import ClassMoments
from strategies.selection.outcome import Point, Screening, Selection, Step, choose, decided_by
from strategies.selection.schedule import schedules, step_size
from strategies.selection.subsets import Mask, Score, Subsets, Trained, TrainingJob, carry_over

MOST_NAMES = 3
"""Most removed features that a log line names; of more it gives the number."""


class EliminationLog:
    """Records subsets and steps, writes a log line for each step, and returns the outcome."""

    def __init__(self, schema: Schema, costs: Costs) -> None:
        self.schema, self.costs = schema, costs
        self.points: list[Point] = []
        self.steps: list[Step] = []
        self.screening: Screening | None = None
        self.screened: list[int] = []
        self._solutions: dict[int, tuple[NystromMap, Floats]] = {}
        self._cost = costs.round_trips, costs.bytes_up

    def add_point(self, trained: Trained, score: Score) -> None:
        """Record the accuracy of a subset's models, and keep the models on all rows."""
        count = int(np.count_nonzero(trained.features))
        self.points.append(Point(count, score.accuracy, float(score.by_fold.std()), score.test))
        weights = np.stack([state.best for state in trained.states[NO_FOLD]])
        self._solutions[count] = trained.maps[NO_FOLD], weights

    def add_screening(self, screening: Screening, order: Floats) -> None:
        """Record the features that filters have removed; ``order`` are their mean ranks."""
        self.screening = screening
        screened = set(range(len(order))) - set(screening.kept)
        self.screened = sorted(screened, key=lambda feature: (-order[feature], feature))
        passed = ", ".join(f"{name} {count}" for name, count in screening.passed.items())
        logger.info("filters: %d of %d features pass all (%s)", len(screening.kept), len(order), passed)

    def add_step(
        self,
        features: Mask,
        candidates: Mapping[str, Iterable[int]],
        accuracies: Mapping[str, float],
        removed: Sequence[int],
    ) -> None:
        """Record a step with its cost; parameters as in :class:`Step`."""
        before, self._cost = self._cost, (self.costs.round_trips, self.costs.bytes_up)
        step = Step(
            features=int(np.count_nonzero(features)),
            candidates={name: tuple(map(int, proposal)) for name, proposal in candidates.items()},
            accuracies=dict(accuracies),
            removed=tuple(map(int, removed)),
            round_trips=self._cost[0] - before[0],
            bytes_up=self._cost[1] - before[1],
        )
        self.steps.append(step)
        logger.info(
            "%4d features, accuracy %.4f: %s removed by %s (%d round trip%s, %.2f MB from the sites)",
            step.features,
            self.points[-1].accuracy,
            self._named(step.removed),
            decided_by(step.candidates, step.accuracies, step.removed),
            step.round_trips,
            "" if step.round_trips == 1 else "s",
            step.bytes_up / 1e6,
        )

    def outcome(self, count: int | None) -> Selection:
        """Return the ranking, and the chosen subset (:func:`strategies.selection.outcome.choose`)."""
        total = range(len(self.schema.columns))
        removed = [feature for step in self.steps for feature in step.removed]
        (last,) = set(total) - set(removed) - set(self.screened)
        ranking = (last, *reversed(removed), *self.screened)
        eligible = [point for point in self.points if point.features <= len(total) - len(self.screened)]
        chosen = eligible[choose(eligible, count)]
        first = self.points[0]
        text = "chosen: %d of %d features, accuracy %.4f (with %d: %.4f)"
        logger.info(text, chosen.features, len(total), chosen.accuracy, first.features, first.accuracy)
        return Selection(
            ranking, tuple(self.points), tuple(self.steps), ranking[: chosen.features], self.screening
        )

    def solution(self, count: int) -> tuple[NystromMap, Floats]:
        """Return feature map and weights, shape (problems, rank + 1), of the subset with ``count`` features."""
        return self._solutions[count]

    def _named(self, features: Sequence[int]) -> str:
        if len(features) > MOST_NAMES:
            return f"{len(features)} features"
        return ", ".join(f"'{self.schema.columns[feature]}'" for feature in features)


@dataclass(frozen=True)
class SelectionSettings(PanSvmSettings):
    """The settings of the strategies that select features."""

    step: str = setting("auto", schedules(), "Features that each step removes.")
    features: int | None = setting(
        None,
        or_word("auto", whole(1)),
        "Features to choose; auto: the fewest that are as accurate as the best.",
    )

    @property
    def selects(self) -> bool:
        """Whether the strategy selects features."""
        return True


class Elimination(PanSVM):
    """Base of the strategies that select features. A subclass writes :meth:`eliminate`, its paper's algorithm.

    Attributes
    ----------
    subsets : Subsets
        Trains and evaluates models on subsets of the features.
    record : EliminationLog
        Every subset and every step of :meth:`eliminate`.
    selection : Selection
        The outcome, after the run; ``model`` is then one on the chosen features only.
    """

    settings_class = SelectionSettings
    settings: SelectionSettings
    subsets: Subsets
    record: EliminationLog
    selection: Selection

    def learn(self, federation: Federation) -> PanSVC:
        """Select features, and train on the chosen ones."""
        phase = federation.costs.phase
        schema, moments = self.agree(federation)
        with phase("landmarks"):
            compared = replace(self.settings, tol=self.gap_of_subsets)
            self.subsets = Subsets(federation, compared, schema, moments)
            scaled, landmarks = self.subsets.scaled_sets[NO_FOLD], self.subsets.landmarks[NO_FOLD]
        with phase("selection"):
            self.record = EliminationLog(schema, federation.costs)
            self.eliminate(federation)
            self.selection = self.record.outcome(self.settings.features)
        chosen = self.mask(self.selection.selected)
        return self.train(federation, schema, moments, scaled, landmarks, chosen, self._start)

    def figures(self) -> dict[str, Any]:
        """Return the figures of training, and ranking, steps and choice of the features, by their names."""
        selection, columns = self.selection, self.subsets.schema.columns

        def names(features: Iterable[int]) -> list[str]:
            return [columns[feature] for feature in features]

        screening = selection.screening
        return {
            **super().figures(),
            "ranking": names(selection.ranking),
            "selected": names(selection.selected),
            "accuracy_by_count": [asdict(point) for point in selection.points],
            "votes": [
                {
                    **asdict(step),
                    "candidates": {name: names(proposal) for name, proposal in step.candidates.items()},
                    "removed": names(step.removed),
                }
                for step in selection.steps
            ],
            **selection.ties(),
            "filters": None
            if screening is None
            else {
                "thresholds": dict(screening.thresholds),
                "passed": dict(screening.passed),
                "kept": names(screening.kept),
            },
        }

    def join(self, federation: Federation) -> Schema:
        """Phase 1; checks before any training that the table has enough features to choose from."""
        schema = super().join(federation)
        check_wanted(self.settings.features, len(schema.columns))
        return schema

    @property
    def gap_of_subsets(self) -> float:
        """The relative gap of the models on subsets."""
        return self.settings.tol

    @abstractmethod
    def eliminate(self, federation: Federation) -> None:
        """Remove features step by step until one is left, and record subsets and steps."""

    def class_moments(self, federation: Federation) -> ClassMoments:
        """Return the sums over all training rows by class, in scaled units, by one secure sum."""
        sums = federation.secure_sum(CLASS_MOMENTS, Nothing(), relations=wrong_class_moments)
        return ClassMoments(sums.count, sums.total, sums.square)

    def train_and_score(self, features: Mask, similar: Trained | None) -> tuple[Trained, Score]:
        """Train the models of a subset, on all rows and without each fold, and evaluate them."""
        trained = Trained(features)
        self.subsets.train([TrainingJob(trained, self.subsets.folds, similar)])
        return trained, self.subsets.score([trained])[0]

    def size(self, features: Mask) -> int:
        """Return the number of features that this step removes."""
        return step_size(self.settings.step, int(np.count_nonzero(features)))

    def mask(self, features: Iterable[int]) -> Mask:
        """Return the mask of the given features, shape (features,)."""
        mask = np.zeros(len(self.subsets.schema.columns), dtype=np.bool_)
        mask[list(features)] = True
        return mask

    def _start(self, feature_map: NystromMap) -> list[Floats]:
        """Return starting points for the chosen subset: its solution in the elimination."""
        old, weights = self.record.solution(len(self.selection.selected))
        return [carry_over(point, old, feature_map) for point in weights]


def check_wanted(wanted: int | None, available: int, where: str = "the table has") -> None:
    """Check before any training that there are enough features to choose from; SettingError if not."""
    if wanted is not None and wanted > available:
        raise SettingError(
            f"features is {wanted}, but {where} {available}. Ask for fewer, or leave it at 'auto' for the fewest that "
            "are as accurate as the best."
        )


def wrong_class_moments(result: AggregateResult) -> Problems:
    """Yield the relations that moments by class break."""
    known = result.request.rows
    if known is not None and (result.sums["count"] > known.train.sum(axis=0)[:, None]).any():
        yield "'count' has more cells of a column than there are rows of a class"
    yield from result.negative_variance()
