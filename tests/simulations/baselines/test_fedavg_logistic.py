"""FedAvg: a mean of the sites' logistic regressions, counted on Flower's messages."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from flower_pansvm.errors import TrainingError
from simulations.baselines.fedavg_logistic import LEARNING_RATE, fedavg_logistic
from simulations.baselines.federated import EPOCHS, ROUNDS
from simulations.data.pooling import PooledRows, pooled
from strategies.svm_settings import PanSvmSettings

SETTINGS = PanSvmSettings(data="breast_cancer", sites=3, C=1.0)


def twins(rows: PooledRows) -> PooledRows:
    """Return the rows of the first site, held by two sites."""
    own = rows.of(rows.sites == 0)
    parts = (np.concatenate([part, part]) for part in (own.X, own.classes, own.folds))
    sites = np.repeat([0, 1], len(own.sites))
    return PooledRows(*parts, sites, np.arange(len(sites)))


def test_of_two_sites_with_the_same_rows_it_is_one_logistic_regression() -> None:
    pool = pooled(SETTINGS)
    train = twins(pool.train)
    found = fedavg_logistic(SETTINGS, train, pool.test)
    own = train.of(train.sites == 0)
    scaler = StandardScaler().fit(train.X)
    steps = {"learning_rate": "constant", "eta0": LEARNING_RATE, "random_state": SETTINGS.seed}
    model = SGDClassifier(loss="log_loss", alpha=1.0 / len(train.classes), **steps)
    for _ in range(ROUNDS * EPOCHS):
        model.partial_fit(scaler.transform(own.X), own.classes, np.arange(2))
    predicted = model.predict(scaler.transform(pool.test.X))
    assert found.evaluation.accuracy == np.mean(predicted == pool.test.classes)


def test_every_round_is_a_round_trip_that_shows_every_sites_weights() -> None:
    pool = pooled(SETTINGS)
    found = fedavg_logistic(SETTINGS, pool.train, pool.test)
    assert found.round_trips == ROUNDS
    weights = ROUNDS * 31
    assert found.disclosed[0]["numbers_per_site"] == weights
    # As floats of eight bytes, of three sites, with the names of the parts and Flower's heads of arrays.
    assert 3 * 8 * weights < found.bytes_up < 2.5 * 3 * 8 * weights
    assert 3 * 8 * weights < found.bytes_down < 2.5 * 3 * 8 * weights
    assert (found.evaluation.accuracy or 0) > 0.93


@pytest.mark.slow
def test_a_site_without_rows_of_a_class_takes_part() -> None:
    pool = pooled(replace(SETTINGS, data="wine"))
    train = pool.train.of((pool.train.sites != 0) | (pool.train.classes != 2))
    assert fedavg_logistic(SETTINGS, train, pool.test).evaluation.accuracy > 0.9


def test_a_site_that_cannot_train_is_an_error_of_this_project(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(*_: object) -> None:
        raise ValueError("SECRETVALUE")

    monkeypatch.setattr(SGDClassifier, "partial_fit", overflow)
    pool = pooled(SETTINGS)
    with pytest.raises(TrainingError):
        fedavg_logistic(SETTINGS, pool.train, pool.test)
