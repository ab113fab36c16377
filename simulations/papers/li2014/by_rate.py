"""Figures 7 and 8: the area under the ROC curve by the share of the rows that are trained on."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.li2014.census import HYBRID, PRIVATE, RATES, SUBSTITUTED, CensusFigure, census
from simulations.papers.plots import curves
from simulations.papers.reproduction import Cell, Plan


class ByRate(CensusFigure):
    """Hybrid and private SVM with epsilon 1 on a tenth to all of the training rows."""

    data: ClassVar[str]
    minutes, quick_minutes = 30, 6
    said = (
        "The hybrid SVM is above the private one at each rate and flattens out; the private one has the larger spread.",
    )
    substituted: ClassVar[tuple[str, ...]] = (*SUBSTITUTED, "C is not lowered with the number of rows.")

    def plan(self, repeats: int) -> Plan:
        """Return a run for each curve, rate and seed."""
        return {
            (method, f"{rate:g}"): [census(self.data, method, seed, rate=rate) for seed in range(repeats)]
            for method in (HYBRID, PRIVATE)
            for rate in RATES
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each curve."""
        return curves(cells, "share of the training rows", "AUC, %")
