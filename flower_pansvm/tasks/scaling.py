"""Scaling: what the sites' rows add up to, column by column."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.tasks.consents import CONSENTS, Consent
from flower_pansvm.tasks.limits import COUNT
from flower_pansvm.tasks.task import Broadcast, Nothing, Task, disclosed, summed


@dataclass(frozen=True)
class MomentsAnswer:
    """Sums over the training rows of each fold, and the number of test rows."""

    rows: Floats = summed(COUNT)  # (folds, classes): training rows of each class
    test_rows: Floats = summed(COUNT)  # (1,): rows kept for evaluation
    count: Floats = summed(COUNT)  # (folds, features): cells present
    total: Floats = summed()  # (folds, features): their sum
    square: Floats = summed()  # (folds, features): the sum of their squares


MOMENTS = Task("moments", "train", Nothing, MomentsAnswer, since="0.1.0", deals=True)


@dataclass(frozen=True)
class RowsAnswer:
    """Training rows of each fold and class, shape (folds, classes)."""

    rows: Floats = summed(COUNT)


ROWS = Task("rows", "train", Nothing, RowsAnswer, since="0.1.0")  # asked again only after a site was lost


CONSENTS.register("extremes")(
    Consent("the smallest and largest cell of each column, single patients' values", "scaling=standard")
)


@dataclass(frozen=True)
class ExtremesAnswer:
    """Smallest and largest cell of each feature in each fold, shape (folds, features); infinite where there is none."""

    low: Floats = disclosed(consent="extremes")
    high: Floats = disclosed(consent="extremes")


EXTREMES = Task("extremes", "train", Nothing, ExtremesAnswer, since="0.1.0")  # asked only with scaling=minmax


@dataclass(frozen=True)
class ScalingBroadcast:
    """The scalings, one in each row; see :class:`flower_pansvm.scaling.Scaling`."""

    fill: Floats
    shift: Floats
    scale: Floats


SCALING = Broadcast("scaling", ScalingBroadcast)
