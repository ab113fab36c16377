"""Figures 3 and 4: the error of sharing kernels over that of sharing nothing, a point for each data set."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.mangasarian2008.experiment import ALONE, FOLDS, SHARED, fold_run
from simulations.papers.mangasarian2008.sets import PRINTED, SETS
from simulations.papers.mangasarian2008.table_1 import MANGASARIAN_ERRORS, SUBSTITUTED
from simulations.papers.reproduction import Cell, Place, Plan, Reproduction
from simulations.papers.run import Result

WAYS = {"PPSVM": SHARED, "No sharing": ALONE}


def printed(blocks: int) -> dict[Place, float]:
    """Return the paper's errors for a number of column blocks."""
    rows = {name: row[2:] for (name, number), row in PRINTED.items() if number == blocks}
    return {(name, way): error for name, row in rows.items() for way, error in zip(WAYS, row, strict=True)}


class Scatter(Reproduction):
    """Base of both; their runs are those of Table 1."""

    blocks: ClassVar[int]
    unit = "share of wrong rows"
    repeats, quick_repeats = FOLDS, 1
    substituted = SUBSTITUTED
    errors = MANGASARIAN_ERRORS

    def plan(self, repeats: int) -> Plan:
        """Return a run for each fold."""
        return {
            (name, column): [fold_run(way, SETS[name], self.blocks, fold) for fold in range(repeats)]
            for column, way in WAYS.items()
            for name, number in PRINTED
            if number == self.blocks
        }

    def measure(self, place: Place, result: Result) -> float:  # noqa: ARG002
        """Return the error."""
        return 1.0 - float(result["accuracy"])

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a point for each data set, ours and the paper's; sharing is better below the diagonal."""
        figure = Figure(figsize=(5.4, 5.2), layout="constrained")
        axes = figure.subplots()
        place = {(cell.row, cell.column): cell for cell in cells}
        for label, attribute, marker in (("ours", "ours", "o"), ("the paper", "paper", "x")):
            points = {
                name: (
                    getattr(place[name, "No sharing"], attribute),
                    getattr(place[name, "PPSVM"], attribute),
                )
                for name in dict.fromkeys(cell.row for cell in cells)
            }
            known = {name: point for name, point in points.items() if None not in point}
            axes.plot(*zip(*known.values(), strict=True), marker, label=label) if known else None
            for name, point in known.items():
                axes.annotate(name, point, xytext=(4, 3), textcoords="offset points", fontsize=8)
        axes.plot([0, 0.5], [0, 0.5], color="grey", linewidth=0.8)
        axes.set(xlabel="error, no sharing", ylabel="error, random kernel", xlim=(0, 0.5), ylim=(0, 0.5))
        axes.legend(frameon=False)
        return figure
