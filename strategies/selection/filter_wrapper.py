"""PPFSIFW: three filters, then a wrapper that leaves out one feature after the other (Lu 2016, section 6.2.3)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.constraints import setting
from strategies.api import Federation
from strategies.pan_svm.model_choice import ROUGH
from strategies.selection.elimination import Elimination, SelectionSettings, check_wanted
from strategies.selection.filters import by_classes
from strategies.selection.subsets import Trained, Wanted, without
from strategies.selection.thresholds import Thresholds, filter_order, screen, thresholds
from strategies.selection.voting import best_spared, least_important

CANDIDATES = 30
"""The most features that a step tries to do without."""


@dataclass(frozen=True)
class FilterWrapperSettings(SelectionSettings):
    """The settings of PPFSIFW: what each filter keeps."""

    filters: Thresholds = setting(
        Thresholds(),
        thresholds(),
        "What the filters by Fisher scores, Welch's test and scatter keep; one that is not named keeps its default.",
    )


class FilterWrapper(Elimination):
    """The PPFSIFW strategy."""

    settings_class = FilterWrapperSettings
    settings: FilterWrapperSettings

    @property
    def gap_of_subsets(self) -> float:
        """Ten times ``tol``, but no rougher than model choice: nothing but the models' accuracies is looked at."""
        gap = self.settings.tol
        return max(gap, min(10 * gap, ROUGH))

    def eliminate(self, federation: Federation) -> None:
        """Keep what passes all filters (steps 1 and 2), then remove features by accuracy (step 3).

        The paper removes the feature without which the classifier is most accurate, whether that is more accurate
        than before or not.
        """
        scores = by_classes(self.class_moments(federation), self.subsets.pairs)
        screening, order = screen(scores, self.settings.filters), filter_order(scores)
        check_wanted(self.settings.features, len(screening.kept), "the filters keep")
        self.record.add_screening(screening, order)
        everything, score = self.train_and_score(self.mask(range(len(order))), near=None)
        self.record.add_point(everything, score)
        before, current = everything, Trained(self.mask(screening.kept))
        while True:
            tried = {
                one: Trained(without(current.features, [one])) for one in self.candidates(current, order)
            }
            self._train(current, before, tried.values())
            own, *others = self.subsets.score([current, *tried.values()])
            if len(screening.kept) < len(order) or self.record.steps:
                self.record.add_point(current, own)
            if not tried:
                return
            accuracies = {one: score.accuracy for one, score in zip(tried, others, strict=True)}
            removed = best_spared(accuracies, self.size(current.features))
            self.record.add_step(current.features, *self._by_name(accuracies), removed)
            before = current
            # Without a single feature, the models are trained already, but for that on all rows.
            current = tried[removed[0]] if len(removed) == 1 else Trained(without(current.features, removed))

    def candidates(self, current: Trained, order: NDArray[np.float64]) -> list[int]:
        """Return the features that the step tries to do without: all of few, else the least by the filters.

        The least come first, so that they go first of equally accurate ones, which small data has many of.
        """
        left = int(np.count_nonzero(current.features))
        most = CANDIDATES if left > 1 else 0
        return [int(one) for one in least_important(order, current.features, min(left, most))]

    def _train(self, current: Trained, before: Trained, tried: Iterable[Trained]) -> None:
        """Train, in one batch, the candidates' models and those of the current subset that there are not yet."""
        missing = [fold for fold in self.subsets.folds if fold not in current.states]
        folds = self.subsets.moments.folds
        near = before if set(folds) & set(missing) else current
        self.subsets.train(
            [Wanted(current, missing, before), *(Wanted(one, folds, near) for one in tried)], keep=[current]
        )

    def _by_name(self, accuracies: Mapping[int, float]) -> tuple[dict[str, list[int]], dict[str, float]]:
        columns = self.subsets.schema.columns
        candidates = {columns[one]: [one] for one in accuracies}
        return candidates, {columns[one]: accuracy for one, accuracy in accuracies.items()}
