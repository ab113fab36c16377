"""PPFSIFW: three filters, then a wrapper that removes one feature after the other (Lu 2016, section 6.2.3)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import setting
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.api import Federation
from strategies.pan_svm.model_choice import ROUGH
from strategies.selection.elimination import Elimination, SelectionSettings, check_wanted
from strategies.selection.filters import by_classes
from strategies.selection.subsets import Trained, TrainingJob, without
from strategies.selection.thresholds import Thresholds, filter_order, screen, thresholds
from strategies.selection.voting import best_spared, least_important

CANDIDATES = 30
"""The most features whose removal a step evaluates."""


@dataclass(frozen=True)
class FilterWrapperSettings(SelectionSettings):
    """The settings of PPFSIFW."""

    filters: Thresholds = setting(
        Thresholds(),
        thresholds(),
        "Thresholds of the filters by Fisher score, Welch's test and scatter; others keep their defaults.",
    )


class FilterWrapper(Elimination):
    """The PPFSIFW strategy."""

    settings_class = FilterWrapperSettings
    settings: FilterWrapperSettings

    @property
    def gap_of_subsets(self) -> float:
        """Ten times ``tol``, but at most model choice's gap: the models are only compared by accuracy."""
        gap = self.settings.tol
        return max(gap, min(10 * gap, ROUGH))

    def eliminate(self, federation: Federation) -> None:
        """Keep the features that pass all filters (steps 1 and 2), then remove features by accuracy (step 3).

        As in the paper, a step removes the feature without which the classifier is most accurate, even if it is
        less accurate than before.
        """
        scores = by_classes(self.class_moments(federation), self.subsets.pairs)
        screening, order = screen(scores, self.settings.filters), filter_order(scores)
        check_wanted(self.settings.features, len(screening.kept), "the filters keep")
        self.record.add_screening(screening, order)
        all_features, score = self.train_and_score(self.mask(range(len(order))), similar=None)
        self.record.add_point(all_features, score)
        previous, current = all_features, Trained(self.mask(screening.kept))
        columns = self.subsets.schema.columns
        while True:
            reduced = {
                feature: Trained(without(current.features, [feature]))
                for feature in self.candidates(current, order)
            }
            self._train(current, previous, reduced.values())
            current_score, *scores_without = self.subsets.score([current, *reduced.values()])
            if len(screening.kept) < len(order) or self.record.steps:
                self.record.add_point(current, current_score)
            if not reduced:
                return
            accuracies = {
                feature: score.accuracy for feature, score in zip(reduced, scores_without, strict=True)
            }
            removed = best_spared(accuracies, self.size(current.features))
            candidates = {columns[feature]: [feature] for feature in accuracies}
            by_name = {columns[feature]: accuracy for feature, accuracy in accuracies.items()}
            self.record.add_step(current.features, candidates, by_name, removed)
            previous = current
            # The models without a single feature are trained already, except the one on all rows.
            current = (
                reduced[removed[0]] if len(removed) == 1 else Trained(without(current.features, removed))
            )

    def candidates(self, current: Trained, order: Floats) -> list[int]:
        """Return the features whose removal a step evaluates: the least important by the filters, at most `CANDIDATES`.

        The least important come first, so that they go first of equally accurate ones, frequent on small data.
        """
        most = CANDIDATES if np.count_nonzero(current.features) > 1 else 0
        return [int(feature) for feature in least_important(order, current.features, most)]

    def _train(self, current: Trained, previous: Trained, reduced: Iterable[Trained]) -> None:
        """Train, in one batch, the candidates' models and the missing ones of the current subset."""
        missing = [fold for fold in self.subsets.folds if fold not in current.states]
        folds = [fold for fold in self.subsets.folds if fold != NO_FOLD]
        similar = previous if set(folds) & set(missing) else current
        self.subsets.train(
            [
                TrainingJob(current, missing, previous),
                *(TrainingJob(subset, folds, similar) for subset in reduced),
            ],
            keep=[current],
        )
