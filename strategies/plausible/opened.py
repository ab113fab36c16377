"""A secure sum that has been opened, and what is known of the sites' rows by then: what a sum is checked by."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.common import MOMENTS, ROWS
from flower_pansvm.tasks import Task

ROUNDING = 1e-9
"""Relative error that sums of many numbers may have."""


@dataclass(frozen=True)
class KnownRows:
    """What earlier sums have told of the sites' rows.

    Parameters
    ----------
    train : ndarray of shape (folds, classes)
        Training rows.
    test : float
        Rows kept for evaluation.
    columns : int
        Features.
    train_sites, test_sites : tuple of str
        The sites whose rows they are; later sums may be over fewer.
    """

    train: Floats
    test: float
    columns: int
    train_sites: tuple[str, ...]
    test_sites: tuple[str, ...]


def rows_known(
    task: Task[Any, Any], sums: Mapping[str, Floats], sites: tuple[str, ...], before: KnownRows | None
) -> KnownRows | None:
    """Return what is known of the sites' rows after a sum of a task over some sites."""
    if task is MOMENTS:
        return KnownRows(sums["rows"], float(sums["test_rows"].sum()), sums["count"].shape[1], sites, sites)
    if task is ROWS and before is not None:
        return replace(before, train=sums["rows"], train_sites=sites)
    return before


@dataclass(frozen=True)
class Opened:
    """A sum that has been opened.

    Parameters
    ----------
    task : Task
        The task.
    question : object
        What the sites were asked: the task's dataclass.
    sums : mapping of str to ndarray
        The results, summed over the sites.
    bounds : mapping of str to float
        Largest absolute value of each result at one site; infinite if unknown.
    sites : tuple of str
        The sites it is over.
    slack : mapping of str to float
        By how much any number of a result may be off, besides rounding, by the noise of level dp. 0 if not named.
    rows : KnownRows or None
        What is known of the sites' rows so far.
    roster_size : int
        Sites in the secure sum: as many as ``sites`` unless a single one's contribution is looked at.
    """

    task: Task[Any, Any]
    question: Any
    sums: Mapping[str, Floats]
    bounds: Mapping[str, float]
    sites: tuple[str, ...]
    slack: Mapping[str, float]
    rows: KnownRows | None
    roster_size: int

    @property
    def classes(self) -> int:
        """Number of classes; -1 if it is not known yet."""
        return -1 if self.rows is None else self.rows.train.shape[1]

    @property
    def columns(self) -> int:
        """Number of features; -1 if it is not known yet."""
        return -1 if self.rows is None else self.rows.columns

    def misshapen(self, **expected: tuple[int, ...]) -> Iterator[str]:
        """Yield that a result does not have the shape that was asked for; -1 stands for any length of a side."""
        for name, sides in expected.items():
            shape = self.sums[name].shape
            if len(shape) != len(sides) or any(
                side not in (-1, own) for own, side in zip(shape, sides, strict=True)
            ):
                yield f"'{name}' does not have the shape that was asked for"

    def off(self, *names: str) -> float:
        """Return by how much a sum or difference of these results may be off where it should be zero."""
        largest = (self.bounds[name] for name in names if math.isfinite(self.bounds[name]))
        return sum(len(self.sites) ** 2 * bound * 2.0**-60 for bound in largest) + sum(
            self.slack.get(name, 0.0) for name in names
        )

    def exceeds(self, name: str, most: Floats | float, *others: str) -> bool:
        """Tell whether any number of a result is above what it can be; ``others`` are results that went into that."""
        largest = np.asarray(most, dtype=np.float64)
        return bool((self.sums[name] > largest + ROUNDING * np.abs(largest) + self.off(name, *others)).any())

    def negative(self, name: str) -> bool:
        """Tell whether any number of a result that cannot be negative is."""
        return bool((self.sums[name] < -self.off(name)).any())

    def broken(self, name: str) -> bool:
        """Tell whether any number of a result that counts something is no whole number, or negative."""
        counts = self.sums[name]
        return bool((counts < 0).any() or (counts != np.rint(counts)).any())
