"""Federated choice of C and gamma: cross-validation over a grid in batched messages.

The sites partition their training rows into folds. For each fold, scaling and landmarks come from the other folds only,
so that its rows are held out of everything that is evaluated on them. Only sums leave a site: moments by fold, centres,
cutting planes, and counts of rows predicted right.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError, TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import Pair
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from strategies.api import (
    CuttingPlanes,
    Federation,
    Moments,
    PanSvmSettings,
    Progress,
    ScaledFeatures,
    binary_problems,
    broadcast_feature_map,
    broadcast_landmarks,
    broadcast_scalings,
    fit_map,
    gather_landmarks,
    logger,
    pairs_of,
    scale_gamma,
    score_held_out,
    warm_start,
)

ROUGH, MOST_ROUNDS = 1e-2, 12
"""Gap and most round trips of models that are only compared."""


@dataclass(frozen=True)
class GridPoint:
    """One setting and its accuracy."""

    C: float
    gamma: float
    # Mean over the folds of the share of rows predicted right, each with its class's weight; None if it failed.
    accuracy: float | None
    deviation: float | None  # standard deviation of that share over the folds; None if it failed
    # Largest relative gap of a fold's training. A setting that trains slowly, mostly one with a large C, is compared
    # with the gap that it reaches.
    gap: float | None
    failure: str = ""  # error; empty without one


@dataclass(frozen=True)
class Choice:
    """The outcome of a search over a grid."""

    points: tuple[GridPoint, ...]  # all settings, at least one
    cut_rounds: int  # round trips of cutting planes

    @property
    def ranked(self) -> list[GridPoint]:
        """The most accurate point first, of equal ones the smallest C, then the smallest gamma: the simplest model.

        Points that failed are last.
        """
        return sorted(
            self.points,
            key=lambda point: (bool(point.failure), -(point.accuracy or 0.0), point.C, point.gamma),
        )

    @property
    def best(self) -> GridPoint:
        """The first of the ranked points.

        Raises
        ------
        TrainingError
            If all points failed.
        """
        best = self.ranked[0]
        if best.failure:
            raise TrainingError(
                f"Every point of the grid failed; the first, C={best.C:g} gamma={best.gamma:g}: {best.failure}"
            )
        return best

    def figures(self, kernel: str) -> dict[str, Any]:
        """Return all points for JSON, the best first; a failed one has the reason instead of an accuracy."""
        grid = [asdict(point) | ({"gamma": None} if kernel == "linear" else {}) for point in self.ranked]
        return {"C": grid[0]["C"], "gamma": grid[0]["gamma"], "cut_rounds": self.cut_rounds, "grid": grid}


def choose(federation: Federation, settings: PanSvmSettings, schema: Schema, moments: Moments) -> Choice:
    """Evaluate every C and gamma of the grid on every fold.

    Parameters
    ----------
    federation : Federation
        The sites, which have received the schema.

    Returns
    -------
    Choice
        With all points; a failed one has the reason.
    """
    scaled_sets = [moments.scaled(fold) for fold in moments.folds]
    broadcast_scalings(federation, [scaled.scaling for scaled in scaled_sets])
    landmarks = gather_landmarks(federation, settings, scaled_sets)
    gammas = settings.gamma_values(scale_gamma(landmarks[0].shape[1], moments.scaled().variance()))
    maps, failures = _feature_maps(federation, settings, landmarks, scaled_sets, gammas)
    usable = [point for point in product(settings.C_values, gammas) if point[1] not in failures]
    logger.info("evaluating %d settings on %d folds", len(usable), len(scaled_sets))
    pairs = pairs_of(settings, schema)
    solved = _train(federation, settings, schema, moments, maps, usable, pairs) if usable else []
    models = [solved[start : start + len(pairs)] for start in range(0, len(solved), len(pairs))]
    # A rare class that weighs more in training weighs more in the choice.
    weight = settings.class_weight
    accuracies = score_held_out(federation, models, pairs, weight)[0] if models else np.empty(0)
    by_point = {
        point: slice(i * len(scaled_sets), (i + 1) * len(scaled_sets)) for i, point in enumerate(usable)
    }
    points = []
    for C, gamma in product(settings.C_values, gammas):
        folds = by_point.get((C, gamma), slice(0))
        states = [state for model in models[folds] for state in model]
        failure = failures.get(gamma) or next((state.failure for state in states if state.failure), "")
        if failure:
            logger.warning("C=%g gamma=%g failed and is left out: %s", C, gamma, failure)
            points.append(GridPoint(C, gamma, None, None, None, failure))
            continue
        by_fold, gap = accuracies[folds], max(state.gap for state in states)
        points.append(GridPoint(C, gamma, float(by_fold.mean()), float(by_fold.std()), gap))
    return Choice(tuple(points), max((state.rounds for state in solved), default=0))


def _train(
    federation: Federation,
    settings: PanSvmSettings,
    schema: Schema,
    moments: Moments,
    maps: dict[tuple[float, int], NystromMap],
    usable: Sequence[tuple[float, float]],
    pairs: Sequence[Pair],
) -> list[Progress]:
    """Train a model of each usable C and gamma without each fold, all together; ordered by setting, fold, pair."""
    numbers = {key: index for index, key in enumerate(maps)}
    problems = [
        problem
        for C, gamma in usable
        for fold in moments.folds
        for problem in binary_problems(
            replace(settings, C=C),
            schema,
            pairs,
            maps[gamma, fold].rank,
            moments.rows,
            feature_map=numbers[gamma, fold],
            fold=fold,
            which=f"C={C:g} gamma={gamma:.3g} fold {fold}, ",
        )
    ]
    compared = replace(settings, tol=max(settings.tol, ROUGH))
    training = CuttingPlanes(federation, compared, problems, moments.rows, moments.sites, MOST_ROUNDS)
    return training.train(warm_start(federation, settings, problems))


def _feature_maps(
    federation: Federation,
    settings: PanSvmSettings,
    landmarks: Sequence[Floats],
    scaled_sets: Sequence[ScaledFeatures],
    gammas: Sequence[float],
) -> tuple[dict[tuple[float, int], NystromMap], dict[float, str]]:
    """Broadcast the feature map of every gamma and fold.

    Returns
    -------
    maps : dict of (float, int) to NystromMap
        By gamma and fold, in the order of their numbers.
    failures : dict of float to str
        Error of each gamma that failed.
    """
    maps: dict[tuple[float, int], NystromMap] = {}
    failures: dict[float, str] = {}
    for gamma in gammas:
        try:
            kernel = Kernel(settings.kernel, gamma)  # type: ignore[arg-type]
            for fold in range(len(scaled_sets)):
                maps[gamma, fold] = fit_map(kernel, landmarks[fold])
        except (TrainingError, SettingError) as error:
            failures[gamma] = str(error)
    maps = {key: feature_map for key, feature_map in maps.items() if key[0] not in failures}
    for fold in range(len(scaled_sets)):
        broadcast_landmarks(federation, fold, landmarks[fold], scaling=fold)
    for index, ((_, fold), feature_map) in enumerate(maps.items()):
        broadcast_feature_map(federation, index, feature_map, landmark_set=fold)
    return maps, failures
