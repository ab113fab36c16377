"""Figures 4 to 6: accuracy by the way that the number of components is found."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.luo2009.experiments import SELECTIONS
from simulations.papers.luo2009.sets import SUBSTITUTED, LuoReproduction, experiment
from simulations.papers.plots import bar_figure
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Plan


class ModelSelection(LuoReproduction):
    """Base of the three."""

    data: ClassVar[str]
    minutes, quick_minutes = 10, 4
    said = ("The adaptive EM is better than only splitting, only merging, and both of them (SMEM).",)
    substituted = (
        *SUBSTITUTED,
        "All rows in one place. SMEM is merging and splitting without regard to other classes, at the same constant "
        "temperature. Which figure shows which data is not in the text.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return one run for all columns."""
        return {
            (self.data, name): [experiment("selected", self.data, seed) for seed in range(repeats)]
            for name in SELECTIONS
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return bars."""
        return bar_figure(cells, "accuracy, %", self.title)


@REPRODUCTIONS.register("luo-figure-4")
class LuoFigure4(ModelSelection):
    """Letter."""

    title = "Figure 4, accuracy by model selection, Letter"
    data = "Letter"


@REPRODUCTIONS.register("luo-figure-5")
class LuoFigure5(ModelSelection):
    """Pen."""

    title = "Figure 5, accuracy by model selection, Pen"
    data = "Pen"


@REPRODUCTIONS.register("luo-figure-6")
class LuoFigure6(ModelSelection):
    """Satimage."""

    title = "Figure 6, accuracy by model selection, Satimage"
    data = "Satimage"
