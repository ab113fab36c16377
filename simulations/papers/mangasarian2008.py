"""O. L. Mangasarian, E. W. Wild, Privacy-Preserving Random Kernel Classification, DMI Report 08-02, 2008.

A run is one fold of Table 1: the error of one of the three ways to train, on one data set in so many column blocks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist, pdist
from scipy.stats import qmc
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.random_kernel import random_matrix
from simulations.comparison.workers import Result
from simulations.data.datasets import load_dataset
from simulations.papers.declared import declared
from simulations.papers.reproduction import Position, Prepared, Setup, experiment, per_cell
from strategies.random_kernel.training import most_rows, one_norm_svm
from strategies.settings import Settings

SETS = {
    "CH": "heart-297",
    "IO": "ionosphere",
    "WD": "breast_cancer",
    "AR": "arrhythmia-normal",
    "PI": "diabetes",
    "BL": "liver-disorders",
    "GC": "german.numer",
}
"""Data set behind each of the paper's abbreviations."""

BLOCKS = {"CH": 4, "IO": 8, "WD": 8, "AR": 8, "PI": 4, "BL": 2, "GC": 8}
"""Most column blocks of each set in Table 1; the others are 1, 2 and 4."""

FOLDS, INNER_FOLDS = 10, 5
ROWS_OF_A_CELL = 25
CELLS = 4
"""Cells of a fold that are trained alone, drawn at random; the paper's mean is over all of them."""

POINTS = 30
"""Of each of the two designs."""

LOG_NU = (-7.0, 7.0)
MU_TIMES_DISTANCE = (0.01, 20.0)
"""Range of mu, times the median squared distance between training rows."""


def heart(whole: pd.DataFrame) -> pd.DataFrame:
    """Return Cleveland's 297 patients without missing cells; any disease is positive."""
    kept = whole.dropna()
    return kept.assign(label=(kept["label"] > 0).astype(np.int64))


