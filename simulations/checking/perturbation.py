"""What level `perturbed` is worth on a table: how near an attacker comes to its cells and records, noise or not."""

import secrets
from dataclasses import replace

import numpy as np
from sklearn.neighbors import NearestNeighbors

from clients.perturb import PerturbedTerms, perturbed_table
from clients.table.table import Table, columns_text
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.table_schema import TableSchema
from simulations.checking.cells import FEW

WORTH = (0.25, 0.5)
"""The noises of which it is told: the default of runs, and that of hospitals."""

NOTHING = 0.5
"""Share of the noise below which what is left of it protects nothing."""

MOST_ROWS = 2000
"""Records whose nearest copy is looked for."""


def worth(table: Table, schema: TableSchema | None) -> tuple[bool, str]:
    """Return whether level `perturbed` protects a table's cells, and what is to be said of it.

    The text is empty where the table has too few records or columns that differ to say anything.
    """
    columns, X = varied(table.X), table.X
    if len(X) < FEW or not columns.any():
        return True, ""
    errors = np.array([filter_errors(standardised(X[:, columns]), noise) for noise in WORTH])
    of_all, apart = np.sqrt(np.mean(errors**2, axis=1)), NOTHING * WORTH[-1]
    noises = " and ".join(map(str, WORTH))
    shares = " and ".join(f"{next_to_their_own(table, schema, noise):.0%}" for noise in WORTH)
    told = (
        f"The best linear guess of a cell is off by {' and '.join(f'{error:.2f}' for error in of_all)} deviations, on "
        f"average, where noise is {noises}. Of {shares} of the records, the nearest copy is their own: an attacker who "
        "knows a record can tell that it took part."
    )
    if of_all[-1] < apart:
        return False, (
            "Level perturbed is worth nothing on this table: columns follow each other, as genes do, and the noise of "
            f"one is told by the others. {told} Use level dp."
        )
    names = [table.columns[place] for place in np.flatnonzero(columns)[errors[-1] < apart]]
    more = f" Guesses of {columns_text(names)} are less than half as far off as the noise." if names else ""
    return True, f"What level perturbed is worth on this table: {told}{more}"


def varied(X: Floats) -> Bools:
    """Return which columns hold two different numbers, shape (columns,)."""
    return np.array([len(np.unique(cells[~np.isnan(cells)])) > 1 for cells in X.T], dtype=np.bool_)


def standardised(X: Floats) -> Floats:
    """Return columns with mean 0 and deviation 1, a missing cell as 0."""
    Z: Floats = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    return Z


def filter_errors(Z: Floats, noise: float) -> Floats:
    """Return the root mean square error of the best linear guess of each column from noisy ones, shape (columns,).

    With the covariance C of standardised columns, and noise of variance σ² in each, it is the root of the diagonal of
    C - C (C + σ² I)^-1 C (Wiener 1949).

    Examples
    --------
    Columns that have nothing to do with each other give σ / sqrt(1 + σ²); a column that is there twice, less.

    >>> Z = np.array([[1.0, 1, 1], [1, 1, -1], [-1, -1, 1], [-1, -1, -1]])
    >>> filter_errors(Z, 0.5).round(3).tolist()
    [0.333, 0.333, 0.447]
    """
    # The triangle has the same singular values and axes; genes have fewer rows than columns anyway.
    triangle = np.linalg.qr(Z, mode="r") if len(Z) > Z.shape[1] else Z
    _, singular, axes = np.linalg.svd(triangle, full_matrices=False)
    variances = singular**2 / len(Z)
    left: Floats = np.sqrt((variances * noise**2 / (variances + noise**2)) @ axes**2)
    return left


def next_to_their_own(table: Table, schema: TableSchema | None, noise: float) -> float:
    """Return the share of a table's records whose nearest copy is their own; with a key of this moment alone."""
    rows = np.random.default_rng(0).permutation(len(table.X))[:MOST_ROWS]
    own = replace(table, cells=table.X[rows], labels=None)
    copy = perturbed_table(own, "", schema, PerturbedTerms(noise), secrets.token_bytes(32))
    columns = varied(own.X)
    true, copies = own.X[:, columns], copy.X[:, columns]
    mean, deviation = np.nanmean(true, axis=0), np.nanstd(true, axis=0)
    true, copies = (np.nan_to_num((X - mean) / deviation) for X in (true, copies))
    nearest = NearestNeighbors(n_neighbors=1).fit(copies).kneighbors(true, return_distance=False)[:, 0]
    return float(np.mean(nearest == np.arange(len(rows))))
