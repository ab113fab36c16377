"""A system tried on a hospital that took no part: all rows of one site, by what was trained at the others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import Model
from simulations.baselines.registry import BASELINES, judge
from simulations.data.pooling import PooledRows, pooled
from simulations.data.sites import join_data
from simulations.engines.running import train_in_process
from strategies.registry import STRATEGIES
from strategies.results import describe
from strategies.settings import SEPARATOR, Settings
from strategies.svm_settings import PanSvmSettings

FEWEST = 3
"""Files, so that two are left to train on."""


def check_left_out(data: str, systems: tuple[str, ...]) -> None:
    """Raise a SettingError unless the data are files of sites enough, and each strategy makes a model."""
    if data.count(SEPARATOR) + 1 < FEWEST:
        raise SettingError(
            f"'{data}' cannot be compared with a site left out: that takes {FEWEST} files, one for each site, as in "
            "--data 'a.csv|b.csv|c.csv'."
        )
    without = [name for name in systems if name in STRATEGIES and not STRATEGIES[name].makes_model]
    if without:
        raise SettingError(
            f"No model that could be tried on a site that was left out comes of {', '.join(without)}. Name other "
            "strategies."
        )


def names_of(data: str) -> list[str]:
    """Return how the sites of files are called: by the files without their folders, and a number if these repeat."""
    short = [Path(part).name for part in data.split(SEPARATOR)]
    differ = len(set(short)) == len(short)
    return short if differ else [f"{number}: {name}" for number, name in enumerate(short, start=1)]


def try_elsewhere(name: str, settings: Settings, site: int) -> dict[str, Any]:
    """Train a strategy or baseline without one of the data's sites, and return its result, tried on that site's rows.

    Parameters
    ----------
    name : str
        Of the strategy or baseline.
    settings : Settings
        Of a run with all sites.
    site : int
        The one that is left out, whose rows are all for the test; the others train on all of theirs.

    Raises
    ------
    PanSVMError
        If the others cannot train, or lack a class.
    """
    settings = replace(settings, test_fraction=0.0)
    pool = pooled(settings)
    own, others = pool.train.of(pool.train.sites == site), pool.train.of(pool.train.sites != site)
    if name in BASELINES:
        assert isinstance(settings, PanSvmSettings)
        found = BASELINES[name](settings, _renumbered(others), own)
        result = {**vars(found), **vars(found.evaluation), "rows_test": found.evaluation.rows}
        return {**result, "rows_train": len(others.classes), "positive_class": pool.schema.positive_class}
    files = [one for number, one in enumerate(settings.data.split(SEPARATOR)) if number != site]
    least = min(settings.min_sites, len(files))
    settings = replace(settings, data=join_data(files), sites=len(files), min_sites=least)
    trained = train_in_process(settings)
    result, model = describe(trained, settings), trained.outcome.model
    assert model is not None
    told = vars(_judged(model, own, pool.schema.columns, pool.schema.classes))
    return {**result, **told, "rows_test": len(own.classes)}


def _renumbered(rows: PooledRows) -> PooledRows:
    """Return rows whose sites are numbered from 0 on."""
    return replace(rows, sites=np.unique(rows.sites, return_inverse=True)[1])


def _judged(model: Model, rows: PooledRows, columns: tuple[str, ...], classes: tuple[str, ...]) -> Any:
    """Return the figures of a model on some rows; without AUC where it has other classes than all rows."""
    X = pd.DataFrame(rows.X, columns=list(columns))[list(model.schema_.columns)]
    place = {name: number for number, name in enumerate(classes)}
    predicted = np.array([place[str(one)] for one in model.predict(X)], dtype=np.int64)
    decide = getattr(model, "decision_function", None)
    if decide is None or model.schema_.classes != classes:
        found = judge(rows.classes, predicted, np.zeros((len(predicted), 1)), len(classes))
        return replace(found, auc=None)
    decisions = np.asarray(decide(X))
    columnwise = decisions[:, None] if decisions.ndim == 1 else decisions
    return judge(rows.classes, predicted, columnwise, len(classes))
