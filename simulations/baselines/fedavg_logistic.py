"""Logistic regression by Flower's own FedAvg: the federated baseline that people know (McMahan et al. 2017).

Every site trains on its own rows and sends its weights as they are, without masks or noise; the coordinator takes their
mean by rows. It runs on Flower's messages, in this process.
"""

import numpy as np
from flwr.app import Context
from flwr.clientapp import ClientApp
from sklearn.linear_model import SGDClassifier

from flower_pansvm.arrays import Bools, Ints
from simulations.baselines.central import scaled
from simulations.baselines.federated import EPOCHS, Arrays, app_of, average, judged, rounds
from simulations.baselines.registry import BaselineFigures
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings

LEARNING_RATE = 0.01


def fedavg_logistic(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train 20 rounds of five passes each; the rows are scaled as in the federation, and are weighted by C.

    Several classes are one against the rest. A site that lacks a class trains against it all the same.
    """
    train, test = scaled(settings, train, test)
    sites, classes = np.unique(train.sites), np.unique(train.classes)
    columns = 1 if len(classes) == 2 else len(classes)
    start = [np.zeros((columns, train.X.shape[1])), np.zeros(columns)]
    arrays, costs = rounds("fedavg:logistic", average, _app(settings, train, classes), start, len(sites))
    weights, intercept = arrays
    return judged(test, test.X @ weights.T + intercept, len(classes), costs)


def _app(settings: PanSvmSettings, rows: PooledRows, classes: Ints) -> ClientApp:
    """Return a site's app: passes of stochastic gradient descent over its own rows from the weights it is sent."""
    positives = [1] if len(classes) == 2 else classes.tolist()
    (C,) = settings.C_values

    def train(own: Bools, arrays: Arrays, __: Context) -> Arrays:
        (weights, intercept), X, of_class = arrays, rows.X[own], rows.classes[own]
        for column, positive in enumerate(positives):
            model = SGDClassifier(
                loss="log_loss",
                alpha=1.0 / (C * len(rows.classes)),
                learning_rate="constant",
                eta0=LEARNING_RATE,
                class_weight=_weights(settings, rows.classes == positive),
                random_state=settings.seed,
            )
            model.coef_, model.intercept_ = weights[[column]], intercept[[column]]
            for _ in range(EPOCHS):
                model.partial_fit(X, of_class == positive, [False, True])
            weights[column], intercept[column] = model.coef_[0], model.intercept_[0]
        return [weights, intercept]

    return app_of(rows, train)


def _weights(settings: PanSvmSettings, positive: Bools) -> dict[bool, float] | None:
    """Return the weight of a row of each side, by the rows of all sites."""
    if settings.class_weight != "balanced":
        return None
    return {side: len(positive) / (2.0 * np.count_nonzero(positive == side)) for side in (False, True)}
