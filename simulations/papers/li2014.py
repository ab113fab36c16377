"""H. Li et al., Privacy Preserving RBF Kernel Support Vector Machine, BioMed Research International 2014.

The hybrid and the private SVM, and SVMs of public rows: by epsilon (Figures 3, 4), by dimensions (5, 6), by sampling
rate (7, 8), and what they cost (9). The census of the paper is not to be had: Adult stands in, in the paper's numbers
of rows and columns.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import BASELINES
from simulations.comparison.workers import Result
from simulations.data.pooling import pooled
from simulations.papers.declared import declared
from simulations.papers.reproduction import Prepared, Setup, experiment, per_run
from strategies.settings import Settings
from strategies.svm_settings import PanSvmSettings

COLUMNS: dict[str, tuple[str, ...]] = {
    "age": ("f1", "f2", "f3", "f4", "f5"),
    "sex": ("f73",),
    "education": ("f35", "f36", "f37", "f38", "f39"),
    "family": ("f61", "f63"),
    "native": ("f83",),
    "capital gain": ("f75",),
    "hours": ("f78", "f79", "f80", "f81", "f82"),
    "single": ("f42",),
    "married": ("f40",),
    "own child": ("f62",),
    "white": ("f67",),
    "capital loss": ("f77",),
    "private sector": ("f6",),
}
"""Columns of a9a behind each predictor, in the order in which the paper's dimensions add them."""

ORDERED = ("age", "education", "hours")
"""Of these the columns are steps, 0 to 1; of the others any one makes a 1."""

COUNTRIES = {"adult": ("a9a", 30_000), "adult-test": ("a9a.t", 16_281)}
"""Each stand-in, of the US and of Brazil: its file, and how many of its rows."""

DIMENSIONS = {5: 4, 8: 7, 11: 10, 14: 13}
"""The paper's dimensions, of which income is one, and how many predictors these are."""

RATES = (0.1, 0.3, 0.5, 0.8, 1.0)
"""Shares of the training rows."""

SIGMA, FREQUENCIES = 2.0, 10
C_TOTAL = {0.5: 100.0, 1.0: 300.0, 2.0: 300.0, 4.0: 300.0}
"""By epsilon; the more noise, the smaller."""

PRIVATE = ("hybrid", "private")
PUBLIC = {
    "50 public rows": "public:50",
    "100 public rows": "public:100",
    "200 public rows": "public:200",
    "all rows": "central:svc",
}
"""SVMs of public rows: three small sets, and all training rows."""


def census(data: str, method: str, epsilon: float = 1.0, dimensions: int = 14, rate: float = 1.0) -> Setup:
    """Return a run but for its seed, which is that of split, map and noise; public rows need no epsilon.

    The test rows are a tenth of all rows, at each rate.
    """
    name = f"{data}-{dimensions}" if rate == 1.0 else f"{data}-{dimensions}-{rate:g}"
    common: dict[str, Scalar] = {
        "sites": 5,
        "test_fraction": 0.1 / (0.1 + 0.9 * rate),
        "gamma": 1 / SIGMA**2,
    }
    if method in PUBLIC:
        return Setup(PUBLIC[method], name, {**common, "scaling": "none", "C": 1.0})
    promise: dict[str, Scalar] = {"epsilon": epsilon, "C_total": C_TOTAL[epsilon], "frequencies": FREQUENCIES}
    return Setup(f"{method}-svm", name, common | promise)


def auc(result: Result) -> float | None:
    """Return the area under the ROC curve of the rows left out, in percent."""
    return None if result["auc"] is None else 100.0 * float(result["auc"])


@experiment("public", "pan-svm")
def on_few_rows(count: str, settings: Settings) -> dict[str, Any]:
    """Return the AUC of a central SVM of so many training rows of all classes, as if only they were public."""
    assert isinstance(settings, PanSvmSettings)
    rows, few = pooled(settings), int(count)
    shuffled = np.random.default_rng(settings.seed).permutation(len(rows.train.X))
    order = np.lexsort((shuffled, rows.train.classes))
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[((np.arange(few) + 0.5) * len(order) / few).astype(np.int64)]] = True
    return {"auc": BASELINES["central:svc"](settings, rows.train.of(chosen), rows.test).evaluation.auc}


METHODS = (*PRIVATE, *PUBLIC)

for first, country in ((3, "adult"), (4, "adult-test")):
    declared(
        f"li-figure-{first}",
        {
            (method, f"{epsilon:g}"): [census(country, method, epsilon)]
            for method in METHODS
            for epsilon in C_TOTAL
        },
        per_run(auc),
    )
    declared(
        f"li-figure-{first + 2}",
        {
            (method, f"{count} dimensions"): [census(country, method, dimensions=count)]
            for method in METHODS
            for count in DIMENSIONS
        },
        per_run(auc),
    )
    declared(
        f"li-figure-{first + 4}",
        {(method, f"{rate:g}"): [census(country, method, rate=rate)] for method in PRIVATE for rate in RATES},
        per_run(auc),
    )
declared(
    "li-figure-9",
    {
        **{
            ("all rows", f"{count} dimensions"): [census("adult", "hybrid", dimensions=count)]
            for count in DIMENSIONS
        },
        **{("14 dimensions", f"rate {rate:g}"): [census("adult", "hybrid", rate=rate)] for rate in RATES},
    },
    per_run(lambda result: result["cpu"]),
)


def predictors_of(table: pd.DataFrame, rows: int, predictors: int) -> pd.DataFrame:
    """Return the first predictors of random rows of a9a, each from 0 to 1."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(table))[:rows])
    cells = table.iloc[chosen].fillna(0.0)
    values = {}
    for name in list(COLUMNS)[:predictors]:
        columns = cells[list(COLUMNS[name])].to_numpy(dtype=float)
        steps = np.linspace(0, 1, columns.shape[1]) if name in ORDERED else np.ones(columns.shape[1])
        values[name] = np.clip(columns @ steps, 0.0, 1.0)
    return pd.DataFrame(values).assign(label=cells["label"].to_numpy())


def stand_in(file: str, rows: int, predictors: int) -> Prepared:
    """Return so many rows of Adult with some of its predictors; the rows are the same whatever the predictors."""
    return Prepared((file,), partial(predictors_of, rows=rows, predictors=predictors))


PREPARED = {
    **{
        f"{country}-{count}": stand_in(file, rows, predictors)
        for country, (file, rows) in COUNTRIES.items()
        for count, predictors in DIMENSIONS.items()
    },
    **{
        f"{country}-14-{rate:g}": stand_in(file, round((0.1 + 0.9 * rate) * rows), DIMENSIONS[14])
        for country, (file, rows) in COUNTRIES.items()
        for rate in RATES[:-1]
    },
}
"""The stand-ins, by predictors and by rate."""
