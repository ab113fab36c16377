"""Models on subsets of the features, many at a time, from landmarks that are gathered once.

A subset needs no new landmarks: columns of the existing ones are dropped, and only a mask and U Lambda^(-1/2) travel.
Each fold has landmarks and a scaling that do not depend on its rows, which are held out of the models evaluated on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from flower_pansvm.systems.pan_svm.cuts import Problem
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.api import (
    CuttingPlanes,
    Federation,
    Moments,
    PanSvmSettings,
    Progress,
    binary_problems,
    broadcast_feature_map,
    broadcast_landmarks,
    broadcast_scalings,
    fit_feature_map,
    fit_map,
    gather_landmarks,
    pairs_of,
    score_held_out,
    warm_start,
)

MOST_ROUNDS = 50
"""Most round trips of models that are only compared."""

Mask = Bools


@dataclass(frozen=True)
class Trained:
    """Models on one subset of the features: one on all training rows, and one without each fold."""

    features: Mask  # (all features,): mask of the subset
    maps: dict[int, NystromMap] = field(default_factory=dict)  # feature map by fold, `NO_FOLD` for all rows
    numbers: dict[int, int] = field(default_factory=dict)  # the feature map's number at the sites, by fold
    states: dict[int, list[Progress]] = field(default_factory=dict)  # one of each binary problem, by fold


class TrainingJob(NamedTuple):
    """Models to train."""

    subset: Trained  # gets the models
    folds: Sequence[int]  # held-out fold of each model, `NO_FOLD` for all rows
    similar: Trained | None  # similar models to start from; None to start from the sites' local models


class Score(NamedTuple):
    """Accuracy of a subset's models on each fold, and on the test rows (None without them)."""

    by_fold: Floats
    test: float | None

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the folds, rounded so that equal counts of rows give equal numbers."""
        return round(float(self.by_fold.mean()), 12)


class Subsets:
    """Trains and evaluates models on subsets of the features.

    Parameters
    ----------
    federation : Federation
        The sites, which have received the schema.
    settings : PanSvmSettings
        Kernel, landmarks, and the chosen C and gamma.

    Attributes
    ----------
    scaled_sets, landmarks : dict of int to ScaledFeatures, of int to ndarray
        Scaling and landmarks by held-out fold, `NO_FOLD` for all rows.
    """

    def __init__(
        self, federation: Federation, settings: PanSvmSettings, schema: Schema, moments: Moments
    ) -> None:
        self.federation, self.settings, self.moments = federation, settings, moments
        self.schema, self.pairs = schema, pairs_of(settings, schema)
        self.folds = [NO_FOLD, *moments.folds]
        self.scaled_sets = {fold: moments.scaled(fold) for fold in self.folds}
        broadcast_scalings(federation, [scaled.scaling for scaled in self.scaled_sets.values()])
        gathered = gather_landmarks(federation, settings, list(self.scaled_sets.values()))
        self.landmarks = dict(zip(self.folds, gathered, strict=True))
        for i, fold in enumerate(self.folds):
            broadcast_landmarks(federation, i, self.landmarks[fold], scaling=i)

    def train(self, jobs: Sequence[TrainingJob], keep: Iterable[Trained] = ()) -> None:
        """Train the models of all jobs together.

        Parameters
        ----------
        keep : iterable of Trained
            Subsets whose feature maps the sites still need; the numbers of others are used again.
        """
        models = [(job, fold) for job in jobs for fold in job.folds]
        if not models:
            return
        taken = {index for trained in keep for index in trained.numbers.values()}
        free = (index for index in count() if index not in taken)
        problems: list[Problem] = []
        for (subset, _, _), fold in models:
            features, index, feature_map = subset.features, next(free), self._fit(subset.features, fold)
            subset.maps[fold], subset.numbers[fold] = feature_map, index
            broadcast_feature_map(self.federation, index, feature_map, self.folds.index(fold), features)
            problems += binary_problems(
                self.settings,
                self.schema,
                self.pairs,
                feature_map.rank,
                self.moments.rows,
                feature_map=index,
                fold=fold,
                which=f"{np.count_nonzero(features)} features, fold {fold}, ",
            )
        starts = self._starts(models, problems)
        training = CuttingPlanes(
            self.federation,
            self.settings,
            problems,
            self.moments.rows,
            self.moments.sites,
            most_rounds=MOST_ROUNDS,
            compared=True,
        )
        solved = training.train(starts)
        for i, ((subset, _, _), fold) in enumerate(models):
            subset.states[fold] = solved[i * len(self.pairs) : (i + 1) * len(self.pairs)]

    def score(self, subsets: Sequence[Trained]) -> list[Score]:
        """Evaluate the models of subsets on their held-out rows, in one round trip."""
        models = [states for subset in subsets for states in subset.states.values()]
        accuracies, rows = score_held_out(self.federation, models, self.pairs)
        scores, start = [], 0
        for subset in subsets:
            index = {fold: start + i for i, fold in enumerate(subset.states)}
            start += len(index)
            final = index.get(NO_FOLD)
            test = None if final is None or rows[final] == 0 else float(accuracies[final])
            scores.append(Score(accuracies[[index[fold] for fold in self.moments.folds]], test))
        return scores

    def _fit(self, features: Mask, fold: int) -> NystromMap:
        landmarks = self.landmarks[fold]
        try:
            return fit_feature_map(self.settings, self.scaled_sets[fold], landmarks, features)
        except TrainingError:
            # With a linear kernel, features that are the same in all landmarks of a fold have no map. The selection
            # goes on: an RBF map predicts nearly all rows alike, as these features deserve.
            return fit_map(Kernel("rbf"), landmarks[:, features])

    def _starts(self, models: Sequence[tuple[TrainingJob, int]], problems: Sequence[Problem]) -> list[Floats]:
        """Return the starting points: the solutions of similar models, otherwise the sites' local models."""
        if all(job.similar is None for job, _ in models):
            return warm_start(self.federation, self.settings, problems)
        starts: list[Floats] = []
        for (subset, _, similar), fold in models:
            feature_map = subset.maps[fold]
            if similar is None or fold not in similar.states:
                starts += [np.empty((0, feature_map.rank + 1))] * len(self.pairs)
            else:
                old = similar.maps[fold]
                starts += [carry_over(state.best, old, feature_map) for state in similar.states[fold]]
        return starts


