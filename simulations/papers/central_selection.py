"""The feature selections of Lu 2016, chapters 5 and 6, with LIBSVM on pooled rows: the paper's other classifier.

The steps are those of the federated strategy; the rows, the test rows, the folds and the scaling are those of its run
with the same settings. Here the models are scikit-learn's SVC, which is LIBSVM, with an RBF kernel on all sites' rows;
several classes are one versus the rest.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.svm import SVC

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.class_columns import winners
from flower_pansvm.multiclass import Pair, one_versus_all, signs
from flower_pansvm.scaling import moments
from simulations.data.pooling import PooledRows, pooled
from simulations.papers.reproduction import experiment, tested_by_folds
from strategies.federation.exchange import Costs
from strategies.registry import STRATEGIES
from strategies.selection.criteria import criteria_of
from strategies.selection.elimination import Elimination, EliminationLog, SelectionSettings
from strategies.selection.filters import ClassMoments
from strategies.selection.outcome import Point, Selection
from strategies.selection.subsets import Score, Trained
from strategies.settings import Settings
from strategies.steps.feature_maps import scale_gamma
from strategies.steps.scaling import scaling_of_rows


class PooledSplit:
    """Training rows and held-out rows, both scaled by the training rows alone."""

    def __init__(
        self, settings: SelectionSettings, pairs: tuple[Pair, ...], train: PooledRows, held_out: PooledRows
    ) -> None:
        self.settings, self.pairs = settings, pairs
        scaling = scaling_of_rows(settings.scaling, train.X)
        self.X, self.classes = scaling.transform(train.X), train.classes
        self.X_held_out, self.held_out_classes = scaling.transform(held_out.X), held_out.classes

    def fit(self, kept: Bools) -> list[SVC]:
        """Return the SVM of every binary problem on the kept features."""
        X = self.X[:, kept]
        (C,) = self.settings.C_values
        (gamma,) = self.settings.gamma_values(scale_gamma(X.shape[1], float(X.var())))
        return [SVC(C=C, gamma=gamma).fit(X, signs(self.classes, pair)) for pair in self.pairs]

    def accuracy(self, kept: Bools) -> float:
        """Return the accuracy of models on the kept features on the held-out rows."""
        X = self.X_held_out[:, kept]
        decisions = np.stack([svc.decision_function(X) for svc in self.fit(kept)], axis=1)
        return float(np.mean(winners(decisions) == self.held_out_classes))


class PooledSubsets:
    """Models on subsets of the features, as `strategies.selection.subsets.Subsets` has them, of all sites' rows."""

    def __init__(self, settings: SelectionSettings) -> None:
        pool = pooled(settings)
        train, self.schema = pool.train, pool.schema
        self.pairs = one_versus_all(len(self.schema.classes))
        self.whole = PooledSplit(settings, self.pairs, train, pool.test)
        self.splits = [
            PooledSplit(settings, self.pairs, train.of(train.folds != fold), train.of(train.folds == fold))
            for fold in range(settings.cv_folds)
        ]
        X = np.where(np.isnan(train.X), np.nan, self.whole.X)
        self.classes = moments_of(X, [train.classes == index for index in range(len(self.schema.classes))])
        self.folds: list[int] = []  # nothing is to be trained before it is scored

    def train(self, wanted: Sequence[Any], keep: Sequence[Trained] = ()) -> None:
        """Do nothing: LIBSVM is trained where it is scored."""

    def score(self, subsets: Sequence[Trained]) -> list[Score]:
        """Return the accuracy of models on each subset, fold by fold."""
        by_fold = ([split.accuracy(subset.features) for split in self.splits] for subset in subsets)
        return [Score(np.array(accuracies), None) for accuracies in by_fold]


class PooledLog(EliminationLog):
    """The log of a selection, without models."""

    def __init__(self, subsets: PooledSubsets) -> None:
        super().__init__(subsets.schema, Costs())
        self.whole = subsets.whole

    def add_point(self, trained: Trained, score: Score) -> None:
        """Add the accuracy of a subset's models over the folds and on the test rows."""
        test = self.whole.accuracy(trained.features) if len(self.whole.held_out_classes) else None
        count = int(np.count_nonzero(trained.features))
        self.points.append(Point(count, score.accuracy, float(score.by_fold.std()), test))


class PooledElimination(Elimination):
    """Before the class of a federated strategy: its steps with LIBSVM."""

    subsets: PooledSubsets  # type: ignore[assignment]

    def class_moments(self, federation: object) -> ClassMoments:  # noqa: ARG002
        """Return the sums over all training rows by class, in scaled units."""
        return self.subsets.classes

    def criteria_scores(
        self,
        federation: object,  # noqa: ARG002
        trained: Trained,
        classes: ClassMoments,
    ) -> dict[str, Floats]:
        """Return the three criteria of section 5.2.2 for all features, 0 for those that are gone."""
        weights, support, whole = [], [], self.subsets.whole
        for svc in whole.fit(trained.features):
            rows, positive = whole.X[svc.support_], svc.dual_coef_[0] > 0
            weights.append(svc.dual_coef_[0] @ rows)
            support.append(moments_of(rows, [positive, ~positive]))
        sides = [classes.sides(pair) for pair in self.subsets.pairs]
        scores = criteria_of(np.stack(weights), sides, support)
        return {name: np.where(trained.features, values, 0.0) for name, values in scores.items()}


@experiment("libsvm", "")
def curve(strategy: str, settings: Settings) -> dict[str, Any]:  # noqa: ARG001
    """Return the curve of a selection, ready for JSON."""
    assert isinstance(settings, SelectionSettings)
    selection = select(settings)
    points = [asdict(point) for point in selection.points]
    by_folds = {} if settings.test_fraction else tested_by_folds(settings.folds)
    return {"accuracy_by_count": points, "selected": len(selection.selected), **by_folds}


def select(settings: SelectionSettings) -> Selection:
    """Run the selection that ``settings.strategy`` names, with LIBSVM on the pooled rows; C and gamma are given."""
    bases: tuple[Any, ...] = (PooledElimination, STRATEGIES[settings.strategy])
    strategy: PooledElimination = type("PooledSelection", bases, {})(settings)
    strategy.subsets = PooledSubsets(settings)
    strategy.record = PooledLog(strategy.subsets)
    strategy.eliminate(None)  # type: ignore[arg-type]
    return strategy.record.outcome(settings.features)


def moments_of(X: Floats, groups: Sequence[Bools]) -> ClassMoments:
    """Return the sums of each group's rows; NaN is a missing cell."""
    sums = [moments(X[rows]) for rows in groups]
    return ClassMoments(*(np.stack([group[key] for group in sums]) for key in ("count", "total", "square")))
