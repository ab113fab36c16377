"""P. Lin et al., Feature Selection: A Preprocess for Data Perturbation, 2011.

One owner of a table distorts it and publishes all rows: the experiments of section IV, in two orders of work.
"""

from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from clients.systems.ssvd import filled
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.systems.ssvd import distort, select, sparsified, values_kept
from simulations.comparison.workers import Result
from simulations.data.datasets import load_dataset
from simulations.papers.declared import declared
from simulations.papers.reproduction import FOLD_DEVIATION, Position, Setup, experiment, of_folds, per_cell
from strategies.settings import Settings

FOLDS = 10
ALL, LARGER_R = "all ", "larger r "
"""Before the names of metrics over all columns where only some are selected afterwards; and of metrics with the number
of all singular values for r in the thresholds (6), as the paper's table of sonar has them."""

SETS = {"WBC": "breast_cancer", "Sonar": "sonar", "Ionosphere": "ionosphere"}
"""The sets by the paper's names."""

EXPERIMENTS = {"Org": "original", "Fs": "selected", "Ep2": "select-first", "Ep3": "perturb-first"}
"""The experiment of each row of Table II."""


@experiment("owner", "ssvd")
def owner_figures(name: str, settings: Settings) -> dict[str, Any]:
    """Return an owner's figures in one of `EXPERIMENTS`: accuracy over ten folds, features, metrics."""
    table, seed = load_dataset(settings.data), settings.seed
    assert table.labels is not None
    X, y = filled(table.X), np.unique(table.labels, return_inverse=True)[1]
    if name == "original":
        return {**accuracy(X, y, seed), "features": X.shape[1]}
    columns = select(X, y)
    if name == "selected":
        return {**accuracy(X[:, columns], y, seed), "features": int(columns.sum())}
    original = X[:, columns] if name == "select-first" else X
    distorted = distort(original)
    sigma = np.asarray(np.linalg.svd(original, full_matrices=False)[1], dtype=np.float64)
    metrics: dict[str, Any] = {"SK": values_kept(sigma), "NSV": len(sigma)}
    metrics |= renamed(ALL, distortion(original, distorted))
    metrics |= renamed(LARGER_R, distortion(original, with_larger_r(original)))
    if name == "perturb-first":
        columns = select(distorted, y)
        original, distorted = original[:, columns], distorted[:, columns]
    metrics |= distortion(original, distorted)
    return {**accuracy(distorted, y, seed), "features": int(columns.sum()), **metrics}


def accuracy(X: Floats, y: Ints, seed: int) -> dict[str, Any]:
    """Return the accuracy of a linear SVM over ten stratified folds, with the defaults of Weka's SMO."""
    classifier = make_pipeline(MinMaxScaler(), SVC(kernel="linear", C=1.0))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return of_folds(cross_val_score(classifier, X, y, cv=folds))


def distortion(original: Floats, distorted: Floats) -> dict[str, float]:
    """Return the paper's five metrics of a distorted table (section III, Table I).

    VD is the Frobenius norm of the difference over that of the table, equation (7); RP the mean change of a cell's rank
    in its column, RM the share of the cells whose rank is the same; CP and CK the same of columns, ranked by their
    means. Of equal cells the upper has the smaller rank (Algorithm 1). The paper prints a sum to the number of rows for
    CP: it is that of columns, as its tables show.

    Parameters
    ----------
    original, distorted : ndarray of shape (rows, columns)
        The tables, their rows in the same order. Without a cell that is not 0, VD is not a number.
    """
    cells = _ranks(original) - _ranks(distorted)
    columns = _ranks(original.mean(axis=0)) - _ranks(distorted.mean(axis=0))
    return {
        "VD": float(np.linalg.norm(original - distorted) / np.linalg.norm(original)),
        "RP": float(np.abs(cells).mean()),
        "RM": float((cells == 0).mean()),
        "CP": float(np.abs(columns).mean()),
        "CK": float((columns == 0).mean()),
    }


def _ranks(A: Floats) -> Floats:
    ranks: Floats = rankdata(A, method="ordinal", axis=0)
    return ranks


def with_larger_r(A: Floats) -> Floats:
    """Return the distorted copy of a table whose thresholds (6) are made as if all singular values were kept."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept = np.where(np.arange(len(sigma)) < values_kept(sigma), sigma, 0.0)
    return (sparsified(U, len(sigma)) * kept) @ sparsified(Vt.T, len(sigma)).T


def renamed(prefix: str, metrics: dict[str, float]) -> dict[str, float]:
    """Return metrics with a prefix before their names."""
    return {prefix + name: value for name, value in metrics.items()}


FEATURES = " features"

declared(
    "lin-table-2",
    {
        (row, name + what): [Setup(f"owner:{experiment_name}", data, {})]
        for row, experiment_name in EXPERIMENTS.items()
        for name, data in SETS.items()
        for what in ("", FEATURES)
    },
    per_cell(
        lambda position, result: (
            result["features"] if position[1].endswith(FEATURES) else 100.0 * float(result["accuracy"])
        )
    ),
    lambda position, results: [] if position[1].endswith(FEATURES) else FOLD_DEVIATION(position, results),
)

METRICS = ("VD", "RP", "RM", "CP", "CK", "SK", "NSV")
OF_TABLE = ("SK", "NSV")
"""Metrics of the whole distorted table, whichever columns are selected."""

PREFIXES = {
    "Ep2": "",
    "Ep2, r = NSV in (6)": LARGER_R,
    "Ep3, columns selected afterwards": "",
    "Ep3, all columns": ALL,
}
"""The rows of Tables III to V, and the prefix of their metrics in a run."""


def level(position: Position, result: Result) -> float:
    """Return a metric."""
    row, column = position
    return float(result[column if column in OF_TABLE else PREFIXES[row] + column])


for table, data in enumerate(SETS.values(), start=3):
    # Nothing is random, so that one run of each experiment is all.
    declared(
        f"lin-table-{table}",
        {
            (row, column): [Setup(f"owner:{EXPERIMENTS[row[:3]]}", data, {})]
            for row in PREFIXES
            for column in METRICS
        },
        per_cell(level),
    )
