"""Figures 3 and 4: the area under the ROC curve by epsilon."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.li2014.census import EPSILONS, FULL, HYBRID, PRIVATE, SMALL, CensusFigure, census
from simulations.papers.plots import curves
from simulations.papers.reproduction import Cell, Plan


class ByEpsilon(CensusFigure):
    """Hybrid and private SVM at four epsilons, and SVMs of public rows, which have none."""

    data: ClassVar[str]
    minutes, quick_minutes = 60, 12
    said = (
        "The hybrid SVM is above the private one and above small public sets at every epsilon, about flat in epsilon, "
        "and close to all rows. The axis goes from 0.5 to 0.7.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return a run for each curve, epsilon and seed; those of public rows are the same at each epsilon."""
        methods = (HYBRID, PRIVATE, *map(str, SMALL), FULL)
        return {
            (method if method in (HYBRID, PRIVATE, FULL) else f"{method} public rows", f"{epsilon:g}"): [
                census(self.data, method, seed, epsilon) for seed in range(repeats)
            ]
            for method in methods
            for epsilon in EPSILONS
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each curve."""
        return curves(cells, "epsilon", "AUC, %")
