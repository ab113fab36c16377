"""Figures 10 to 13: risks, utility and benefit by what is shared."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.luo2009.experiments import DRAWS, STRENGTHS
from simulations.papers.luo2009.sets import DATA, SUBSTITUTED, LuoReproduction, experiment
from simulations.papers.plots import curves
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan
from simulations.papers.run import Result


class RisksFigure(LuoReproduction):
    """Base of the four: a row for each data set and each of some numbers.

    Attributes
    ----------
    names : tuple of str
        The numbers.
    columns : tuple of str
        What they go by.
    """

    names: ClassVar[tuple[str, ...]]
    columns: ClassVar[tuple[str, ...]]
    unit = "raw risk; total and utility from 0 to 1"
    digits = 5
    minutes, quick_minutes = 14, 5
    substituted = (
        *SUBSTITUTED,
        "At the largest site, mean over the classes that have two components or more; the first, half, or all of each.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return one run a data set."""
        return {
            (f"{data}, {name}", column): [experiment("risks", data, seed) for seed in range(repeats)]
            for data in DATA
            for name in self.names
            for column in self.columns
        }

    def measure(self, place: Place, result: Result) -> float | None:
        """Return the number."""
        found = result.get(f"{place[0].split(', ')[1]}, {place[1]}")
        return None if found is None else float(found)


@REPRODUCTIONS.register("luo-figure-10")
class LuoFigure10(RisksFigure):
    """The four risks and the total."""

    title = "Figure 10, risks by number of shared components"
    names = ("identification", "linkage", "interval", "inference", "total")
    columns = ("first", "half", "all")
    said = ("Sharing more components may mean more risk.",)


@REPRODUCTIONS.register("luo-figure-11")
class LuoFigure11(RisksFigure):
    """Utility and benefit."""

    title = "Figure 11, utility and benefit by number of shared components"
    names = ("utility", "benefit")
    columns = ("first", "half", "all")
    digits = 3
    said = ("Utility and benefit rise with the number of shared components.",)


@REPRODUCTIONS.register("luo-figure-12")
class LuoFigure12(RisksFigure):
    """Of all components."""

    title = "Figure 12, risks by number of draws from all components"
    names = ("identification", "interval", "inference", "total")
    columns = tuple(f"{draws} draws" for draws in DRAWS)
    said = ("Risk falls with the number of synthetic rows, and at large numbers rises slightly.",)

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return the total risk."""
        return curves([cell for cell in cells if cell.row.endswith("total")], "draws", "total risk")


@REPRODUCTIONS.register("luo-figure-13")
class LuoFigure13(RisksFigure):
    """Mean distances, in standard deviations of the columns."""

    title = "Figure 13, distance of another site's rows from the nearest of 2,000 draws, by perturbation"
    unit = "standard deviations"
    digits = 3
    names = ("distance",)
    columns = tuple(f"{strength:g}" for strength in STRENGTHS)
    said = ("With perturbation of the common components, re-identification is harder.",)

    def measure(self, place: Place, result: Result) -> float | None:
        """Return the distance."""
        found = result.get(f"{place[1]} distance")
        return None if found is None else float(found)

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line a data set."""
        return curves(cells, "strength d", "distance, standard deviations")
