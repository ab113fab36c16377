"""What only simulated sites do, and no hospital loads: tables of the run's data set, rows drawn by its seed."""

import importlib
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Bools, Ints
from flower_pansvm.errors import TableError

SPLIT_STREAM, FOLD_STREAM = 1, 2
"""Distinguish the draws of test rows and of folds from other draws by the same seed."""


def sites_module() -> ModuleType:
    """Return the module that makes the tables of a run config's simulated sites.

    The one arrow against the rule that clients do not know the simulations. The name is fixed, not the coordinator's,
    and the module is in no bundle: it is the one that is installed where the simulation runs.
    """
    try:
        return importlib.import_module("simulations.data.sites")
    except ModuleNotFoundError as error:
        raise TableError(
            f"A simulated site's rows need the package {error.name}, which is not installed. Where it runs: "
            "pip install 'flower-pansvm[simulation]'."
        ) from None


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
