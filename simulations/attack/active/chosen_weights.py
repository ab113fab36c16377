"""Test records from histograms of scores: the coordinator chooses the model and the histogram's resolution.

A linear model of all columns orders the test records. Histograms that zoom in on one record after the other give its
decision value to any precision, and its class. A small change of one column's weight moves each value by that column's
cell, and keeps the order.
"""

from pathlib import Path

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.counts import BINS
from flower_pansvm.errors import PanSVMError
from flower_pansvm.multiclass import REST
from flower_pansvm.systems.pan_svm.tasks import (
    FEATURE_MAP,
    LANDMARK_SET,
    SCORES,
    FeatureMapBroadcast,
    LandmarkBroadcast,
    ScoresQuestion,
)
from flower_pansvm.systems.scaling import NO_FOLD, SCALING, ScalingBroadcast
from simulations.attack.active.hospitals import COLUMNS, FalseCoordinator, Hospitals
from simulations.attack.active.nearness import all_trained, asked_at, attempt
from simulations.attack.active.registry import Attempt, refusal

TABLES = {"first": 120, "second": 120, "third": 120}
TEST_FRACTION = 0.25
REACH = 64.0  # bound of the first decision values
LITTLE = 1e-4  # change of a weight that keeps the order
ZOOMS = 5
ALONE = slice(BINS // 4, 3 * BINS // 4)  # the bins of the interval in focus
EDGES = 2.0 * np.arange(BINS // 4, 3 * BINS // 4 + 1) / BINS - 1.0


def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Solve for all test records."""
    settings = {**asked_at(level), "kernel": "linear"}
    hospitals = Hospitals(folder, TABLES, settings, test_fraction=TEST_FRACTION)
    coordinator = hospitals.coordinator()
    coordinator.join()
    columns = len(COLUMNS)
    no_shift, units = np.zeros((1, columns)), np.ones((1, columns))
    the_rows_themselves = FeatureMapBroadcast(
        0, np.ones(columns, dtype=np.bool_), "linear", 1.0, np.eye(columns, dtype=np.float32)
    )
    coordinator.broadcast(
        {
            SCALING: ScalingBroadcast(no_shift, no_shift, units),
            LANDMARK_SET.numbered(0): LandmarkBroadcast(0, np.eye(columns)),
            FEATURE_MAP.numbered(0): the_rows_themselves,
        }
    )
    weights = np.random.default_rng(0).standard_normal(columns)
    try:
        values = _decisions(coordinator, np.vstack([weights, weights + LITTLE * np.eye(columns)]))
        guesses, why = ((values[1:] - values[0]) / LITTLE).T, ""
    except PanSVMError as error:
        guesses, why = np.empty((0, columns)), f"; {refusal(error)}"
    return attempt(level, all_trained(hospitals.records()), guesses, why)


def _decisions(coordinator: FalseCoordinator, weights: Floats) -> Floats:
    """Return the sorted decision values of all test records, shape (models, records)."""
    model, low, high = np.arange(len(weights)), np.full(len(weights), -REACH), np.full(len(weights), REACH)
    for _ in range(ZOOMS):
        centre, scale = (low + high) / 2, (high - low) / 2
        question = ScoresQuestion(
            feature_maps=np.zeros(len(model), dtype=np.int64),
            folds=np.full(len(model), NO_FOLD),
            ranks=np.full(len(model), weights.shape[1]),
            weights=np.column_stack([weights[model], np.zeros(len(model))]).ravel(),
            positive=np.array([1]),
            negative=np.array([REST]),
            centres=centre[:, None],
            scales=scale[:, None],
        )
        histogram = coordinator.ask(SCORES, question).histogram
        counts = histogram.sum(axis=(1, 2))[:, ALONE]
        interval, bin_ = np.nonzero(counts)
        edges = EDGES / (1.0 - np.abs(EDGES))
        low, high = (centre[interval] + scale[interval] * edges[bin_ + more] for more in (0, 1))
        model, rows = model[interval], counts[interval, bin_].astype(np.int64)
    values = np.repeat((low + high) / 2, rows)
    return values.reshape(len(weights), -1)
