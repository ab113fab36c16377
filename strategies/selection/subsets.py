"""Models on subsets of the features, many at a time, from landmarks that were gathered once.

A subset needs no new landmarks: columns of the existing ones are dropped, and only a mask and U Lambda^(-1/2) travel.
For each fold there are landmarks and a scaling that have not seen it, so that its rows are new to the models that are
tried on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    fit_feature_map,
    fit_map,
    gather_landmarks,
    pairs_of,
    score_held_out,
    tell_feature_map,
    tell_landmarks,
    tell_scalings,
    warm_start,
)

MOST_ROUNDS = 50
"""Round trips after which a model that is only compared is compared as it is."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Trained:
    """Models on one subset of the features: one on all training rows, and one without each fold."""

    features: Mask  # (all features,): mask of the subset
    maps: dict[int, NystromMap] = field(default_factory=dict)  # feature map by fold, `NO_FOLD` for all rows
    numbers: dict[int, int] = field(default_factory=dict)  # under which number the sites know it, by fold
    states: dict[int, list[Progress]] = field(default_factory=dict)  # one of each binary problem, by fold


class Wanted(NamedTuple):
    """Models that are wanted."""

    into: Trained  # the subset; the models are added to it
    folds: Sequence[int]  # for which folds, `NO_FOLD` for all rows
    near: Trained | None  # similar models to start from; without them the sites' own models are


class Score(NamedTuple):
    """How good the models of a subset are: accuracy on each fold, and on the test rows or None."""

    by_fold: NDArray[np.float64]
    test: float | None

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the folds, the same to the last digit for the same numbers of rows."""
        return round(float(self.by_fold.mean()), 12)


class Subsets:
    """Trains and tries models on subsets of the features.

    Parameters
    ----------
    federation : Federation
        The sites, which have been told the schema.
    settings : PanSvmSettings
        Kernel, C and landmarks; C and gamma are not to be chosen any more.
    schema : Schema
        Columns and classes.
    moments : Moments
        Of every fold.

    Attributes
    ----------
    scaled_sets, landmarks : dict of int to ScaledFeatures, of int to ndarray
        Scaling and landmarks by the fold they have not seen, `NO_FOLD` for all rows.
    """

    def __init__(
        self, federation: Federation, settings: PanSvmSettings, schema: Schema, moments: Moments
    ) -> None:
        self.federation, self.settings, self.moments = federation, settings, moments
        self.schema, self.pairs = schema, pairs_of(settings, schema)
        self.folds = [NO_FOLD, *moments.folds]
        self.scaled_sets = {fold: moments.scaled(fold) for fold in self.folds}
        tell_scalings(federation, [scaled.scaling for scaled in self.scaled_sets.values()])
        gathered = gather_landmarks(federation, settings, list(self.scaled_sets.values()))
        self.landmarks = dict(zip(self.folds, gathered, strict=True))
        for number, fold in enumerate(self.folds):
            tell_landmarks(federation, number, self.landmarks[fold], scaling=number)

    def train(self, wanted: Sequence[Wanted], keep: Iterable[Trained] = ()) -> None:
        """Train all models that are wanted, together.

        Parameters
        ----------
        wanted : sequence of Wanted
            The models.
        keep : iterable of Trained
            Whose feature maps the sites still need; the numbers of others are given away again.
        """
        jobs = [(one, fold) for one in wanted for fold in one.folds]
        if not jobs:
            return
        taken = {number for trained in keep for number in trained.numbers.values()}
        free = (number for number in count() if number not in taken)
        problems: list[Problem] = []
        for (into, _, _), fold in jobs:
            into.maps[fold] = self._fit(into.features, fold)
            into.numbers[fold] = next(free)
            tell_feature_map(
                self.federation,
                into.numbers[fold],
                into.maps[fold],
                self.folds.index(fold),
                into.features,
            )
            problems += binary_problems(
                self.settings,
                self.schema,
                self.pairs,
                into.maps[fold].rank,
                self.moments.rows,
                feature_map=into.numbers[fold],
                fold=fold,
                which=f"{np.count_nonzero(into.features)} features, fold {fold}, ",
            )
        starts = self._starts(jobs, problems)
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
        for i, ((into, _, _), fold) in enumerate(jobs):
            into.states[fold] = solved[i * len(self.pairs) : (i + 1) * len(self.pairs)]

    def score(self, subsets: Sequence[Trained]) -> list[Score]:
        """Try the models of subsets on the rows they have not been trained on, in one round trip."""
        models = [states for one in subsets for states in one.states.values()]
        right, rows = score_held_out(self.federation, models, self.pairs)
        scores, first = [], 0
        for one in subsets:
            own = dict(zip(one.states, range(first, first + len(one.states)), strict=True))
            first += len(own)
            whole = own.get(NO_FOLD)
            test = None if whole is None or rows[whole] == 0 else float(right[whole])
            scores.append(Score(right[[own[fold] for fold in self.moments.folds]], test))
        return scores

    def _fit(self, features: Mask, fold: int) -> NystromMap:
        landmarks = self.landmarks[fold]
        try:
            return fit_feature_map(self.settings, self.scaled_sets[fold], landmarks, features)
        except TrainingError:
            # With a linear kernel, features that are the same in all landmarks of a fold have no map. That is no reason
            # to end a selection: nearly all rows are predicted alike then, as these features deserve.
            return fit_map(Kernel("rbf"), landmarks[:, features])

    def _starts(
        self, jobs: Sequence[tuple[Wanted, int]], problems: Sequence[Problem]
    ) -> list[NDArray[np.float64]]:
        """Return the points to begin with: the solutions of similar models, else the sites' own models."""
        if all(one.near is None for one, _ in jobs):
            return warm_start(self.federation, self.settings, problems)
        starts: list[NDArray[np.float64]] = []
        for (into, _, near), fold in jobs:
            for i in range(len(self.pairs)):
                if near is None or fold not in near.states:
                    starts.append(np.empty((0, into.maps[fold].rank + 1)))
                else:
                    best = near.states[fold][i].best
                    starts.append(carry_over(best, near.maps[fold], into.maps[fold]))
        return starts


def without(features: Mask, removed: Iterable[int]) -> Mask:
    """Return a mask of the features without some of them."""
    left = features.copy()
    left[list(removed)] = False
    return left


PENALTIES = (1e-2, 1e-4, 1e-6)
"""Penalties of fits to decisions at the landmarks, in shares of the largest eigenvalue."""


def carry_over(weights: NDArray[np.float64], old: NystromMap, new: NystromMap) -> NDArray[np.float64]:
    """Return weights by which a new map decides about as ``weights`` do by an old one.

    Both maps are of the same landmarks, but look at other features of them. The weights are a least-squares fit to
    the old decisions at the landmarks, with several penalties, since the directions of small eigenvalues differ
    most from map to map.

    Parameters
    ----------
    weights : ndarray of shape (old rank + 1,)
        Weights and, last, bias.
    old, new : NystromMap
        The map they belong to, and the one that weights are wanted for.

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
