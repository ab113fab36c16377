"""The outcome of a feature selection and its steps.

Features are indices of columns of the common schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

RANKS = "ranks"
"""Decides a step in which several candidates are equally accurate."""


@dataclass(frozen=True)
class Point:
    """Accuracy of the models of one subset of features."""

    features: int  # number of features in the subset
    accuracy: float  # mean over the folds of the training rows of the share of rows predicted right
    deviation: float  # standard deviation of that share over the folds
    # Accuracy on the test rows, which have no part in the selection; None without test rows.
    test_accuracy: float | None


@dataclass(frozen=True)
class Step:
    """One step of the elimination."""

    features: int  # number of features before the step
    # Features that may be removed, the least important first, by proposer: a criterion, or the feature left out.
    candidates: Mapping[str, tuple[int, ...]]
    # Mean accuracy over the folds without the candidates of each proposer; empty where votes decided.
    accuracies: Mapping[str, float]
    removed: tuple[int, ...]  # removed features, the least important first
    round_trips: int  # of the step
    bytes_up: int  # bytes that all sites sent in the step


def decided_by(
    candidates: Mapping[str, Sequence[T]], accuracies: Mapping[str, float], removed: Sequence[T]
) -> str:
    """Return what decided a step: accuracy over the folds, ranks among equally accurate ones, a vote, or a criterion.

    Parameters
    ----------
    candidates, accuracies, removed
        As in `Step`, features by their indices or by their names.
    """
    if accuracies:
        return RANKS if tied(candidates, accuracies, removed) else "accuracy"
    return next(iter(candidates)) if len(candidates) == 1 else "vote"


def tied(
    candidates: Mapping[str, Sequence[T]], accuracies: Mapping[str, float], removed: Sequence[T]
) -> bool:
    """Return whether removing other candidates would have been as accurate; parameters as in `decided_by`.

    Examples
    --------
    >>> tied({"svm-rfe": [4], "rsvm": [2]}, {"svm-rfe": 0.9, "rsvm": 0.9}, removed=[2])
    True
    """
    proposers = {name for name in accuracies if set(candidates[name]) <= set(removed)}
    others = [accuracy for name, accuracy in accuracies.items() if name not in proposers]
    return bool(others) and max(others) >= min(accuracies[name] for name in proposers)


@dataclass(frozen=True)
class Screening:
    """The features that the filters keep, before the elimination (Lu 2016, section 6.2.3, step 2)."""

    passed: Mapping[str, int]  # number of features that each filter keeps
    thresholds: Mapping[str, str]  # threshold of each filter, as in the settings
    kept: tuple[int, ...]  # the voted feature set: features that all filters keep


@dataclass(frozen=True)
class Selection:
    """The outcome of a feature selection."""

    # All features, the most important first. Features that filters removed come last, best score first.
    ranking: tuple[int, ...]
    # The subsets of all steps, from all features (or all that the filters keep) down to one.
    points: tuple[Point, ...]
    steps: tuple[Step, ...]
    selected: tuple[int, ...]  # the chosen features, the most important first: a head of the ranking
    screening: Screening | None = None  # None for a strategy without filters

    def ties(self) -> dict[str, int]:
        """Return the number of steps that accuracy should decide, and of those that it did not because of ties."""
        by_accuracy = [step for step in self.steps if step.accuracies]
        equal = sum(tied(step.candidates, step.accuracies, step.removed) for step in by_accuracy)
        return {"steps_by_accuracy": len(by_accuracy), "steps_tied": equal}


ROUNDING = 1e-9
"""Accuracies that differ by less are equal."""


def choose(points: Sequence[Point], wanted: int | None) -> int:
    """Return the index of the chosen point.

    Parameters
    ----------
    points : sequence of Point
        Subsets from all features down, at least one.
    wanted : int or None
        Number of features to keep, at most those of the first point. If no subset has it, because steps removed
        several features at once, the next larger subset is chosen. None for the fewest that are as accurate as the
        best subset, that of all features included.

    Examples
    --------
    >>> points = [Point(3, 0.90, 0.0, None), Point(2, 0.95, 0.0, None), Point(1, 0.85, 0.0, None)]
    >>> choose(points, wanted=None), choose(points, wanted=3)
    (1, 0)
    """
    if wanted is None:
        needed = max(point.accuracy for point in points) - ROUNDING
        eligible = [index for index, point in enumerate(points) if point.accuracy >= needed]
    else:
        eligible = [index for index, point in enumerate(points) if point.features >= wanted]
    return min(eligible, key=lambda index: points[index].features)
