"""What the accuracy of private models is measured on, and beside what: data sets, strategies, and central peers."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

from clients.table.table import align
from flower_pansvm.errors import SettingError
from flower_pansvm.schema import class_names
from flower_pansvm.terms import Scalar
from simulations.cli.assignments import assignments
from simulations.data.datasets import load_dataset
from simulations.data.pooling import Pooled, PooledRows, fit_scaling, pooled
from simulations.data.sites import join_data
from simulations.engines.running import train_in_process, with_sites_of_data
from strategies.settings import Settings, settings_from
from strategies.steps.public_ranges import rounded_outward

DIFFPRIVLIB, EXACT, MAJORITY = "diffprivlib", "exact", "majority"
SITES = 5


@dataclass(frozen=True)
class DataSet:
    """A data set of the benchmark.

    Parameters
    ----------
    sources : tuple of str
        Names in the folder of data sets; several are one site each.
    positive : str
        Labels that count as positive, by commas.
    C : float
        Of the exact SVM.
    gamma : float or 'scale'
        Of the exact SVM's RBF kernel.
    test : str
        Data set to test on, of which nothing is trained on; else a fifth of the rows is left out.
    """

    sources: tuple[str, ...]
    positive: str = ""
    C: float = 1.0
    gamma: float | str = "scale"
    test: str = ""


HOSPITALS = ("heart-cleveland", "heart-hungarian", "heart-switzerland", "heart-va")
SETS: Mapping[str, DataSet] = {
    "diabetes": DataSet(("diabetes",)),
    "breast_cancer": DataSet(("breast_cancer",)),
    "australian": DataSet(("australian",)),
    "german.numer": DataSet(("german.numer",)),
    "heart": DataSet(HOSPITALS, positive="1,2,3,4"),
    "spambase": DataSet(("spambase",), C=10.0),
    "cod-rna.scaled": DataSet(("cod-rna.scaled",), C=32.0, gamma=0.5),
    "a9a": DataSet(("a9a",)),
    "letter": DataSet(("letter",), C=10.0, test="letter.t"),
}


class Measured(NamedTuple):
    """One model; what it cost is 0 of a central one.

    Parameters
    ----------
    accuracy : float
        Share of the test rows that it gets right, counted in one place, without noise.
    numbers_per_site : int
        Numbers that each site sent into secure sums.
    round_trips : int
        With those for joining.
    """

    accuracy: float
    numbers_per_site: int = 0
    round_trips: int = 0


def measure(name: str, data_dir: Path, method: str, epsilon: float, seed: int) -> Measured:
    """Train a model and try it on the rows that the seed leaves out.

    Parameters
    ----------
    name : str
        One of `SETS`.
    data_dir : Path
        Folder of data sets.
    method : str
        A strategy, with settings after it if they are not the default (``dp-svm steps=0``), or one of `DIFFPRIVLIB`,
        `EXACT` and `MAJORITY`.
    epsilon : float
        The promise; without meaning for the last two.
    seed : int
        Of the split, the sites and all that is drawn; in a simulation of the noise too.

    Raises
    ------
    PanSVMError
        If there is no such strategy, or it cannot do with the data.
    """
    one, rows = SETS[name], _pooled(name, data_dir, seed)
    central = {
        DIFFPRIVLIB: lambda: _diffprivlib(rows, epsilon, seed),
        EXACT: lambda: _exact(one, rows),
        MAJORITY: lambda: _majority(rows),
    }
    if method in central:
        return Measured(float(np.mean(central[method]() == rows.test.classes)))
    kind, *pairs = method.split()
    own: dict[str, Scalar] = {"strategy": kind, "epsilon": epsilon, **dict(assignments(pairs))}
    strategy = train_in_process(_settings(name, data_dir, seed, own))
    model, costs = strategy.outcome.model, strategy.federation.costs
    if model is None:
        raise SettingError(f"The strategy {method} makes no model, so that there is nothing to measure.")
    true = np.array(rows.schema.classes)[rows.test.classes]
    X = pd.DataFrame(rows.test.X, columns=list(rows.schema.columns))
    sent = sum(one["numbers_per_site"] for one in costs.disclosed() if one["how"] != "disclosed")
    return Measured(float(np.mean(model.predict(X).astype(str) == true)), sent, costs.round_trips)


def _settings(name: str, data_dir: Path, seed: int, own: Mapping[str, Scalar]) -> Settings:
    one = SETS[name]
    return with_sites_of_data(
        settings_from(
            {
                "data": join_data(one.sources, str(data_dir)),
                "data-dir": str(data_dir),
                "positive": one.positive,
                "sites": SITES,
                "test-fraction": 0.0 if one.test else 0.2,
                "seed": seed,
                **own,
            }
        )
    )


@lru_cache(maxsize=1)
def _pooled(name: str, data_dir: Path, seed: int) -> Pooled:
    rows, test = pooled(_settings(name, data_dir, seed, {})), SETS[name].test
    if not test:
        return rows
    table = load_dataset(test, "", data_dir)
    classes = rows.schema.indices(class_names(() if table.labels is None else table.labels, ()))
    nobody = np.full(len(classes), -1)
    return replace(rows, test=PooledRows(align(table, rows.schema.columns).X, classes, nobody, nobody))


def _exact(one: DataSet, rows: Pooled) -> NDArray[np.int64]:
    scaling = fit_scaling("standard", rows.train.X)
    svc = SVC(C=one.C, gamma=one.gamma, cache_size=1000)
    svc.fit(scaling.transform(rows.train.X), rows.train.classes)
    found: NDArray[np.int64] = svc.predict(scaling.transform(rows.test.X))
    return found


def _majority(rows: Pooled) -> NDArray[np.int64]:
    return np.full(len(rows.test.classes), np.bincount(rows.train.classes).argmax())


def _diffprivlib(rows: Pooled, epsilon: float, seed: int) -> NDArray[np.int64]:
    """Return what diffprivlib's logistic regression says, a trusted curator's, with all but its bounds by default.

    It is told the columns' public ends only, as DP-SVM is: cells become numbers from -1 to 1, missing ones 0.
    """
    try:
        # Not a dependency: 0.6.6 does not import with scikit-learn 1.9.
        from diffprivlib.models import LogisticRegression  # noqa: PLC0415
    except ImportError as error:
        raise SettingError(
            f"diffprivlib cannot be imported ({error}). Install it in an environment of its own: "
            "pip install 'flower-pansvm[simulation]' diffprivlib==0.6.6 'scikit-learn<1.7'."
        ) from None
    cells = np.vstack([rows.train.X, rows.test.X])
    low = np.array([rounded_outward(end, up=False) for end in np.nanmin(cells, axis=0)])
    high = np.array([rounded_outward(end, up=True) for end in np.nanmax(cells, axis=0)])
    width = np.where(high > low, high - low, 1.0)

    def scaled(X: NDArray[np.float64]) -> NDArray[np.float64]:
        places: NDArray[np.float64] = np.nan_to_num(2 * (X - low) / width - 1)
        return places

    classifier: Any = LogisticRegression(epsilon=epsilon, data_norm=math.sqrt(len(low)), random_state=seed)
    with warnings.catch_warnings():
        # It uses scikit-learn's older names, and often stops at max_iter, which is its default.
        warnings.simplefilter("ignore")
        classifier.fit(scaled(rows.train.X), rows.train.classes)
    found: NDArray[np.int64] = classifier.predict(scaled(rows.test.X))
    return found
