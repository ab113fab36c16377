"""Figure 6: the accuracies of Table II as bars."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lin2011.sets import EXPERIMENTS, SETS, SUBSTITUTED, SVM, experiment
from simulations.papers.lin2011.table_2 import COLUMNS, PRINTED
from simulations.papers.plots import bar_figure
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Plan, Reproduction, by_place


@REPRODUCTIONS.register("lin-figure-6")
class LinFigure6(Reproduction):
    """The runs of Table II."""

    title = "Figure 6, accuracy of the experiments"
    repeats, quick_repeats = 10, 2
    minutes, quick_minutes = 3, 1
    paper = {  # noqa: RUF012
        (column, row): number
        for (row, column), number in by_place(COLUMNS, PRINTED).items()
        if column in SETS
    }
    substituted = (*SUBSTITUTED.values(), SVM)

    def plan(self, repeats: int) -> Plan:
        """Return a run for each set, experiment and seed."""
        return {
            (data, name): [experiment(name, data, seed) for seed in range(repeats)]
            for data in SETS
            for name in EXPERIMENTS
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a group of bars for each set."""
        return bar_figure(cells, "accuracy, %", self.title, ylim=(50, 102))
