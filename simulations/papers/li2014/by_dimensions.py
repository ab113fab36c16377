"""Figures 5 and 6: the area under the ROC curve by the number of dimensions."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.li2014.census import (
    DIMENSIONS,
    FULL,
    HYBRID,
    PRIVATE,
    SMALL,
    SUBSTITUTED,
    CensusFigure,
    census,
)
from simulations.papers.plots import curves
from simulations.papers.reproduction import Cell, Plan


class ByDimensions(CensusFigure):
    """Hybrid and private SVM with epsilon 1 on 4 to 13 predictors, and SVMs of public rows."""

    data: ClassVar[str]
    minutes, quick_minutes = 60, 12
    said = (
        "Hybrid and public SVMs grow with the dimensions; the private one falls at 14, with wide boxes: about 0.55 to "
        "0.70, where the hybrid one has 0.64 to 0.70.",
    )
    substituted: ClassVar[tuple[str, ...]] = (
        *SUBSTITUTED,
        "Means and deviations over seeds in place of boxes.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return a run for each curve, number of dimensions and seed."""
        methods = (HYBRID, PRIVATE, *map(str, SMALL), FULL)
        return {
            (
                method if method in (HYBRID, PRIVATE, FULL) else f"{method} public rows",
                f"{count} dimensions",
            ): [census(f"{self.data}-{count}", method, seed) for seed in range(repeats)]
            for method in methods
            for count in DIMENSIONS
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each curve."""
        return curves(cells, "dimensions, income among them", "AUC, %")
