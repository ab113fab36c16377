"""Findings about rows that are there twice: patients, and not what rows of few codes are by chance."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from clients.checking.cells import Cells
from clients.checking.finding import Finding, warning
from flower_pansvm.arrays import Floats, Ints

LEAST_NEARLY, NEARLY, BY_CHANCE, OF_ONE = 5, 0.01, 10, 10
"""Rows that are nearly there twice, and their share, of which something is said; how often as many as by chance; and
how many rows, or a third of all copies, may be alike: more, such as those without any symptom, are not one patient's.
"""

MOST_CELLS = 10_000_000
"""Cells of a table above which this takes too long."""

LEAST_IN_A_ROW, HARDLY = 3, 1e-3
"""Rows that are there again in the same order, at the least, and the chance of so many below which they are copies."""


def copy_findings(cells: Sequence[Cells], whose: Sequence[str | None] | None) -> Iterator[Finding]:
    """Return whether rows of several patients are the same; or nearly so, where nothing says ``whose`` they are."""
    if len(cells) < 2:
        return
    columns = [column.values if column.is_number else pd.factorize(column.texts)[0] for column in cells]
    # As bytes, in which equal numbers are the same once -0.0 is 0.0: of thousands of columns pandas takes long.
    rows = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns]) + 0.0
    rows[np.isnan(rows)] = np.nan
    twice = _count_copies(rows, range(len(rows)) if whose is None else whose)
    small = rows.size <= MOST_CELLS
    marks, alike = _marked(rows) if small else (np.empty(0, np.uint64), np.empty(0))
    if twice and not (small and _is_chance(marks, alike, twice)):
        yield warning(
            f"{twice} of {len(rows)} rows are the same as an earlier one in all features. If patients are there twice, "
            "take the copies out: one copy may be trained on and the other tested on, and with row ids each is "
            "perturbed by itself at level perturbed.",
        )
    index, nearly = _copies_but_for_one(marks, alike, twice) if whose is None and small else (0, 0)
    enough = nearly >= max(LEAST_NEARLY, NEARLY * len(rows))
    if enough and not _is_chance(np.delete(marks, index, axis=1), np.delete(alike, index), twice + nearly):
        yield warning(
            f"{nearly} of {len(rows)} rows are the same as an earlier one in all features but '{cells[index].name}', "
            "far more than by chance. If patients are there twice, corrected or seen again, keep one row of each, or "
            "name a column of their ids as patient-id in the schema file: else they are trained on and tested on.",
        )


def copies_between_sites(rows: Floats, sites: Ints) -> int:
    """Return how many rows, shape (rows, columns), are the same as one of another site; 0 if that may be by chance."""
    rows = rows + 0.0
    rows[np.isnan(rows)] = np.nan
    twice = _count_copies(rows, sites.tolist()) if rows.shape[1] > 1 else 0
    return 0 if twice and rows.size <= MOST_CELLS and _is_chance(*_marked(rows), twice) else twice


def _count_copies(rows: Floats, owners: Sequence[object]) -> int:
    """Return how many rows are the same as an earlier one of another owner."""
    first: dict[bytes, object] = {}
    return sum(
        first.setdefault(row.tobytes(), owner) != owner for row, owner in zip(rows, owners, strict=True)
    )


def _marked(rows: Floats) -> tuple[np.ndarray, Floats]:
    """Return a random number for each cell, shape (rows, columns), and of each column the share of pairs that agree."""
    draw = np.random.default_rng(0)
    marks, alike = np.empty(rows.shape, dtype=np.uint64), np.empty(rows.shape[1])
    for index, column in enumerate(rows.T):
        _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
        marks[:, index] = draw.integers(2**63, size=len(counts), dtype=np.uint64)[codes]
        alike[index] = np.square(counts / len(rows)).sum()
    return marks, alike


def _is_chance(marks: np.ndarray, alike: Floats, copies: int) -> bool:
    """Tell whether so many copies may be there by chance: pairs that differ in one column only say how many are.

    Rows that are there again one after the other are not.
    """
    whole, likely = marks.sum(axis=1, dtype=np.uint64), 0.0

    def pairs(keys: np.ndarray) -> float:
        _, counts = np.unique(keys, return_counts=True)
        return float((counts * (counts - 1) / 2).sum())

    same = pairs(whole)
    if _again_in_a_row(whole, same):
        return False
    # Of a column without two cells alike none, whatever the number of rows.
    for mark, share in zip(marks.T, (len(marks) * alike - 1) / (len(marks) - 1), strict=True):
        others = pairs(whole - mark) - same
        if 0 < share < 1:
            # Of few pairs less: one may be a copy that was corrected.
            likely = max(likely, (others - 2 * math.sqrt(others)) * share / (1 - share))
    return copies <= 2 * (likely + math.sqrt(likely))


def _again_in_a_row(keys: np.ndarray, same: float) -> bool:
    """Tell whether different rows are there again in the same order, so many of them as hardly are by chance.

    ``keys``, shape (rows,), are equal for rows that are the same, as of ``same`` pairs.
    """
    half, pairs = len(keys) // 2, len(keys) * (len(keys) - 1) / 2
    length = (
        max(LEAST_IN_A_ROW, math.ceil(math.log(HARDLY / pairs) / math.log(same / pairs)))
        if same < pairs
        else half
    )
    if not 0 < length <= half:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(keys, length)
    # Where a table is sorted by its columns, the same rows stand together.
    different = windows[(np.diff(np.sort(windows, axis=1), axis=1) > 0).all(axis=1)]
    times = np.random.default_rng(0).integers(2**63, size=length, dtype=np.uint64)
    return len(np.unique(different @ times)) < len(different) or np.array_equal(keys[:half], keys[-half:])


def _copies_but_for_one(marks: np.ndarray, alike: Floats, twice: int) -> tuple[int, int]:
    """Return the column without which most rows are copies, and how many are beyond the ``twice`` that are with it.

    Those that may be so by chance, were the columns independent, do not count.
    """
    pairs = len(marks) * (len(marks) - 1) / 2
    whole, chance = marks.sum(axis=1, dtype=np.uint64), np.log(alike).sum() - np.log(alike)
    beyond = np.zeros(marks.shape[1], dtype=np.int64)
    for index, mark in enumerate(marks.T):
        _, alike_rows = np.unique(whole - mark, return_counts=True)
        copies = len(marks) - len(alike_rows)
        by_chance = BY_CHANCE * pairs * math.exp(chance[index])
        if alike_rows.max() <= max(OF_ONE, copies / 3) and by_chance < copies - twice:
            beyond[index] = copies - twice
    return int(np.argmax(beyond)), int(beyond.max())
