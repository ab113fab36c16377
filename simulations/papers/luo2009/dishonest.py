"""Figures 7 to 9: what a dishonest site's own predictor gains by draws from another site's components."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.luo2009.experiments import OWN_ROWS, RATIOS
from simulations.papers.luo2009.sets import SUBSTITUTED, LuoReproduction, experiment
from simulations.papers.plots import curves
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan
from simulations.papers.run import Result


class Dishonest(LuoReproduction):
    """Base of the three: a row for each number of own rows, a column for each ratio of draws to these."""

    data: ClassVar[str]
    unit = "points of accuracy gained"
    minutes, quick_minutes = 4, 2
    said = ("Accuracy rises with synthetic rows for common data, and falls where own rows are few.",)
    substituted = (
        *SUBSTITUTED,
        "The predictor: one diagonal Gaussian a class, by an EM in which the draws' classes are unknown. The dishonest "
        "site is the smallest, the draws are of all components of the largest one. Which figure shows which data is "
        "not in the text.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return one run for all cells."""
        return {
            (f"{most} own rows a class", f"{ratio:g}"): [
                experiment("dishonest", self.data, seed) for seed in range(repeats)
            ]
            for most in OWN_ROWS
            for ratio in RATIOS
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return the gain."""
        return float(result[f"{place[0].split()[0]} rows a class, {place[1]}"])

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each number of own rows."""
        return curves(cells, "draws for each own row", self.unit)


@REPRODUCTIONS.register("luo-figure-7")
class LuoFigure7(Dishonest):
    """Letter."""

    title = "Figure 7, gain of a dishonest site, Letter"
    data = "Letter"


@REPRODUCTIONS.register("luo-figure-8")
class LuoFigure8(Dishonest):
    """Pen."""

    title = "Figure 8, gain of a dishonest site, Pen"
    data = "Pen"


@REPRODUCTIONS.register("luo-figure-9")
class LuoFigure9(Dishonest):
    """Satimage."""

    title = "Figure 9, gain of a dishonest site, Satimage"
    data = "Satimage"
