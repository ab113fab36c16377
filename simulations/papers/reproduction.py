"""What a table or a figure of a paper is here: runs, the paper's numbers, and what was put in their place."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from flower_pansvm.folder import import_modules
from flower_pansvm.registry import Registry
from simulations.papers.run import Result, Run

Place = tuple[str, str]
"""Row and column of a cell."""

Plan = Mapping[Place, Sequence[Run]]
"""The runs behind each cell; a run may be behind several."""


@dataclass(frozen=True)
class Cell:
    """One number, ours and the paper's.

    Parameters
    ----------
    row, column : str
        Where it is.
    ours, deviation : float or None
        Mean and standard deviation over the runs that were done; None without one.
    runs : int
        How many these are.
    paper : float or None
        What is printed in the paper, if anything is.
    """

    row: str
    column: str
    ours: float | None
    deviation: float | None
    runs: int
    paper: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper


class Reproduction(ABC):
    """Base of the tables and figures. A subclass, one a file, enters itself in `REPRODUCTIONS`.

    Attributes
    ----------
    title : str
        What it shows.
    unit : str
        Of all numbers.
    digits : int
        Digits after the point.
    repeats, quick_repeats : int
        Seeds of a full run, and of a quick one.
    minutes, quick_minutes : float
        How long these take on two cores.
    timed : bool
        Whether seconds are measured, so that runs go one by one.
    paper : mapping of (str, str) to float
        The paper's numbers by row and column; empty for a figure whose numbers are lost.
    said : tuple of str
        What the paper says of a figure whose numbers are lost.
    substituted : tuple of str
        What is other here than in the paper, and why.
    errors : tuple of str
        Errors of the paper that bear on these numbers.
    """

    title: ClassVar[str]
    unit: ClassVar[str] = "%"
    digits: ClassVar[int] = 2
    repeats: ClassVar[int] = 5
    quick_repeats: ClassVar[int] = 1
    minutes: ClassVar[float]
    quick_minutes: ClassVar[float]
    timed: ClassVar[bool] = False
    paper: ClassVar[Mapping[Place, float]] = {}
    said: ClassVar[tuple[str, ...]] = ()
    substituted: ClassVar[tuple[str, ...]] = ()
    errors: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def plan(self, repeats: int) -> Plan:
        """Return the runs behind each cell; a cell without any has only the paper's number, or is a sum of others."""

    def measure(self, place: Place, result: Result) -> float | None:  # noqa: ARG002
        """Return the number of a cell in one run; None if the run has no such number.

        Here it is the accuracy in percent: over the folds if the run has cross-validated, else on the rows left out.
        """
        found = result.get("cv_accuracy", result["accuracy"])
        return None if found is None else 100.0 * float(found)

    def cells(self, repeats: int, results: Mapping[Run, Result]) -> list[Cell]:
        """Return all cells, with ours as far as there are results, in the order of the plan."""
        found = []
        for place, runs in self.plan(repeats).items():
            done = [results[run] for run in runs if run in results and "error" not in results[run]]
            values = [value for result in done if (value := self.measure(place, result)) is not None]
            found.append(self.cell(place, values))
        return found

    def cell(self, place: Place, values: Sequence[float]) -> Cell:
        """Return the mean of several runs' numbers as a cell."""
        mean = float(np.mean(values)) if values else None
        deviation = float(np.std(values)) if values else None
        return Cell(*place, mean, deviation, len(values), self.paper.get(place))

    def plot(self, cells: Sequence[Cell]) -> Figure | None:  # noqa: ARG002
        """Return a plot for a figure; a table has none."""
        return None


def by_place(columns: Sequence[str], rows: Mapping[str, Sequence[float]]) -> dict[Place, float]:
    """Return a printed table by row and column."""
    return {
        (row, column): number
        for row, numbers in rows.items()
        for column, number in zip(columns, numbers, strict=True)
    }


REPRODUCTIONS: Registry[type[Reproduction]] = Registry("table or figure")
"""What has entered itself so far; its ``register`` is the decorator for a class."""

PAPERS = tuple(
    f"simulations.papers.{name}" for name in ("lu2016", "li2014", "lin2011", "mangasarian2008", "luo2009")
)
"""Packages of one paper each."""


def all_reproductions() -> Registry[type[Reproduction]]:
    """Return the tables and figures of all papers."""
    for paper in PAPERS:
        import_modules(paper)
    return REPRODUCTIONS
