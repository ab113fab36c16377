"""Figures 14 and 15: the quality that the global model loses by the perturbation it is given out with."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.luo2009.experiments import STRENGTHS
from simulations.papers.luo2009.sets import LuoReproduction
from simulations.papers.luo2009.table_2 import runs_of
from simulations.papers.plots import curves
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Plan


class Quality(LuoReproduction):
    """Base of both."""

    data: ClassVar[tuple[str, ...]]
    unit = "divergence, log 2 = 0.693 at most"
    digits = 3
    minutes, quick_minutes = 12, 4
    said = ("The loss of quality grows with the strength of the noise.",)

    def plan(self, repeats: int) -> Plan:
        """Return the runs of Table 2 for each strength."""
        return {
            (data, f"{strength:g}"): runs_of(data, "by:site", repeats)
            for data in self.data
            for strength in STRENGTHS
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line a data set."""
        return curves(cells, "strength d", self.unit)


@REPRODUCTIONS.register("luo-figure-14")
class LuoFigure14(Quality):
    """Of 16 features."""

    title = "Figure 14, loss of quality by perturbation, Letter and Pen"
    data = ("Letter", "Pen")


@REPRODUCTIONS.register("luo-figure-15")
class LuoFigure15(Quality):
    """Of 36 and 57 features."""

    title = "Figure 15, loss of quality by perturbation, Satimage and Spam"
    data = ("Satimage", "Spam")
