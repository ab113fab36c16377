"""Partition of the rows of one table over simulated sites."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clients.dealing import rarest_classes
from clients.patients import patient_numbers
from clients.table.form import nearest_text
from clients.table.table import Table
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError

SPLITS = (
    *("iid", "dirichlet:A or dirichlet:A:N", "quantity:A or quantity:A:N"),
    *("feature:COLUMN", "by:COLUMN", "checkerboard:RxS"),
)
CHECKERBOARD = "checkerboard:"

Rows = Ints
"""Row indices of one site."""


def partition(table: Table, sites: int, split: str, seed: int) -> list[Table]:
    """Assign every row to exactly one site; a site keeps its rows in the order of the table.

    If the schema file names a patient-id, all rows of a patient go to one site, and *row* below means patient.

    Parameters
    ----------
    table : Table
        All rows, with labels.
    sites : int
        Number of sites; each gets at least one row. Ignored by ``by:COLUMN`` and ``checkerboard:RxS``.
    split : str
        - ``iid``: shuffled, parts of equal size.
        - ``dirichlet:A``: label skew. The sites' shares of each class are drawn from a symmetric Dirichlet
          distribution; the smaller A (above 0), the fewer classes a site has. With ``dirichlet:A:N`` each site gets N
          rows of each class first, so that none lacks a class.
        - ``quantity:A``: quantity skew. Shuffled; the sites' shares are drawn from a symmetric Dirichlet distribution;
          the smaller A, the more rows a few sites have. With ``quantity:A:N`` each site gets N rows first.
        - ``feature:COLUMN``: sorted by the column's value, missing ones last, and cut into consecutive segments of
          equal size (Lu 2016, section 3.3.2.3, scenario 2). A patient's value is the mean of its rows'.
        - ``checkerboard:RxS``: the rows shuffled into R blocks, the columns in S consecutive blocks; one site for
          each of the R S cells, row block by row block. Every cell has the labels of its rows, and the rows' numbers
          as ids. Between R and S stands an x or a multiplication sign.
        - ``by:COLUMN``: one site for each distinct value of the column, in the order of the values. The column is
          no feature. A patient with rows of several sites goes to the site with most of them.
    seed : int
        Seed of numpy's generator, for all but ``feature`` and ``by``.

    Returns
    -------
    list of Table
        One table per site.

    Raises
    ------
    SettingError
        If the split is unknown or impossible with this table.
    """
    kind, _, argument = split.partition(":")
    names = {name.partition(":")[0]: name for name in SPLITS}
    if kind not in names:
        raise SettingError(f"There is no split '{split}'. {near_matches(kind, names)}")
    if bool(argument) != (":" in names[kind]):
        raise SettingError(f"The split '{split}' is malformed. Write it as {names[kind]}.")
    if kind == "by":
        return _by_column(table, argument)
    if kind == "checkerboard":
        return _cells(table, split, seed)
    patients = patient_numbers(table)
    count = int(patients.max()) + 1
    if not 1 <= sites <= count:
        raise SettingError(
            f"{count} {'rows' if table.patients is None else 'patients'} cannot be split over {sites} sites: each of "
            "at least one site needs one. Change the setting sites."
        )
    generator = np.random.default_rng(seed)
    if kind == "iid":
        parts = np.array_split(generator.permutation(count), sites)
    elif kind == "dirichlet":
        parts = _label_skew(table, sites, split, generator)
    elif kind == "quantity":
        concentration, least = _skew(split)
        if least * sites > count:
            raise SettingError(
                f"The split '{split}' gives each of {sites} sites {least} rows, and there are {count}. Write a smaller "
                "number, or take fewer sites."
            )
        parts = _drawn_shares(generator.permutation(count), sites, concentration, max(least, 1), generator)
    else:
        values = _means(table.X[:, column_index(table.columns, argument)], patients)
        parts = np.array_split(np.argsort(values, kind="stable"), sites)
    return [rows_of(table, np.flatnonzero(np.isin(patients, members))) for members in parts]


def _means(values: Floats, patients: Ints) -> Floats:
    """Return the mean of each patient's values, shape (patients,); NaN where all are missing."""
    present = ~np.isnan(values)
    count = np.bincount(patients[present], minlength=patients.max() + 1)
    total = np.bincount(patients[present], values[present], minlength=patients.max() + 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def checkerboard(split: str) -> tuple[int, int]:
    """Return the numbers of row blocks and of column blocks of a split; SettingError if it is malformed."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})[x×]([1-9][0-9]{0,5})", split.removeprefix(CHECKERBOARD))
    if match is None:
        raise SettingError(
            f"The split '{split}' is malformed. Write it as checkerboard:RxS, such as checkerboard:4x2 for four blocks "
            "of rows and two of columns."
        )
    return int(match[1]), int(match[2])


def _cells(table: Table, split: str, seed: int) -> list[Table]:
    rows, columns = checkerboard(split)
    patients = patient_numbers(table)
    if rows > patients.max() + 1 or columns > len(table.columns):
        raise SettingError(
            f"A table of {len(table.X)} rows and {len(table.columns)} columns has no {rows} blocks of rows and "
            f"{columns} of columns. Write smaller numbers into the split."
        )
    if rows * columns < 2:
        raise SettingError("The split 'checkerboard:1x1' is one site. Write larger numbers.")
    shuffled = np.array_split(np.random.default_rng(seed).permutation(patients.max() + 1), rows)
    column_blocks = np.array_split(np.arange(len(table.columns)), columns)
    cells = []
    for block_patients in shuffled:
        block_rows = np.flatnonzero(np.isin(patients, block_patients))
        row_block = replace(rows_of(table, block_rows), ids=np.char.add("row-", block_rows.astype(np.str_)))
        for block in column_blocks:
            names = tuple(table.columns[index] for index in block)
            cells.append(replace(row_block, columns=names, X=row_block.X[:, block]))
    return cells


def _label_skew(table: Table, sites: int, split: str, generator: np.random.Generator) -> list[Rows]:
    if table.labels is None:
        raise SettingError(
            "The split 'dirichlet' needs labels, and this table has none. Choose another split."
        )
    concentration, least = _skew(split)
    parts: list[Rows] = [np.empty(0, dtype=np.int64) for _ in range(sites)]
    strata, _ = rarest_classes(table.labels, patient_numbers(table))
    for stratum, name in enumerate(np.unique(table.labels)):
        rows = generator.permutation(np.flatnonzero(strata == stratum))
        if len(rows) < least * sites:
            raise SettingError(
                f"The split '{split}' gives each of {sites} sites {least} rows of each class, and the "
                f"class '{name}' has {len(rows)}. Write a smaller number, or take fewer sites."
            )
        shares = _drawn_shares(rows, sites, concentration, least, generator)
        parts = [np.concatenate(pair) for pair in zip(parts, shares, strict=True)]
    for site in range(sites):
        if len(parts[site]) == 0:
            largest = max(range(sites), key=lambda other: len(parts[other]))
            parts[site], parts[largest] = parts[largest][-1:], parts[largest][:-1]
    return parts


def _skew(split: str) -> tuple[float, int]:
    """Return concentration and least number of rows of a split by shares; SettingError if it is malformed."""
    _, written, fewest = f"{split}:".split(":")[:3]
    try:
        concentration, least = float(written), int(fewest or 0)
    except ValueError:
        concentration, least = math.nan, 0
    # Beyond a million, shares are equal to three digits; numpy overflows at 1e308.
    if not (0 < concentration <= 1e6 and least >= 0):
        raise SettingError(
            f"In the split '{split}', A must be a number above 0 and at most 1e6; N, if it is there, a whole number."
        )
    return concentration, least


def _drawn_shares(
    rows: Rows, sites: int, concentration: float, least: int, generator: np.random.Generator
) -> list[Rows]:
    """Return the rows of each site: ``least`` each, and drawn shares of the rest."""
    guaranteed, remaining = rows[: least * sites], rows[least * sites :]
    cuts = np.cumsum(generator.dirichlet(np.full(sites, concentration)))[:-1] * len(remaining)
    shares = zip(
        np.split(guaranteed, sites), np.split(remaining, np.round(cuts).astype(np.int64)), strict=True
    )
    return [np.concatenate(pair) for pair in shares]


def _by_column(table: Table, column: str) -> list[Table]:
    index = column_index(table.columns, column)
    values = table.X[:, index]
    missing = int(np.isnan(values).sum())
    if missing:
        raise SettingError(
            f"The split 'by:{column}' needs a value in every row, but {missing} of {len(values)} rows have none. Fill "
            "the column in, or choose another split."
        )
    if len(table.columns) == 1:
        raise SettingError(f"The split 'by:{column}' leaves no feature: the table has no other column.")
    names = table.columns[:index] + table.columns[index + 1 :]
    features = replace(table, columns=names, X=np.delete(table.X, index, axis=1))
    distinct, sites = np.unique(values, return_inverse=True)
    patients = patient_numbers(table)
    counts = np.zeros((patients.max() + 1, len(distinct)), dtype=np.int64)
    np.add.at(counts, (patients, sites), 1)
    site_of_row = counts.argmax(axis=1)[patients]
    return [rows_of(features, np.flatnonzero(site_of_row == site)) for site in np.unique(site_of_row)]


def column_index(columns: Sequence[str], column: str) -> int:
    """Return the index of a split's column among the features; SettingError if it is no feature."""
    if column not in columns:
        raise SettingError(
            f"There is no feature column '{column}' to split by (the label column is not a feature). "
            f"{nearest_text(column, columns)}"
        )
    return columns.index(column)


def rows_of(table: Table, rows: Rows) -> Table:
    """Return some rows of a table."""
    labels = None if table.labels is None else table.labels[rows]
    patients = None if table.patients is None else table.patients[rows]
    return replace(table, X=table.X[rows], labels=labels, patients=patients)
