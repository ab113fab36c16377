"""Federated boosted trees by Flower's own FedXgbBagging and the library XGBoost (Chen & Guestrin 2016).

In each round every site grows one tree on its own rows, against the errors of all trees so far; the coordinator adds
the trees of all sites. A site shows its trees, whose leaves are of few of its rows: no masks, no noise.
"""

from typing import Any

import numpy as np
from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedXgbBagging, Strategy
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import SettingError, install
from simulations.baselines.central import class_weight, scaled
from simulations.baselines.federated import FedAvgInOrder, app_of, judged, rounds
from simulations.baselines.registry import BaselineFigures
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings

try:
    import xgboost
except ImportError as error:
    raise SettingError(
        "The baseline 'fedxgb:bagging' needs the package xgboost, which is not installed. "
        f"Leave it out, or install it {install('boosting')}."
    ) from error

RATE = 0.3
"""XGBoost's own learning rate. The trees of a round are added up, so that each has its part of it."""


class _BaggingInOrder(FedAvgInOrder, FedXgbBagging):
    """Adds trees in the order of the sites."""


def bagging(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train 20 rounds of one tree a site, with XGBoost's defaults; the rows are scaled as in the federation.

    FedXgbBagging knows two classes: several are one against the rest, one after the other.
    """
    train, test = scaled(settings, train, test)
    sites, classes = len(np.unique(train.sites)), int(train.classes.max()) + 1
    weights = compute_sample_weight(class_weight(settings), train.classes)
    columns, costs = [], []
    for positive in [1] if classes == 2 else range(classes):
        app = _app(settings, train, (train.classes == positive).astype(float), weights, RATE / sites)
        arrays, cost = rounds("fedxgb:bagging", _strategy, app, [np.empty(0, np.uint8)], sites)
        trees = xgboost.Booster(model_file=bytearray(arrays[0].tobytes()))
        columns.append(trees.predict(xgboost.DMatrix(test.X), output_margin=True))
        costs.append(cost)
    decisions = np.column_stack(columns).astype(float)
    total = {key: sum(cost[key] for cost in costs) for key in ("round_trips", "bytes_up", "bytes_down")}
    numbers = sum(cost["disclosed"][0]["numbers_per_site"] for cost in costs)
    disclosed = {**costs[0]["disclosed"][0], "result": "trees", "numbers_per_site": numbers}
    disclosed["times"] *= len(costs)
    return judged(test, decisions, classes, {**total, "disclosed": (disclosed,)})


def _strategy(sites: int) -> Strategy:
    return _BaggingInOrder(fraction_evaluate=0.0, min_train_nodes=sites)


def _app(
    settings: PanSvmSettings, rows: PooledRows, positive: Floats, weights: Floats, rate: float
) -> ClientApp:
    """Return a site's app, which trains one more tree on its own rows after the trees it is sent."""
    # With a base score of its own, each site's first tree would begin elsewhere.
    parameters = {"objective": "binary:logistic", "base_score": 0.5, "eta": rate}
    parameters |= {"nthread": 1, "seed": settings.seed % 2**31}

    def train(own: Bools, arrays: list[NDArray[Any]], _: Context) -> list[NDArray[Any]]:
        table = xgboost.DMatrix(rows.X[own], label=positive[own], weight=weights[own])
        (sent,) = arrays
        before = xgboost.Booster(parameters, model_file=bytearray(sent.tobytes())) if sent.size else None
        trees = xgboost.train(parameters, table, num_boost_round=1, xgb_model=before)
        return [np.frombuffer(trees[trees.num_boosted_rounds() - 1 :].save_raw("json"), np.uint8)]

    return app_of(rows, train)
