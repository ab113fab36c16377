"""All sites' rows in one place are those that the sites train on and are tested on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from simulations.data.pooling import pooled
from simulations.data.sites import table_of
from simulations.engines.in_process import train_in_process
from strategies.settings import make_settings
from strategies.steps.scaling import scaling_of_rows


@pytest.mark.parametrize("split", ["iid", "dirichlet:0.5", "feature:alcohol"])
def test_every_row_is_once_in_the_pool_and_belongs_to_its_site(split: str) -> None:
    settings = make_settings(data="wine", split=split, sites=4, seed=3)
    pool = pooled(settings)
    for site in range(4):
        table = table_of(settings, site)
        held = np.vstack([rows.X[rows.sites == site] for rows in (pool.train, pool.test)])
        classes = np.concatenate([rows.classes[rows.sites == site] for rows in (pool.train, pool.test)])
        labels = np.array(pool.schema.classes)[classes]
        theirs = pd.DataFrame(table.X).assign(label=table.labels)
        ours = pd.DataFrame(held).assign(label=labels)
        columns = list(theirs.columns)
        pd.testing.assert_frame_equal(
            ours.sort_values(columns, ignore_index=True), theirs.sort_values(columns, ignore_index=True)
        )


@pytest.mark.parametrize("level", ["exact", "perturbed"])
def test_the_federation_tests_on_as_many_rows_of_each_class(level: str) -> None:
    settings = make_settings(strategy="local-only", data="iris", split="dirichlet:2", seed=1, privacy=level)
    pool, strategy = pooled(settings), train_in_process(settings)
    counted = np.array(strategy.outcome.evaluation.confusion).sum(axis=1)
    assert counted.tolist() == np.bincount(pool.test.classes, minlength=3).tolist()


def test_scaling_is_scikit_learns() -> None:
    X = pooled(make_settings(data="wine")).train.X
    for kind, scaler in (("standard", StandardScaler()), ("minmax", MinMaxScaler((-1, 1)))):
        np.testing.assert_allclose(scaling_of_rows(kind, X).transform(X), scaler.fit_transform(X), atol=1e-9)
