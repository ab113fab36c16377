"""Figure 3.12: seconds of the parts of PAN-SVM."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lu2016.scaling_up import SUBSTITUTED, TWELVE, runs_of
from simulations.papers.plots import bar_figure
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan, Reproduction
from simulations.papers.run import Result

PHASES = {"k-means": "landmarks", "decomposition": "feature map", "training": "cutting planes"}
"""The phase of a run that each part is."""


@REPRODUCTIONS.register("lu-figure-3.12")
class Figure312(Reproduction):
    """All twelve sets, 5 sites."""

    title = "Figure 3.12, seconds of k-means, decomposition and training"
    unit = "seconds"
    minutes, quick_minutes = 60, 15
    timed = True
    said = ("Training takes most of the time but on GSE2990; the decomposition takes less than a second.",)
    substituted = (
        *SUBSTITUTED,
        "The Nyström map of the rows is made at the sites when they are first asked for planes: part of training here.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return the runs of each set."""
        return {(one.name, part): runs_of(one, repeats) for one in TWELVE for part in PHASES}

    def measure(self, place: Place, result: Result) -> float:
        """Return the seconds of the phase."""
        return float(result["seconds"].get(PHASES[place[1]], 0.0))

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return bars."""
        return bar_figure(cells, "seconds", self.title, (10, 4.4), yscale="log")
