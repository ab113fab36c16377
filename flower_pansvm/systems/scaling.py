"""What is learned of the columns of all sites together: moments and ends, by which features are scaled; and folds."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.tasks import COUNT, Broadcast, Nothing, Task, disclosed, summed

NO_FOLD = -1  # no rows are left out


@dataclass(frozen=True)
class MomentsAnswer:
    """Sums over the training rows of each fold, and the number of test rows."""

    rows: Floats = summed(COUNT, shape=("folds", "classes"), count=True)  # training rows of each class
    test_rows: Floats = summed(COUNT, shape=(1,), count=True)  # rows kept for evaluation
    count: Floats = summed(COUNT, shape=("folds", "columns"), count=True)  # cells present
    total: Floats = summed(shape=("folds", "columns"))  # their sum
    square: Floats = summed(shape=("folds", "columns"), not_negative=True)  # the sum of their squares


MOMENTS = Task("moments", "train", Nothing, MomentsAnswer, deals=True)


@dataclass(frozen=True)
class RowsAnswer:
    """Training rows of each fold and class."""

    rows: Floats = summed(COUNT, shape=("folds", "classes"), count=True)


ROWS = Task("rows", "train", Nothing, RowsAnswer)  # asked again only after a site was lost


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
