"""Scoring: models tried on rows that they have not been trained on."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.tasks.limits import COUNT
from flower_pansvm.tasks.task import Task, summed


@dataclass(frozen=True)
class ScoresQuestion:
    """Models to be tried."""

    feature_maps: Ints  # (models,): number of each model's feature map
    folds: Ints  # (models,): fold whose rows it is tried on, or NO_FOLD for the test rows
    ranks: Ints  # (models,): coordinates of its mapped rows
    weights: Floats  # of its binary problems, bias last, put end to end
    positive: Ints  # (problems,): the positive class of each problem, the same for all models
    negative: Ints  # (problems,): the negative class, or REST
    centres: Floats  # (models, columns): of each histogram, see decision_histogram
    scales: Floats  # (models, columns)


@dataclass(frozen=True)
class ScoresAnswer:
    """Counts of rows; Flower hands their sums on as flat lists."""

    confusion: Floats = summed(COUNT)  # (models, classes, classes): true against predicted class
    histogram: Floats = summed(COUNT)  # (models, columns, 2, bins): decision values in each bin


SCORES = Task("scores", "evaluate", ScoresQuestion, ScoresAnswer, since="0.1.0")
