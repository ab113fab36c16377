"""Statistics of the columns over all sites: moments and ends, by which features are scaled; and folds."""

from collections.abc import Callable
from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.tasks import COUNT, UNKNOWN, Bound, Broadcast, Nothing, Task, disclosed, summed

NO_FOLD = -1  # no rows are left out

LARGEST_CELL = 2.0**20
"""Largest cell, in units of a scaling that knows its column: standard deviations, of which a cell is at most the square
root of the number of all rows away from the mean, or half ranges."""

HEADROOM = 2.0
"""Factor of the bounds of sums, for rounding."""


def scaled(bound: Callable[[int], float]) -> Bound:
    """Return a bound of a sum, made of how many sites there are, that holds in scaled units only."""
    return lambda _, terms, sites: UNKNOWN if terms.scaling == "none" else bound(sites)


@dataclass(frozen=True)
class MomentsAnswer:
    """Sums over the training rows of each fold, and the number of test rows and of patients."""

    rows: Floats = summed(COUNT, shape=("folds", "classes"), count=True)  # training rows of each class
    test_rows: Floats = summed(COUNT, shape=(1,), count=True)  # rows kept for evaluation
    patients: Floats = summed(
        COUNT, shape=(2,), count=True
    )  # those of the training rows, and of the test rows
    count: Floats = summed(COUNT, shape=("folds", "columns"), count=True)  # cells present
    total: Floats = summed(shape=("folds", "columns"))  # their sum
    square: Floats = summed(shape=("folds", "columns"), not_negative=True)  # the sum of their squares


MOMENTS = Task("moments", "train", Nothing, MomentsAnswer, deals=True)


@dataclass(frozen=True)
class RowsAnswer:
    """Training rows of each fold and class."""

    rows: Floats = summed(COUNT, shape=("folds", "classes"), count=True)


ROWS = Task("rows", "train", Nothing, RowsAnswer)  # repeated only after a site has dropped out


@dataclass(frozen=True)
class ExtremesAnswer:
    """Smallest and largest cell of each feature in each fold, shape (folds, features); infinite where there is none."""

    low: Floats = disclosed(consent="extremes")
    high: Floats = disclosed(consent="extremes")


EXTREMES = Task("extremes", "train", Nothing, ExtremesAnswer)  # asked only with scaling=minmax

RANGES = Task("ranges", "query", Nothing, ExtremesAnswer, simulated=True)
"""Of all rows at once: a researcher's table stands for its own public description."""


@dataclass(frozen=True)
class ScalingBroadcast:
    """The scalings, one in each row; see :class:`flower_pansvm.scaling.Scaling`."""

    fill: Floats
    shift: Floats
    scale: Floats


SCALING = Broadcast("scaling", ScalingBroadcast)
