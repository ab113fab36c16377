"""The binary problems of a model: their weights, their rows, and their starting points."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.multiclass import REST, Pair, one_versus_all, one_versus_one
from flower_pansvm.schema import Schema
from flower_pansvm.systems.pan_svm.cuts import LARGEST_WEIGHT, Problem
from flower_pansvm.systems.pan_svm.tasks import WARM_START
from flower_pansvm.systems.scaling import NO_FOLD
from flower_pansvm.terms import replaced_share
from strategies.federation.federation import Federation
from strategies.master.packing import pack_problems
from strategies.svm_settings import NystroemSettings, PanSvmSettings


def pairs_of(settings: PanSvmSettings, schema: Schema) -> tuple[Pair, ...]:
    """Return the binary problems of a model: one for two classes, else one-vs-rest or one-vs-one (chapter 4)."""
    classes = len(schema.classes)
    if settings.multi_class == "ovo" and classes > 2:
        return one_versus_one(classes)
    return one_versus_all(classes)


def name_of(pair: Pair, schema: Schema) -> str:
    """Return the name of a binary problem in log lines."""
    name = f"class {schema.classes[pair.positive]}"
    return name if pair.negative == REST else f"{name} against {schema.classes[pair.negative]}"


def binary_problems(
    settings: NystroemSettings,
    schema: Schema,
    pairs: Sequence[Pair],
    rank: int,
    rows: Floats,
    *,
    feature_map: int = 0,
    fold: int = NO_FOLD,
    which: str = "",
) -> list[Problem]:
    """Return the binary problems of one model, with the weights of their classes.

    Parameters
    ----------
    settings : NystroemSettings
        The chosen C, and the classes' weights.
    pairs : sequence of Pair
        The two sides of each problem.
    rank : int
        Coordinates of a mapped row.
    rows : ndarray of shape (folds, classes)
        Training rows.
    fold : int
        Fold whose rows are left out.
    which : str
        Prefix of the model's problems in log lines, for several models.

    Raises
    ------
    SettingError
        As :func:`with_rows`.
    """
    (C,) = settings.C_values
    return [
        with_rows(
            Problem(f"{which}{name_of(pair, schema)}", rank, 0.0, C, pair, feature_map, fold), settings, rows
        )
        for pair in pairs
    ]


def with_rows(problem: Problem, settings: NystroemSettings, rows: Floats) -> Problem:
    """Return a problem with the weights of its classes and its number of rows.

    Given weights are divided by the smallest of the two, and C is multiplied by it.

    Parameters
    ----------
    settings : NystroemSettings
        Its ``class_weight``: balanced weights are those of scikit-learn, within each binary problem.
    rows : ndarray of shape (folds, classes)
        Training rows.

    Raises
    ------
    SettingError
        If the sites would refuse the weight of a side with few rows, or there is not one weight for each class.
    """
    sides = side_rows(problem, rows)
    if isinstance(settings.class_weight, tuple):
        smallest, weights = _weights(problem, settings.class_weight, rows.shape[1])
        problem = replace(problem, C=smallest * problem.C, weights=weights)
    elif settings.class_weight == "balanced" and min(sides) > 0:
        weights = sum(sides) / (2 * sides[0]), sum(sides) / (2 * sides[1])
        if max(weights) > LARGEST_WEIGHT:
            raise SettingError(
                f"class-weight=balanced would weigh a row of the rarer side of '{problem.name}' {max(weights):.0f} "
                f"times, and sites accept at most {LARGEST_WEIGHT:g}. Choose class-weight=none, or merge rare classes "
                "with the setting 'positive'."
            )
        problem = replace(problem, weights=weights)
    elif settings.level == "perturbed" and rows.shape[1] == 2:
        smallest, weights = _against_wrong_labels(replaced_share(settings.noise), sides)
        problem = replace(problem, C=2 * smallest * problem.C, weights=weights)
    return replace(problem, rows=weighted_rows(problem, rows))


def _against_wrong_labels(r: float, sides: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Return the smaller weight of the two sides that corrects replaced labels, and both weights in shares of it.

    With probability r a label is replaced by a random one, which takes more records from a rare class than it adds. Of
    records that belong to either class with equal probability, (1 - r) / 2 + r p have the label of a class with share p
    of all. A row gets that value of the other class as weight, so that the model separates the copy where it would
    separate the true records (Natarajan et al. 2013, Theorem 9). With several classes the largest decision wins, and
    such weights do not help (measured).
    """
    positive, negative = ((1 - r) / 2 + r * side / sum(sides) for side in sides)
    smallest = min(positive, negative)
    return smallest, (negative / smallest, positive / smallest)


def _weights(problem: Problem, given: tuple[float, ...], classes: int) -> tuple[float, tuple[float, float]]:
    """Return the smallest weight of a problem's two sides, and both in shares of it."""
    if len(given) != classes:
        raise SettingError(
            f"class-weight has {len(given)} weights, and there are {classes} classes. Give one for each."
        )
    pair, weight = problem.pair, given[problem.pair.positive]
    opposites = {w for index, w in enumerate(given) if index != pair.positive}
    if pair.negative != REST:
        opposites = {given[pair.negative]}
    if len(opposites) > 1:
        raise SettingError(
            f"class-weight gives the other classes of '{problem.name}' different weights, but a one-vs-rest problem "
            "has one weight for all of them. Add multi-class=ovo, in which each problem has two classes."
        )
    (opposite,) = opposites
    smallest = min(weight, opposite)
    if max(weight, opposite) > LARGEST_WEIGHT * smallest:
        raise SettingError(
            f"class-weight: one class weighs more than {LARGEST_WEIGHT:g} times another, and sites accept no more."
        )
    return smallest, (weight / smallest, opposite / smallest)


def warm_start(federation: Federation, settings: PanSvmSettings, problems: Sequence[Problem]) -> list[Floats]:
    """Return the mean of the sites' local linear SVMs, weighted by rows, as first point of each problem.

    Returns
    -------
    list of ndarray of shape (0 or 1, rank + 1)
        No point if no site has rows of both sides, or with ``search=published``.
    """
    if settings.search == "published":
        return [np.empty((0, problem.rank + 1)) for problem in problems]
    sums = federation.secure_sum(WARM_START, pack_problems(problems))
    pieces = np.split(sums.weights, np.cumsum([problem.rank + 1 for problem in problems])[:-1])
    return [
        (piece / count)[None, :] if count > 0 else np.empty((0, len(piece)))
        for piece, count in zip(pieces, sums.rows, strict=True)
    ]


def side_rows(problem: Problem, rows: Floats) -> tuple[float, float]:
    """Return the numbers of rows of a problem's positive and negative side.

    Parameters
    ----------
    rows : ndarray of shape (folds, classes)
        Training rows.
    """
    by_class = rows[np.arange(len(rows)) != problem.fold].sum(axis=0)
    positive = float(by_class[problem.pair.positive])
    negative = problem.pair.negative
    return positive, float(by_class.sum()) - positive if negative == REST else float(by_class[negative])


def weighted_rows(problem: Problem, rows: Floats) -> float:
    """Return the sum of the weights of a problem's rows; parameters as in `side_rows`."""
    return sum(
        weight * count for weight, count in zip(problem.weights, side_rows(problem, rows), strict=True)
    )
