"""A site's rows in a run, and how those of a simulated one are drawn: for evaluation, and into folds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Bools, Floats, Ints

SPLIT_STREAM, FOLD_STREAM = 1, 2
"""Distinguish the draws of test rows and of folds from other draws by the same seed."""


@dataclass(frozen=True)
class Rows:
    """Some of a site's rows."""

    X: Floats  # (rows, features): the cells in the table's own units; NaN is a missing cell
    classes: Ints  # (rows,): class index of each row


@dataclass(frozen=True)
class Split:
    """A site's rows in a run."""

    train: Rows
    test: Rows  # kept for evaluation
    left_out: NDArray[np.str_]  # labels of the rows that have no part in the run: they are no classes of it
    places: Ints  # (training rows,): in the order in which they are dealt to folds


def test_rows(classes: NDArray[np.str_], fraction: float, seed: int) -> Bools:
    """Return which rows are kept for evaluation: the same share of each class, from 0 to below 1, drawn by the seed."""
    kept = np.zeros(len(classes), dtype=np.bool_)
    # A stream of its own: a simulation deals the rows to the sites by the same seed.
    generator = np.random.default_rng([seed, SPLIT_STREAM])
    for name in np.unique(classes):
        members = generator.permutation(np.flatnonzero(classes == name))
        kept[members[: round(fraction * len(members))]] = True
    return kept


def fold_numbers(classes: Ints, folds: int, seed: int) -> Ints:
    """Deal rows to folds, shape (rows,): as evenly as can be, each class by itself and all together."""
    numbers = np.empty(len(classes), dtype=np.int64)
    generator = np.random.default_rng([seed, FOLD_STREAM])
    dealt = 0
    for one in np.unique(classes):
        members = generator.permutation(np.flatnonzero(classes == one))
        numbers[members] = (dealt + np.arange(len(members))) % folds
        dealt += len(members)
    return numbers
