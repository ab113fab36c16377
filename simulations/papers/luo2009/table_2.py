"""Table 2 and Figure 16: combined classifiers, and what is sent for them."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.luo2009.sets import DATA, SUBSTITUTED, LuoReproduction, experiment
from simulations.papers.plots import bar_figure
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Plan
from simulations.papers.run import Run

SPLITS = {"": "by:site", ", skewed": "dirichlet:0.5"}


def runs_of(data: str, split: str, repeats: int) -> list[Run]:
    """Return a run for each seed; what Table 2 and Figures 14 to 16 share."""
    return [experiment("combined", data, seed, split=split) for seed in range(repeats)]


@REPRODUCTIONS.register("luo-table-2")
class LuoTable2(LuoReproduction):
    """Sites of equal classes and of skewed ones."""

    title = "Table 2, accuracy of combined classifiers"
    minutes, quick_minutes = 40, 14
    said = ("The combined classifier is better than stacked generalisation and than the mean model.",)
    substituted = (
        *SUBSTITUTED,
        "Skewed: classes dealt to three sites by Dirichlet .5.",
        "Stacked generalisation: logistic regression of the weak models' outputs on all sites' training rows, which a "
        "federation could not pool.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return the same runs for all columns of a row."""
        columns = ("weak, mean of sites", "ours", "mean model", "stacked")
        return {
            (data + told, column): runs_of(data, split, repeats)
            for told, split in SPLITS.items()
            for data in DATA
            for column in columns
        }


@REPRODUCTIONS.register("luo-figure-16")
class LuoFigure16(LuoReproduction):
    """Numbers, whatever bytes they take."""

    title = "Figure 16, numbers that leave the sites for training"
    unit = "numbers; share in %"
    digits = 1
    minutes, quick_minutes = 20, 7
    said = ("Sharing models costs far less than perturbed rows or secure multi-party computation.",)
    substituted = (*SUBSTITUTED, "Secure multi-party computation is not among them: no protocol is named.")

    def plan(self, repeats: int) -> Plan:
        """Return the runs of Table 2."""
        columns = ("numbers shared", "numbers with perturbed rows", "share")
        return {(data, column): runs_of(data, "by:site", repeats) for data in DATA for column in columns}

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return bars."""
        return bar_figure(
            [cell for cell in cells if cell.column != "share"], "numbers", self.title, yscale="log"
        )
