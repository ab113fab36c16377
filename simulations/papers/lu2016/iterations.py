"""What Figures 3.8 and 3.9 share: iterations of ADMM at 5, 10 and 20 sites."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.lu2016.stability import SITES, SPLITS, STRATEGIES, StabilityTable, rounds
from simulations.papers.plots import bar_figure
from simulations.papers.reproduction import Cell, Place, Plan, Reproduction
from simulations.papers.run import Result

NAMES = {"same": "RandomSplit", "different": "FeatureSplit"}


class IterationsFigure(Reproduction):
    """Base of both; PAN-SVM's round trips stand beside.

    Attributes
    ----------
    table : StabilityTable
        The table with the same runs.
    """

    table: ClassVar[StabilityTable]
    unit = "iterations, each a round trip"
    digits = 1
    said = ("Mean and variance grow with the number of sites, and more where rows are split by a feature.",)
    substituted = StabilityTable.substituted

    def plan(self, repeats: int) -> Plan:
        """Return the table's runs."""
        plan = self.table.plan(repeats)
        return {
            (f"{NAMES[split]}-{sites}", name): plan[f"{split}, {sites} sites, {name}", "rounds"]
            for split in SPLITS
            for sites in SITES
            for name in STRATEGIES
        }

    def measure(self, place: Place, result: Result) -> float:  # noqa: ARG002
        """Return the iterations."""
        return rounds(result)

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return bars with deviations."""
        return bar_figure(cells, "round trips", self.title, yscale="log")
