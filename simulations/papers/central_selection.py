"""The feature selections of Lu 2016, chapters 5 and 6, with LIBSVM on pooled rows: the paper's other classifier.

The rows, the test rows, the folds and the scaling are those of the federated run with the same settings; there are
no sites and no landmarks. The SVM is scikit-learn's SVC, which is LIBSVM, with an RBF kernel; several classes are one
versus the rest.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from flower_pansvm.class_pairs import one_versus_all
from flower_pansvm.counts import winners
from flower_pansvm.multiclass import Pair, signs
from flower_pansvm.scaling import moments
from simulations.data.pooling import PooledRows, pooled
from strategies.selection.criteria import CRITERIA, rsvm, svm_rfe, svm_t
from strategies.selection.elimination import SelectionSettings
from strategies.selection.filter_wrapper import CANDIDATES, FilterWrapperSettings
from strategies.selection.filters import ClassMoments, by_classes
from strategies.selection.outcome import Point, Selection, Step, choose
from strategies.selection.thresholds import filter_order, screen
from strategies.selection.voting import best_spared, least_important, rank_sums, settle, vote
from strategies.steps.feature_maps import scale_gamma
from strategies.steps.scaling import scaling_of_rows

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class PooledSplit:
    """Training rows and the rows that models of them are tried on, both scaled by the training rows alone.

    Parameters
    ----------
    settings : SelectionSettings
        Scaling, C and gamma.
    pairs : tuple of Pair
        The binary problems.
    train, held_out : PooledRows
        The rows.
    """

    def __init__(
        self, settings: SelectionSettings, pairs: tuple[Pair, ...], train: PooledRows, held_out: PooledRows
    ) -> None:
        self.settings, self.pairs = settings, pairs
        scaling = scaling_of_rows(settings.scaling, train.X)
        self.X, self.classes = scaling.transform(train.X), train.classes
        self.X_held_out, self.held_out_classes = scaling.transform(held_out.X), held_out.classes

    def fit(self, kept: Mask) -> list[SVC]:
        """Return the SVM of every binary problem on the kept features."""
        X = self.X[:, kept]
        (C,) = self.settings.C_values
        (gamma,) = self.settings.gamma_values(scale_gamma(X.shape[1], float(X.var())))
        return [SVC(C=C, gamma=gamma).fit(X, signs(self.classes, pair)) for pair in self.pairs]

    def accuracy(self, kept: Mask) -> float:
        """Return the share of the rows held out that models on the kept features predict right."""
        X = self.X_held_out[:, kept]
        decisions = np.stack([svc.decision_function(X) for svc in self.fit(kept)], axis=1)
        return float(np.mean(winners(decisions) == self.held_out_classes))

    def scores(self, kept: Mask, classes: ClassMoments) -> dict[str, Floats]:
        """Return the three criteria of section 5.2.2 for all features; only those of the kept ones have a meaning."""
        weights, support = [], []
        for svc in self.fit(kept):
            rows, positive = self.X[svc.support_], svc.dual_coef_[0] > 0
            weights.append(svc.dual_coef_[0] @ rows)
            support.append(_moments(rows, [positive, ~positive]))
        sides = [classes.sides(pair) for pair in self.pairs]
        w = np.stack(weights)
        return {"svm-rfe": svm_rfe(w), "rsvm": rsvm(w, sides), "svm-t": svm_t(support)}


class Pool:
    """What a selection sees: the training rows, with the test rows held out or with a fold of themselves."""

    def __init__(self, settings: SelectionSettings) -> None:
        pool = pooled(settings)
        train, schema = pool.train, pool.schema
        pairs = one_versus_all(len(schema.classes))
        self.pairs, self.columns = pairs, schema.columns
        self.whole = PooledSplit(settings, pairs, train, pool.test)
        self.folds = [
            PooledSplit(settings, pairs, train.of(train.folds != fold), train.of(train.folds == fold))
            for fold in range(settings.cv_folds)
        ]
        present = np.where(np.isnan(train.X), np.nan, self.whole.X)
        self.classes = _moments(present, [train.classes == number for number in range(len(schema.classes))])

    def by_fold(self, kept: Mask) -> Floats:
        """Return the accuracy of models on the kept features in every fold, shape (folds,)."""
        return np.array([fold.accuracy(kept) for fold in self.folds])

    def point(self, kept: Mask) -> Point:
        """Return how good the kept features are."""
        by_fold = self.by_fold(kept)
        test = self.whole.accuracy(kept) if len(self.whole.held_out_classes) else None
        return Point(int(kept.sum()), float(by_fold.mean()), float(by_fold.std()), test)


def select(settings: SelectionSettings) -> Selection:
    """Run the selection that ``settings.strategy`` names, with LIBSVM on the pooled rows.

    Parameters
    ----------
    settings : SelectionSettings
        As of the federated run; C and gamma are given, not ``auto``.
    """
    pool = Pool(settings)
    scores = by_classes(pool.classes, pool.pairs)
    order, screening = filter_order(scores), None
    everything = np.ones(len(pool.columns), dtype=np.bool_)
    kept, points = everything, [pool.point(everything)]
    criteria = CRITERIA if settings.strategy == "voted-wrapper" else (settings.strategy,)
    if isinstance(settings, FilterWrapperSettings):
        screening = screen(scores, settings.filters)
        kept = np.isin(np.arange(len(pool.columns)), screening.kept)
        points += [] if kept.all() else [pool.point(kept)]
    remaining, steps = kept, list[Step]()
    while (left := int(remaining.sum())) > 1:
        if isinstance(settings, FilterWrapperSettings):
            step = by_accuracy(pool, remaining, settings.step.size(left), order, CANDIDATES)
        else:
            step = by_votes(pool, remaining, settings.step.size(left), criteria)
        remaining = _without(remaining, step.removed)
        steps.append(step)
        points.append(pool.point(remaining))
    removed = [feature for step in steps for feature in step.removed]
    filtered_out = least_important(order, ~kept, len(order))[::-1]
    ranking = _indices([*np.flatnonzero(remaining).tolist(), *reversed(removed), *filtered_out])
    chosen = points[choose(points, settings.features)]
    return Selection(ranking, tuple(points), tuple(steps), ranking[: chosen.features], screening)


def by_votes(pool: Pool, remaining: Mask, size: int, criteria: Sequence[str]) -> Step:
    """Remove what two criteria agree on; if no two do, the proposal without which the folds do best (PPFSVW)."""
    scores = pool.whole.scores(remaining, pool.classes)
    proposals = {name: _indices(least_important(scores[name], remaining, size)) for name in criteria}
    removed = _indices(vote([np.array(own) for own in proposals.values()]))[:size]
    accuracies = {}
    if not removed:
        accuracies = {
            name: float(pool.by_fold(_without(remaining, own)).mean()) for name, own in proposals.items()
        }
        ranks = rank_sums([scores[name] for name in criteria], remaining)
        removed = proposals[settle(proposals, accuracies, ranks)]
    return Step(int(remaining.sum()), proposals, accuracies, removed, 0, 0)


def by_accuracy(pool: Pool, remaining: Mask, size: int, order: Floats, candidates: int) -> Step:
    """Remove the features without which, each by itself, the folds do best (PPFSIFW, step 3).

    Those that the filters like least are tried, and at most half of these go, as in the federated strategy.
    """
    tried = [int(one) for one in least_important(order, remaining, candidates)]
    accuracies = {one: float(pool.by_fold(_without(remaining, [one])).mean()) for one in tried}
    return Step(
        int(remaining.sum()),
        {pool.columns[one]: (one,) for one in tried},
        {pool.columns[one]: accuracy for one, accuracy in accuracies.items()},
        tuple(best_spared(accuracies, size)),
        0,
        0,
    )


def _without(mask: Mask, features: Sequence[int]) -> Mask:
    left = mask.copy()
    left[list(features)] = False
    return left


def _indices(features: Sequence[int] | NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(feature) for feature in features)


def _moments(X: Floats, groups: Sequence[Mask]) -> ClassMoments:
    """Return the sums of each group's rows; NaN is a missing cell."""
    sums = [moments(X[rows]) for rows in groups]
    return ClassMoments(*(np.stack([own[part] for own in sums]) for part in ("count", "total", "square")))
