"""Figure 3.7: seconds of training by distribution and by number of sites: the numbers of Tables 3.4 and 3.5."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from simulations.papers.lu2016.stability import StabilityTable, by_strategy
from simulations.papers.lu2016.table_3_4 import Table34
from simulations.papers.lu2016.table_3_5 import Table35
from simulations.papers.plots import bars, legend
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan, Reproduction
from simulations.papers.run import Result

TABLES: dict[str, StabilityTable] = {"fourclass": Table34(), "pima": Table35()}
PAPER = {
    (f"{name}, {row}", column): number
    for name, table in TABLES.items()
    for (row, column), number in table.paper.items()
}


@REPRODUCTIONS.register("lu-figure-3.7")
class Figure37(Reproduction):
    """PAN-SVM and ADMM on fourclass and Pima."""

    title = "Figure 3.7, seconds of training by distribution and sites"
    unit = "seconds"
    minutes, quick_minutes = 72, 15
    timed = True
    paper = PAPER
    said = ("PAN-SVM takes less than 0.1 s, ADMM more than 2.5 s.",)
    substituted = Table34.substituted

    def plan(self, repeats: int) -> Plan:
        """Return the runs of both tables."""
        return {
            (f"{name}, {row}", column): runs
            for name, table in TABLES.items()
            for (row, column), runs in table.plan(repeats).items()
            if column == "seconds"
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return the seconds."""
        return TABLES["fourclass"].measure(place, result)

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a panel for each set."""
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2), TABLES, strict=True):
            own = [cell for cell in cells if cell.row.startswith(name)]
            bars(
                axes,
                by_strategy([replace(cell, row=cell.row.removeprefix(f"{name}, ")) for cell in own]),
                "seconds of training",
            )
            axes.set(title=name, yscale="log")
        legend(figure)
        return figure
