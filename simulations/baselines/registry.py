"""The baselines by name, and the figures of each, in the measures of the strategies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.constraints import setting_fields
from flower_pansvm.counts import BINS, confusion_counts
from flower_pansvm.metrics import Evaluation
from flower_pansvm.registry import Registry
from simulations.data.pooling import Pooled, PooledRows
from strategies.settings import Settings
from strategies.svm_settings import PanSvmSettings


@dataclass(frozen=True)
class BaselineFigures:
    """The figures of a baseline, by their names in a run's ``result.json``."""

    evaluation: Evaluation  # how good it is on the test rows
    # round_trips, bytes_up, bytes_down: what it took of a network; nothing if the rows are in one place.
    round_trips: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    # What left the sites, as in ``result.json``; empty for rows in one place, which have no sites.
    disclosed: tuple[dict[str, Any], ...] = field(default=())
    converged: bool | None = None  # whether its solver has come to its end; None if it does not iterate


def judge(true: Ints, predicted: Ints, decisions: Floats, classes: int) -> Evaluation:
    """Return the measures of the strategies, from the rows themselves; decisions have one column for two classes.

    The area under the curve is exact; that of a federated run is from a histogram, in which two rows in one of the
    512 bins are a tie.
    """
    confusion = confusion_counts(true, predicted, classes)
    counted = Evaluation.from_counts(confusion, np.empty((0, 2, BINS)))
    indices = [1] if decisions.shape[1] == 1 else range(classes)
    areas = [
        float(roc_auc_score(true == index, column))
        for index, column in zip(indices, decisions.T, strict=True)
        if 0 < np.count_nonzero(true == index) < len(true)
    ]
    auc = float(np.mean(areas)) if areas else None
    return Evaluation(counted.rows, counted.accuracy, counted.balanced_accuracy, counted.f1, auc)


Baseline = Callable[[PanSvmSettings, PooledRows, PooledRows], BaselineFigures]
"""Trains on the first rows, in the tables' units, and is judged on the second ones.

The settings are those that PAN-SVM has in the same run; C and gamma are not ``auto``. A baseline reads those that mean
something to it: scaling, kernel, gamma, C, class weights, landmarks, seed.
"""

BASELINES: Registry[Baseline] = Registry(
    "baseline",
    {
        "central:boosting": "simulations.baselines.central:boosting",
        "central:fourier": "simulations.baselines.central:fourier",
        "central:linear": "simulations.baselines.central:linear",
        "central:naive-bayes": "simulations.baselines.central:naive_bayes",
        "central:nystroem": "simulations.baselines.central:nystroem",
        "central:random-rows": "simulations.baselines.central:random_rows",
        "central:svc": "simulations.baselines.central:svc",
        "central:tree": "simulations.baselines.central:tree",
        "dp-fedavg:logistic": "simulations.baselines.gradient_descent:dp_fedavg_logistic",
        "fedavg:logistic": "simulations.baselines.fedavg_logistic:fedavg_logistic",
        "fedavg:network": "simulations.baselines.gradient_descent:fedavg_network",
        "fedprox:logistic": "simulations.baselines.gradient_descent:fedprox_logistic",
        "fedprox:network": "simulations.baselines.gradient_descent:fedprox_network",
        "fedxgb:bagging": "simulations.baselines.boosting:bagging",
        "scaffold:logistic": "simulations.baselines.gradient_descent:scaffold_logistic",
        "scaffold:network": "simulations.baselines.gradient_descent:scaffold_network",
    },
)
"""All baselines by name."""

OF_AN_SVM: Mapping[str, tuple[str, ...]] = {
    "central:svc": ("C", "gamma", "kernel"),
    **dict.fromkeys(
        ("central:nystroem", "central:random-rows", "central:fourier"), ("C", "gamma", "kernel", "landmarks")
    ),
    **dict.fromkeys(("central:boosting", "central:naive-bayes", "central:tree", "fedxgb:bagging"), ()),
}
"""The settings of an SVM, besides scaling and class weights, that a baseline reads; one that is not named reads C."""


def settings_read(name: str) -> set[str]:
    """Return the settings that a baseline reads, and those of every run."""
    return {*setting_fields(Settings), "scaling", "class-weight", *OF_AN_SVM.get(name, ("C",))}


def baseline_result(name: str, settings: Settings, pool: Pooled) -> dict[str, Any]:
    """Train a baseline and return its figures, as ``result.json`` has those of a strategy."""
    assert isinstance(settings, PanSvmSettings)
    figures = BASELINES[name](settings, pool.train, pool.test)
    own = {"rows_train": len(pool.train.classes), "rows_test": figures.evaluation.rows}
    return {**vars(figures), **vars(figures.evaluation), **own, "positive_class": pool.schema.positive_class}
