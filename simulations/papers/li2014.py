"""H. Li et al., Privacy Preserving RBF Kernel Support Vector Machine, BioMed Research International 2014.

Figures 3 and 4: the hybrid and the private SVM, and SVMs of public rows, by epsilon. The census of the paper is not
to be had: Adult stands in, in the paper's numbers of rows and columns.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import all_baselines
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
"""Columns of a9a behind each predictor."""

ORDERED = ("age", "education", "hours")
"""Of these the columns are steps, 0 to 1; of the others any one makes a 1."""

ROWS = {"adult-14": ("a9a", 30_000), "adult-test-14": ("a9a.t", 16_281)}
"""Each stand-in, of the US and of Brazil: its file, and how many of its rows."""

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


def census(data: str, method: str, epsilon: float) -> Setup:
    """Return a run but for its seed, which is that of split, map and noise; public rows need no epsilon."""
    common: dict[str, Scalar] = {"sites": 5, "test_fraction": 0.1, "gamma": 1 / SIGMA**2}
    if method in PUBLIC:
        return Setup(PUBLIC[method], data, {**common, "scaling": "none", "C": 1.0})
    promise: dict[str, Scalar] = {"epsilon": epsilon, "C_total": C_TOTAL[epsilon], "frequencies": FREQUENCIES}
    return Setup(f"{method}-svm", data, common | promise)


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
    return {"auc": all_baselines()["central:svc"](settings, rows.train.of(chosen), rows.test).evaluation.auc}


for name, data in {"li-figure-3": "adult-14", "li-figure-4": "adult-test-14"}.items():
    declared(
        name,
        {
            (method, f"{epsilon:g}"): [census(data, method, epsilon)]
            for method in (*PRIVATE, *PUBLIC)
            for epsilon in C_TOTAL
        },
        per_run(auc),
    )


def predictors_of(table: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return the predictors of random rows of a9a, each from 0 to 1."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(table))[:rows])
    cells = table.iloc[chosen].fillna(0.0)
    found = {}
    for name, behind in COLUMNS.items():
        columns = cells[list(behind)].to_numpy(dtype=float)
        steps = np.linspace(0, 1, columns.shape[1]) if name in ORDERED else np.ones(columns.shape[1])
        found[name] = np.clip(columns @ steps, 0.0, 1.0)
    return pd.DataFrame(found).assign(label=cells["label"].to_numpy())


PREPARED = {name: Prepared((file,), partial(predictors_of, rows=rows)) for name, (file, rows) in ROWS.items()}
"""The stand-ins."""
