"""Trying models on rows that they have not been trained on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.counts import BINS
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.systems.pan_svm.tasks import SCORES, ScoresQuestion
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.federation.federation import Federation
from strategies.master.progress import Progress

SPREAD = 0.3
"""How far decision values lie apart, in shares of the largest distance that is to be expected."""


@dataclass(frozen=True)
class Trial:
    """A model to be tried on rows that it has not been trained on."""

    feature_map: int  # number of its feature map
    fold: int  # of training rows that it is tried on, or `NO_FOLD` for the test rows
    weights: NDArray[np.float64]  # (problems, rank + 1): weights and, last, bias of its binary problems
    # (columns,): where the class decisions of each histogram lie; by default empty, for no histograms
    centres: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    # (columns,): how far apart they lie; likewise empty
    scales: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


def score(
    federation: Federation, trials: Sequence[Trial], pairs: Sequence[Pair]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Try models on held-out rows of all sites, in one secure sum.

    Parameters
    ----------
    federation : Federation
        The sites.
    trials : sequence of Trial
        The models.
    pairs : sequence of Pair
        The binary problems of each model.

    Returns
    -------
    confusion : ndarray of shape (trials, classes, classes)
        Rows of class i predicted as class j.
    histograms : ndarray of shape (trials, columns, 2, BINS)
        Class decisions of the rows of the other classes and of the class itself.
    """
    sums = federation.secure_sum(
        SCORES,
        ScoresQuestion(
            feature_maps=np.array([trial.feature_map for trial in trials]),
            folds=np.array([trial.fold for trial in trials]),
            ranks=np.array([trial.weights.shape[1] - 1 for trial in trials]),
            weights=np.concatenate([trial.weights.ravel() for trial in trials]),
            positive=np.array([pair.positive for pair in pairs]),
            negative=np.array([pair.negative for pair in pairs]),
            centres=np.stack([trial.centres for trial in trials]),
            scales=np.stack([trial.scales for trial in trials]),
        ),
    )
    return sums.confusion, sums.histogram


def evaluate(federation: Federation, model: PanSVC) -> Evaluation:
    """Try a model, whose feature map is the sites' number 0, on the test rows of all sites."""
    weights = np.column_stack([model.coef_, model.intercept_])
    confusion, histograms = score(federation, [Trial(0, NO_FOLD, weights, *frame(model))], model.pairs_)
    return Evaluation.from_counts(confusion[0], histograms[0])


def evaluate_counts(counts: NDArray[np.float64]) -> Evaluation:
    """Return what counts of test rows say, shape (classes, classes), true by predicted; AUC is not in them."""
    return Evaluation.from_counts(counts, np.empty((0, 2, BINS)))


def score_held_out(
    federation: Federation, models: Sequence[Sequence[Progress]], pairs: Sequence[Pair]
) -> tuple[Floats, Floats]:
    """Try trained models on the rows of the fold that each has not seen, or on the test rows, in one secure sum.

    Parameters
    ----------
    federation : Federation
        The sites.
    models : sequence of sequence of Progress
        Of each model, one of each binary problem; at least one model.
    pairs : sequence of Pair
        The binary problems of each model.

    Returns
    -------
    right, rows : ndarray of shape (models,)
        The share of rows predicted right, 0 without rows, and how many rows there are.
    """
    trials = [
        Trial(own[0].problem.feature_map, own[0].problem.fold, np.stack([state.best for state in own]))
        for own in models
    ]
    confusion, _ = score(federation, trials, pairs)
    rows = confusion.sum(axis=(1, 2))
    return np.trace(confusion, axis1=1, axis2=2) / np.maximum(rows, 1), rows


def typical_norm(feature_map: NystromMap) -> float:
    """Return the root mean square of ||f|| over the landmarks, of which k(x, x) is the square: 1 of the RBF kernel."""
    if feature_map.kernel.name == "rbf":
        return 1.0
    return math.sqrt(float(np.mean(np.square(feature_map.landmarks).sum(axis=1))))


def frame(model: PanSVC) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return around which value a model's class decisions of each column lie, and how far apart: see `Trial`."""
    if model.pairs_[0].negative != REST:
        # The bins are finest around the most votes that a class can have.
        classes = len(model.classes_)
        return np.full(classes, classes - 1.0), np.ones(classes)
    # Decision values lie around b, and a small C or a rare class draws them together there.
    scales = SPREAD * typical_norm(model.feature_map_) * np.linalg.norm(model.coef_, axis=1)
    return model.intercept_, np.where(scales > 0, scales, 1.0)
