"""H. Li et al., Privacy Preserving RBF Kernel Support Vector Machine, BioMed Research International 2014.

The census of the paper is not to be had: Adult stands in, in the paper's numbers of rows and columns.
"""

import numpy as np
import pandas as pd

from flower_pansvm.terms import Scalar
from simulations.comparison.workers import Result
from simulations.papers.declared import declared
from simulations.papers.reproduction import Place, Prepared, Setup, per_run

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

DIMENSIONS = {5: 4, 8: 7, 11: 10, 14: 13}
"""The paper's dimensions, of which income is one, and how many predictors these are."""

RATES = (0.1, 0.3, 0.5, 0.8, 1.0)
TRAIN, TEST = 27_000, 3_000
BRAZIL_ROWS = 16_281
SIGMA, FREQUENCIES = 2.0, 10
C_TOTAL = {0.5: 100.0, 1.0: 300.0, 2.0: 300.0, 4.0: 300.0}
"""By epsilon; the more noise, the smaller."""

HYBRID, PRIVATE, FULL = "hybrid", "private", "all rows"
METHODS = (HYBRID, PRIVATE, "50 public rows", "100 public rows", "200 public rows", FULL)
"""The last four are SVMs of public rows: three small sets, and all training rows."""


def census(data: str, method: str, epsilon: float = 1.0, rate: float = 1.0) -> list[Setup]:
    """Return a run but for its seed, which is that of split, map and noise.

    Parameters
    ----------
    data : str
        A prepared set, without its rate.
    method : str
        `HYBRID`, `PRIVATE`, `FULL`, or a number of public rows.
    epsilon : float
        The promise of the first two.
    rate : float
        Share of the training rows.
    """
    common: dict[str, Scalar] = {"sites": 5, "test_fraction": 0.1 / (0.1 + 0.9 * rate)}
    name = data if rate == 1.0 else f"{data}-{rate:g}"
    if method in (HYBRID, PRIVATE):
        private = {
            "epsilon": epsilon,
            "C_total": C_TOTAL[epsilon],
            "frequencies": FREQUENCIES,
            "gamma": 1 / SIGMA**2,
        }
        return [Setup(f"{method}-svm", name, private | common)]
    central: dict[str, Scalar] = {"scaling": "none", "gamma": 1 / SIGMA**2, "C": 1.0}
    strategy = "central:svc" if method == FULL else f"public:{method.removesuffix(' public rows')}"
    return [Setup(strategy, name, central | common)]


def auc(result: Result) -> float | None:
    """Return the area under the ROC curve of the rows left out, in percent."""
    return None if result["auc"] is None else 100.0 * float(result["auc"])


Setups = dict[Place, list[Setup]]


def by_epsilon(data: str) -> Setups:
    """Return what is run for Figure 3 or 4; SVMs of public rows are the same at each epsilon."""
    return {
        (method, f"{epsilon:g}"): census(data, method, epsilon) for method in METHODS for epsilon in C_TOTAL
    }


def by_dimensions(data: str) -> Setups:
    """Return what is run for Figure 5 or 6: all methods, epsilon 1, on 4 to 13 predictors."""
    return {
        (method, f"{count} dimensions"): census(f"{data}-{count}", method)
        for method in METHODS
        for count in DIMENSIONS
    }


def by_rate(data: str) -> Setups:
    """Return what is run for Figure 7 or 8: both strategies, epsilon 1, on a share of the training rows."""
    return {
        (method, f"{rate:g}"): census(data, method, rate=rate)
        for method in (HYBRID, PRIVATE)
        for rate in RATES
    }


for name, setups in {
    "li-figure-3": by_epsilon("adult-14"),
    "li-figure-4": by_epsilon("adult-test-14"),
    "li-figure-5": by_dimensions("adult"),
    "li-figure-6": by_dimensions("adult-test"),
    "li-figure-7": by_rate("adult-14"),
    "li-figure-8": by_rate("adult-test-14"),
}.items():
    declared(name, setups, per_run(auc))

declared(
    "li-figure-9",
    {
        **{("all rows", f"{count} dimensions"): census(f"adult-{count}", HYBRID) for count in DIMENSIONS},
        **{("14 dimensions", f"rate {rate:g}"): census("adult-14", HYBRID, rate=rate) for rate in RATES},
    },
    per_run(lambda result: result["wall"]),
)


def adult(file: str, rows: int, predictors: int) -> Prepared:
    """Return Adult with some of its predictors and rows, the same whatever the predictors."""
    return Prepared((file,), lambda table: predictors_of(table, rows, predictors))


def predictors_of(table: pd.DataFrame, rows: int, predictors: int) -> pd.DataFrame:
    """Return the first predictors of random rows of a9a, each from 0 to 1."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(table))[:rows])
    cells = table.iloc[chosen].fillna(0.0)
    found = {}
    for name in list(COLUMNS)[:predictors]:
        columns = cells[list(COLUMNS[name])].to_numpy(dtype=float)
        steps = np.linspace(0, 1, columns.shape[1]) if name in ORDERED else np.ones(columns.shape[1])
        found[name] = np.clip(columns @ steps, 0.0, 1.0)
    return pd.DataFrame(found).assign(label=cells["label"].to_numpy())


PREPARED = {
    **{f"adult-{count}": adult("a9a", TRAIN + TEST, own) for count, own in DIMENSIONS.items()},
    **{f"adult-test-{count}": adult("a9a.t", BRAZIL_ROWS, own) for count, own in DIMENSIONS.items()},
    **{
        f"{name}-{rate:g}": adult(file, round((0.1 + 0.9 * rate) * rows), DIMENSIONS[14])
        for rate in RATES[:-1]
        for name, file, rows in (("adult-14", "a9a", TRAIN + TEST), ("adult-test-14", "a9a.t", BRAZIL_ROWS))
    },
}
"""The stand-ins, by predictors and by rate."""
