"""A table whose one owner distorts it and publishes all rows: the experiments of Lin et al. 2011, section IV."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from clients.local.distortion import filled
from flower_pansvm.correlation_selection import select
from flower_pansvm.ssvd import distort, sparsified, values_kept
from simulations.data.datasets import load_dataset
from simulations.distortion import column_correlation, distortion, linked_rows, matched_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 10
ALL, LARGER_R = "all ", "larger r "
"""Before the names of metrics over all columns where only some are selected afterwards; and of metrics with the number
of all singular values for r in the thresholds (6), as the paper's table of sonar has them."""


def one_owner(experiment: str, data: str, seed: int) -> dict[str, Any]:
    """Return what an experiment finds, ready for JSON: accuracy over ten folds, features, metrics of the distortion.

    Parameters
    ----------
    experiment : str
        ``original``: neither selection nor distortion; ``selected``: selection only; ``select-first``: the paper's
        experiment 2; ``perturb-first``: experiment 3.
    data : str
        A data set as in the setting ``data``.
    seed : int
        Of the folds.
    """
    table = load_dataset(data)
    assert table.labels is not None
    X, y = filled(table.X), np.unique(table.labels, return_inverse=True)[1]
    if experiment == "original":
        return {"accuracy": accuracy(X, y, seed), "features": X.shape[1]}
    columns = select(X, y)
    if experiment == "selected":
        return {"accuracy": accuracy(X[:, columns], y, seed), "features": int(columns.sum())}
    original = X[:, columns] if experiment == "select-first" else X
    distorted = distort(original)
    found: dict[str, Any] = errors(original, distorted)
    found |= renamed(ALL, metrics(original, distorted))
    found |= renamed(LARGER_R, metrics(original, with_larger_r(original)))
    if experiment == "perturb-first":
        columns = select(distorted, y)
        original, distorted = original[:, columns], distorted[:, columns]
    found |= metrics(original, distorted)
    return {"accuracy": accuracy(distorted, y, seed), "features": int(columns.sum()), **found}


def accuracy(X: Floats, y: Ints, seed: int) -> float:
    """Return the share of rows that a linear SVM tells right over ten stratified folds: the defaults of Weka's SMO."""
    classifier = make_pipeline(MinMaxScaler(), SVC(kernel="linear", C=1.0))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return float((cross_val_predict(classifier, X, y, cv=folds) == y).mean())


def metrics(original: Floats, distorted: Floats) -> dict[str, float]:
    """Return the paper's metrics, the share of rows that are linked, and the correlation of columns."""
    rows = len(original)
    return {
        **asdict(distortion(original, distorted)),
        "linked": linked_rows(original, distorted) / rows,
        "matched": matched_rows(original, distorted) / rows,
        "correlation": column_correlation(original, distorted),
    }


def errors(A: Floats, distorted: Floats) -> dict[str, float]:
    """Return how many singular values are kept, SK of NSV, and the Frobenius norms of both errors, as shares of A's.

    E1 is that of the values that go, E2 that of the small entries of singular vectors (section II).
    """
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept, whole = values_kept(sigma), float(np.linalg.norm(A))
    lower_rank = (U[:, :kept] * sigma[:kept]) @ Vt[:kept]
    return {
        "SK": kept,
        "NSV": len(sigma),
        "E1": float(np.linalg.norm(A - lower_rank)) / whole,
        "E2": float(np.linalg.norm(lower_rank - distorted)) / whole,
    }


def with_larger_r(A: Floats) -> Floats:
    """Return the distorted copy of a table whose thresholds (6) are made as if all singular values were kept."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept = np.where(np.arange(len(sigma)) < values_kept(sigma), sigma, 0.0)
    copy: Floats = (sparsified(U, len(sigma)) * kept) @ sparsified(Vt.T, len(sigma)).T
    return copy


def renamed(prefix: str, found: dict[str, float]) -> dict[str, float]:
    """Return numbers under longer names."""
    return {prefix + name: number for name, number in found.items()}
