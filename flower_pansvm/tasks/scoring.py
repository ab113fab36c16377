"""Scoring: models tried on rows that they have not been trained on."""

from dataclasses import dataclass

from flower_pansvm.records import Floats, Ints
from flower_pansvm.tasks.limits import COUNT
from flower_pansvm.tasks.task import Task, summed


@dataclass(frozen=True)
class ScoresQuestion:
    """Models to be tried.

    Parameters
    ----------
    feature_maps : ndarray of shape (models,)
        Number of each model's feature map.
    folds : ndarray of shape (models,)
        Fold whose rows it is tried on, or `NO_FOLD` for the test rows.
    ranks : ndarray of shape (models,)
        Coordinates of its mapped rows.
    weights : ndarray of shape (sum of problems * (rank + 1),)
        Weights and, last, bias of its binary problems, put end to end.
    positive, negative : ndarray of shape (problems,)
        The two sides of each problem, the same for all models.
    centres, scales : ndarray of shape (models, columns)
        Of each histogram, see :func:`flower_pansvm.metrics.decision_histogram`.
    """

    feature_maps: Ints
    folds: Ints
    ranks: Ints
    weights: Floats
    positive: Ints
    negative: Ints
    centres: Floats
    scales: Floats


@dataclass(frozen=True)
class ScoresAnswer:
    """Counts of rows; Flower hands their sums on as flat lists.

    Parameters
    ----------
    confusion : ndarray of shape (models, classes, classes)
        True against predicted class.
    histogram : ndarray of shape (models, columns, 2, bins)
        How many decision values fall into each bin.
    """

    confusion: Floats = summed(COUNT)
    histogram: Floats = summed(COUNT)


SCORES = Task("scores", "evaluate", ScoresQuestion, ScoresAnswer, since="0.1.0")
