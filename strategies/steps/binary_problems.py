"""From feature maps to trained binary problems: the steps that training and model choice share."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.class_pairs import one_versus_all, one_versus_one
from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from flower_pansvm.systems.pan_svm.cuts import LARGEST_WEIGHT, Problem
from flower_pansvm.systems.pan_svm.tasks import (
    FEATURE_MAP,
    LANDMARK_SET,
    WARM_START,
    FeatureMapBroadcast,
    LandmarkBroadcast,
)
from strategies.federation.federation import Federation
from strategies.steps.cutting_planes import side_rows, weighted_rows
from strategies.steps.fitted_map import fit_map
from strategies.steps.packing import pack_problems
from strategies.steps.scaling import ScaledFeatures
from strategies.svm_settings import NystroemSettings, PanSvmSettings


def scale_gamma(features: int, variance: float) -> float:
    """Return scikit-learn's ``gamma='scale'``: 1 / (features * variance of all cells).

    Parameters
    ----------
    features : int
        Number of columns.
    variance : float
        Variance over all cells of the scaled table; 0 for a constant table.
    """
    return 1.0 / (features * variance) if variance > 0 else 1.0


def kernel_of(settings: NystroemSettings, gamma: float) -> Kernel:
    """Return the kernel of the settings."""
    return Kernel(settings.kernel, gamma)  # type: ignore[arg-type]


def fit_feature_map(
    settings: NystroemSettings,
    scaled: ScaledFeatures,
    landmarks: NDArray[np.float64],
    features: NDArray[np.bool_],
) -> NystromMap:
    """Return the feature map of some features of the landmarks; ``gamma=scale`` is that of these features.

    Parameters
    ----------
    settings : NystroemSettings
        Kernel and its parameters; C and gamma are not to be chosen any more.
    scaled : ScaledFeatures
        The scaling that the landmarks are in, and what it tells of the rows.
    landmarks : ndarray of shape (landmarks, all features)
        The landmarks.
    features : ndarray of shape (all features,)
        Mask of the features.
    """
    count = int(np.count_nonzero(features))
    (gamma,) = settings.gamma_values(scale_gamma(count, scaled.variance(features)))
    return fit_map(kernel_of(settings, gamma), landmarks[:, features])


def tell_landmarks(federation: Federation, number: int, landmarks: NDArray[np.float64], scaling: int) -> None:
    """Tell the sites a set of landmarks, and by which of the scalings rows are scaled for it."""
    federation.broadcast(LANDMARK_SET.numbered(number), LandmarkBroadcast(scaling, landmarks))


def tell_feature_map(
    federation: Federation,
    number: int,
    feature_map: NystromMap,
    landmark_set: int,
    features: NDArray[np.bool_] | None = None,
) -> None:
    """Tell the sites a feature map: one of the sets of landmarks they have, and which features of it are looked at.

    Parameters
    ----------
    federation : Federation
        The sites.
    number : int
        Number of the feature map.
    feature_map : NystromMap
        The map.
    landmark_set : int
        Number of the landmarks it was made of.
    features : ndarray of shape (all features,), optional
        Mask of the features; all by default.
    """
    kernel = feature_map.kernel
    if features is None:
        features = np.ones(feature_map.landmarks.shape[1], dtype=np.bool_)
    federation.broadcast(
        FEATURE_MAP.numbered(number),
        FeatureMapBroadcast(
            landmark_set=landmark_set,
            features=features,
            kernel=kernel.name,
            gamma=kernel.gamma,
            normalization=feature_map.normalization.astype(np.float32),
        ),
    )


def pairs_of(settings: PanSvmSettings, schema: Schema) -> tuple[Pair, ...]:
    """Return the binary problems of a model: one for two classes, else one versus all or one versus one (chapter 4)."""
    classes = len(schema.classes)
    if settings.multi_class == "ovo" and classes > 2:
        return one_versus_one(classes)
    return one_versus_all(classes)


def name_of(pair: Pair, schema: Schema) -> str:
    """Return what a log line calls a binary problem."""
    positive = schema.classes[pair.positive]
    return (
        f"class {positive}"
        if pair.negative == REST
        else f"class {positive} against {schema.classes[pair.negative]}"
    )


def with_rows(problem: Problem, settings: NystroemSettings, rows: NDArray[np.float64]) -> Problem:
    """Return a problem with the weights of its classes and its number of rows.

    Weights of one's own are told so that the smallest is 1, and C is as much larger.

    Parameters
    ----------
    problem : Problem
        The problem.
    settings : NystroemSettings
        Its ``class_weight``: balanced weights are those of scikit-learn, within each binary problem.
    rows : ndarray of shape (folds, classes)
        Training rows.

    Raises
    ------
    SettingError
        If one side has so few rows that the sites would refuse their weight, or the weights are not one for each class.
    """
    sides = side_rows(problem, rows)
    if isinstance(settings.class_weight, tuple):
        least, weights = _weights(problem, settings.class_weight, rows.shape[1])
        problem = replace(problem, C=least * problem.C, weights=weights)
    elif settings.class_weight == "balanced" and min(sides) > 0:
        weights = sum(sides) / (2 * sides[0]), sum(sides) / (2 * sides[1])
        if max(weights) > LARGEST_WEIGHT:
            raise SettingError(
                f"class-weight=balanced would weigh a row of the rarer side of '{problem.name}' {max(weights):.0f} "
                f"times, and sites accept at most {LARGEST_WEIGHT:g}. Choose class-weight=none, or merge rare classes "
                "with the setting 'positive'."
            )
        problem = replace(problem, weights=weights)
    return replace(problem, rows=weighted_rows(problem, rows))


def _weights(problem: Problem, given: tuple[float, ...], classes: int) -> tuple[float, tuple[float, float]]:
    """Return the smallest weight of a problem's two sides, and both in shares of it."""
    if len(given) != classes:
        raise SettingError(
            f"class-weight has {len(given)} weights, and there are {classes} classes. Give one for each."
        )
    pair, own = problem.pair, given[problem.pair.positive]
    others = {weight for number, weight in enumerate(given) if number != pair.positive}
    if pair.negative != REST:
        others = {given[pair.negative]}
    if len(others) > 1:
        raise SettingError(
            "class-weight gives the other classes of '"
            + problem.name
            + "' different weights, and a problem has one "
            "for all of them. Add multi-class=ovo, in which each problem has two classes."
        )
    (other,) = others
    least = min(own, other)
    if max(own, other) > LARGEST_WEIGHT * least:
        raise SettingError(
            f"class-weight: one class weighs more than {LARGEST_WEIGHT:g} times another, and sites accept no more."
        )
    return least, (own / least, other / least)


def warm_start(
    federation: Federation, settings: PanSvmSettings, problems: Sequence[Problem]
) -> list[NDArray[np.float64]]:
    """Return the mean of the sites' own linear SVMs, weighted by rows, as first point of each problem.

    Returns
    -------
    list of ndarray of shape (0 or 1, rank + 1)
        No point where no site has rows of both sides, or with ``search=published``.
    """
    if settings.search == "published":
        return [np.empty((0, problem.rank + 1)) for problem in problems]
    sums = federation.secure_sum(WARM_START, pack_problems(problems))
    pieces = np.split(sums.weights, np.cumsum([problem.rank + 1 for problem in problems])[:-1])
    return [
        (piece / count)[None, :] if count > 0 else np.empty((0, len(piece)))
        for piece, count in zip(pieces, sums.rows, strict=True)
    ]
