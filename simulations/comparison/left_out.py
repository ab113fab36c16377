"""Evaluation on a hospital that took no part: all rows of one site test the model of the others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import Model
from simulations.baselines.registry import BASELINES, baseline_result, judge
from simulations.data.pooling import PooledRows, pooled
from simulations.data.sites import join_data
from simulations.engines.in_process import train_in_process
from strategies.registry import STRATEGIES
from strategies.results import describe
from strategies.settings import SEPARATOR, Settings

TESTED_ON = "tested on "
"""How the name of a split begins that leaves out the site behind it."""

FEWEST = 3
"""Fewest files: two remain to train on."""


def check_left_out(data: str, systems: tuple[str, ...]) -> None:
    """Raise a SettingError unless the data are at least `FEWEST` files, and each strategy makes a model."""
    if data.count(SEPARATOR) + 1 < FEWEST:
        raise SettingError(
            f"'{data}' is too few files to leave a site out. Give {FEWEST} or more, one per site, as in "
            "--data 'a.csv|b.csv|c.csv'."
        )
    without = [name for name in systems if name in STRATEGIES and not STRATEGIES[name].makes_model]
    if without:
        raise SettingError(
            f"{', '.join(without)} gives no model to evaluate on a site that was left out. Name other strategies."
        )


def names_of(data: str) -> list[str]:
    """Return the sites' names: those of the files, numbered if these repeat."""
    names = [Path(file).name for file in data.split(SEPARATOR)]
    differ = len(set(names)) == len(names)
    return names if differ else [f"{number}: {name}" for number, name in enumerate(names, start=1)]


def evaluate_left_out(name: str, settings: Settings, site: int) -> dict[str, Any]:
    """Train a strategy or baseline without one site, and return its result on that site's rows.

    Parameters
    ----------
    name : str
        The strategy or baseline.
    settings : Settings
        Settings of a run with all sites.
    site : int
        The left-out site, all of whose rows are test rows; the others train on all of their rows.

    Raises
    ------
    PanSVMError
        If the others cannot train, or lack a class.
    """
    settings = replace(settings, test_fraction=0.0)
    pool = pooled(settings)
    test, train = pool.train.of(pool.train.sites == site), pool.train.of(pool.train.sites != site)
    if not np.isin(test.classes, train.classes).all():
        raise SettingError(
            "A class is at the site that is left out only, so the others cannot learn it. Leave its rows out of the "
            "comparison, or put it together with another class (--positive)."
        )
    if name in BASELINES:
        return baseline_result(name, settings, replace(pool, train=_renumbered(train), test=test))
    files = [file for index, file in enumerate(settings.data.split(SEPARATOR)) if index != site]
    least = min(settings.min_sites, len(files))
    settings = replace(settings, data=join_data(files), sites=len(files), min_sites=least)
    trained = train_in_process(settings)
    result, model = describe(trained, settings), trained.outcome.model
    assert model is not None
    figures = vars(_evaluated(model, test, pool.schema.columns, pool.schema.classes))
    own = {
        "rows_train": len(train.classes),
        "rows_test": len(test.classes),
        "positive_class": pool.schema.positive_class,
    }
    return {**result, **figures, **own}


def _renumbered(rows: PooledRows) -> PooledRows:
    """Return the rows with their sites renumbered from 0."""
    return replace(rows, sites=np.unique(rows.sites, return_inverse=True)[1])


def _evaluated(model: Model, rows: PooledRows, columns: tuple[str, ...], classes: tuple[str, ...]) -> Any:
    """Return the figures of a model on some rows; without AUC if its classes differ from those of all rows."""
    X = pd.DataFrame(rows.X, columns=list(columns))[list(model.schema_.columns)]
    index_of = {name: index for index, name in enumerate(classes)}
    predicted = np.array([index_of[str(label)] for label in model.predict(X)], dtype=np.int64)
    decide = getattr(model, "decision_function", None)
    if decide is None or model.schema_.classes != classes:
        evaluation = judge(rows.classes, predicted, np.zeros((len(predicted), 1)), len(classes))
        return replace(evaluation, auc=None)
    decisions = np.asarray(decide(X))
    columnwise = decisions[:, None] if decisions.ndim == 1 else decisions
    return judge(rows.classes, predicted, columnwise, len(classes))