def arrhythmia(whole: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a column's mean in its missing cells; class 1, normal, against all others."""
    filled = whole.fillna(whole.mean(numeric_only=True))
    return filled.assign(label=(whole["label"] == 1).astype(np.int64))


PREPARED = {
    "heart-297": Prepared(("heart-cleveland",), heart),
    "arrhythmia-normal": Prepared(("arrhythmia",), arrhythmia),
}
"""Sets that are made from files of the folder."""


@dataclass(frozen=True)
class Part:
    """Rows of [0, 1] and their classes, 1 or -1: of a training part or a test part."""

    X: Floats
    d: Floats

    def of(self, rows: Any, columns: Any = slice(None)) -> "Part":
        """Return some of the rows and columns."""
        return Part(self.X[rows][:, columns], self.d[rows])


def load(source: str) -> Part:
    """Return a data set with each column scaled to [0, 1] over all rows; a constant one becomes 0."""
    table = load_dataset(source)
    assert table.labels is not None
    low, width = table.X.min(axis=0), np.ptp(table.X, axis=0)
    X = (table.X - low) / np.where(width > 0, width, 1.0)
    return Part(X, np.where(table.labels == np.unique(table.labels)[1], 1.0, -1.0))


def split(whole: Part, fold: int) -> tuple[Part, Part]:
    """Return the training and the test part of one of ten folds."""
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(whole.X, whole.d)
    train, test = list(parts)[fold]
    return whole.of(train), whole.of(test)


def column_blocks(columns: int, blocks: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the columns of each block, contiguous and as equal as can be."""
    return np.array_split(np.arange(columns), blocks)


def rows_of_b(whole: Part, blocks: int) -> int:
    """Return the number of rows of B."""
    return most_rows(len(whole.X), min(map(len, column_blocks(whole.X.shape[1], blocks))))


def random_rows(whole: Part, blocks: int, fold: int) -> Floats:
    """Return B of all column blocks side by side, each from a seed of its own."""
    rows = rows_of_b(whole, blocks)
    seeds = (f"fold {fold}, block {block} of {blocks}".encode() for block in range(blocks))
    sizes = map(len, column_blocks(whole.X.shape[1], blocks))
    return np.hstack([random_matrix(seed, rows, size) for seed, size in zip(seeds, sizes, strict=True)])


def errors(decisions: Floats, d: Floats) -> float:
    """Return the share of rows on the wrong side."""
    return float((np.where(decisions > 0, 1.0, -1.0) != d).mean())


def tuned(train: Part, test: Part, Z: Floats | None, folds: Sequence[Any], seed: int) -> float:
    """Return the test error of K(A, Z'), nu and mu chosen by cross-validation; without Z by K(A, A').

    The Gaussian kernel of all columns is the product of those of the column blocks (3.9), so it is computed at once.
    """
    D = cdist(train.X, train.X if Z is None else Z, "sqeuclidean")

    def error_of(nu: float, mu: float) -> float:
        K, wrong = np.exp(-mu * D), 0.0
        for inside, outside in folds:
            # Of the kernel with the rows themselves only columns of rows that are trained on.
            used = inside if Z is None else slice(None)
            u, gamma = one_norm_svm(K[inside][:, used], train.d[inside], nu)
            wrong += len(outside) * errors(K[outside][:, used] @ u - gamma, train.d[outside])
        return wrong / len(train.d)

    distances = pdist(train.X, "sqeuclidean")
    nu, mu = choose(float(np.median(distances)) or 1.0, error_of, seed)
    u, gamma = one_norm_svm(np.exp(-mu * D), train.d, nu)
    K_test = np.exp(-mu * cdist(test.X, train.X if Z is None else Z, "sqeuclidean"))
    return errors(K_test @ u - gamma, test.d)


def inner_folds(train: Part) -> list[Any]:
    """Return five folds of the training part, the same for all points."""
    return list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1).split(train.X, train.d))


def choose(distance: float, error_of: Callable[[float, float], float], seed: int) -> tuple[float, float]:
    """Return the nu and mu with the fewest errors among two designs, the second half as wide around the best.

    Parameters
    ----------
    distance : float
        Median squared distance between training rows.
    error_of : callable
        Of nu and mu, the share of errors.
    seed : int
        Of the points.

    Returns
    -------
    nu, mu : float
        Of equal errors the smaller nu, then the smaller mu.
    """
    low = np.array([LOG_NU[0], np.log10(MU_TIMES_DISTANCE[0] / distance)])
    high = np.array([LOG_NU[1], np.log10(MU_TIMES_DISTANCE[1] / distance)])
    best = (np.inf, 0.0, 0.0)
    for design in range(2):
        sobol = qmc.Sobol(2, seed=np.random.default_rng([seed, design]))
        # A power of two keeps Sobol points balanced; the first ones of it are taken.
        for point in low + sobol.random_base2(5)[:POINTS] * (high - low):
            error = error_of(10 ** point[0], 10 ** point[1])
            best = min(best, (error, float(point[0]), float(point[1])))
        centre, width = np.array(best[1:]), (high - low) / 2
        low, high = centre - width / 2, centre + width / 2
    return 10 ** best[1], 10 ** best[2]


def rows(source: str, blocks: int, fold: int) -> dict[str, Any]:  # noqa: ARG001
    """Return the number of rows of B, by its name in a run."""
    return {"rows_of_matrix": rows_of_b(load(source), blocks)}


def shared(source: str, blocks: int, fold: int) -> dict[str, Any]:
    """Return the error of K(A, B')."""
    whole = load(source)
    train, test = split(whole, fold)
    error = tuned(train, test, random_rows(whole, blocks, fold), inner_folds(train), fold)
    return {"accuracy": 1.0 - error}


def ideal(source: str, blocks: int, fold: int) -> dict[str, Any]:  # noqa: ARG001
    """Return the error of K(A, Ā'), where Ā is a random tenth of the training rows."""
    train, test = split(load(source), fold)
    tenth = np.random.default_rng(fold).permutation(len(train.X))[: len(train.X) // 10]
    return {"accuracy": 1.0 - tuned(train, test, train.X[tenth], inner_folds(train), fold)}


def alone(source: str, blocks: int, fold: int) -> dict[str, Any]:
    """Return the mean error of some cells that train on their own rows and columns."""
    train, test = split(load(source), fold)
    generator = np.random.default_rng([fold, blocks])
    row_blocks = np.array_split(
        generator.permutation(len(train.X)), max(1, round(len(train.X) / ROWS_OF_A_CELL))
    )
    columns = column_blocks(train.X.shape[1], blocks)
    indices = generator.permutation(len(row_blocks) * blocks)[:CELLS]
    cell_errors = []
    for index in indices:
        features, members = columns[index % blocks], row_blocks[index // blocks]
        cell = train.of(members, features)
        cell_errors.append(
            tuned(cell, test.of(slice(None), features), None, list(LeaveOneOut().split(cell.X)), int(index))
        )
    return {"accuracy": 1.0 - float(np.mean(cell_errors)), "cells": len(cell_errors)}


COLUMNS = {
    "rows of B": ("rows", rows),
    "Ideal": ("ideal", ideal),
    "PPSVM": ("ppsvm", shared),
    "No sharing": ("no-sharing", alone),
}
"""Each column's name in a run, and its function of a data source, column blocks and a fold."""


@experiment("mangasarian", "random-kernel")
def one_fold(name: str, settings: Settings) -> dict[str, Any]:
    """Return the result of a run, named ``WAY BLOCKS``; its seed is the fold."""
    way, blocks = name.split()
    result = dict(COLUMNS.values())[way](settings.data, int(blocks), settings.seed)
    return {**result, "tested": 1 / FOLDS}


def fold_of(way: str, data: str, blocks: int) -> Setup:
    """Return a run but for its fold; that of the ideal classifier is the same for any number of column blocks."""
    return Setup(f"mangasarian:{way} {1 if way == 'ideal' else blocks}", data, {})


def rows_or_error(position: Position, result: Result) -> float:
    """Return the rows of B, or the error."""
    return float(result["rows_of_matrix"]) if position[1] == "rows of B" else 1.0 - float(result["accuracy"])


declared(
    "mangasarian-table-1",
    {
        (f"{name}, s = {blocks}", column): [fold_of(way, SETS[name], blocks)]
        for column, (way, _) in COLUMNS.items()
        for name, most in BLOCKS.items()
        for blocks in (1, 2, 4, 8)
        if blocks <= most
    },
    per_cell(rows_or_error),
)