def without(features: Mask, removed: Iterable[int]) -> Mask:
    """Return a mask of the features without some of them."""
    mask = features.copy()
    mask[list(removed)] = False
    return mask


PENALTIES = (1e-2, 1e-4, 1e-6)
"""Penalties of fits to decisions at the landmarks, in shares of the largest eigenvalue."""


def carry_over(weights: Floats, old: NystromMap, new: NystromMap) -> Floats:
    """Return weights on a new map whose decisions are close to those of ``weights`` on an old map.

    Both maps have the same landmarks, but other features. The weights are a least-squares fit to the old decisions at
    the landmarks, with several penalties, since the directions of small eigenvalues differ most between maps.

    Parameters
    ----------
    weights : ndarray of shape (old rank + 1,)
        Weights and, last, bias.
    old, new : NystromMap
        The map of the weights, and the map of the result.

    Returns
    -------
    ndarray of shape (3, rank + 1)
        Weights and bias by each penalty.
    """
    decisions = old.transform(old.landmarks) @ weights[:-1]
    F = new.transform(new.landmarks)
    eigenvalues = np.square(F).sum(axis=0)
    penalties = np.array(PENALTIES)[:, None] * eigenvalues.max()
    fitted = (F.T @ decisions) / (eigenvalues + penalties)
    return np.hstack([fitted, np.full((len(PENALTIES), 1), weights[-1])])
